import { run } from "./run.ts";

/** The two ends of a cable. */
export type Ends = readonly [string, string];

/**
 * Lays a cable between two network devices of this host, each with an IPv4 address. It goes when the stack is disposed.
 */
export async function layCable(
  stack: AsyncDisposableStack,
  netdevs: Ends,
  addresses: Ends,
): Promise<void> {
  const [first, second] = netdevs;
  await run("modprobe", "veth");
  await run("ip", "link", "add", first, "type", "veth", "peer", "name", second);
  stack.defer(() => run("ip", "link", "delete", first));
  for (const [i, netdev] of netdevs.entries()) {
    // Both ends are of one host, which would refuse packets with an address of its own.
    Deno.writeTextFileSync(`/proc/sys/net/ipv4/conf/${netdev}/accept_local`, "1");
    Deno.writeTextFileSync(`/proc/sys/net/ipv4/conf/${netdev}/rp_filter`, "0");
    await run("ip", "link", "set", netdev, "up");
    await run("ip", "addr", "add", `${addresses[i]}/24`, "dev", netdev);
  }
}

/** Makes a soft-RoCE device on each end. They go when the stack is disposed. */
export async function addLinks(
  stack: AsyncDisposableStack,
  devices: Ends,
  netdevs: Ends,
): Promise<void> {
  for (const [i, device] of devices.entries()) {
    await run("rdma", "link", "add", device, "type", "rxe", "netdev", netdevs[i]!);
    stack.defer(() => run("rdma", "link", "delete", device));
  }
}
