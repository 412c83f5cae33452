import { Context } from "../../mod.ts";
import { run } from "./run.ts";
import { PORT, until } from "./setup.ts";

/** The two ends of a cable. */
export type Ends = readonly [string, string];

/** Makes a network device that drops what it sends. It goes when the stack is disposed. */
export async function addDummy(stack: AsyncDisposableStack, netdev: string): Promise<void> {
  await run("ip", "link", "add", netdev, "type", "dummy");
  stack.defer(() => run("ip", "link", "delete", netdev));
  await run("ip", "link", "set", netdev, "up");
}

/** Makes a soft-RoCE device on a network device. It goes when the stack is disposed. */
export async function addDevice(
  stack: AsyncDisposableStack,
  device: string,
  netdev: string,
): Promise<void> {
  await run("rdma", "link", "add", device, "type", "rxe", "netdev", netdev);
  stack.defer(() => run("rdma", "link", "delete", device));
}

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

/** Makes a soft-RoCE device on each end, and waits for its GIDs that are IPv4 addresses, and for those that are not. */
export async function addDevices(
  stack: AsyncDisposableStack,
  devices: Ends,
  netdevs: Ends,
  kinds: readonly boolean[] = [true, false],
): Promise<void> {
  for (const [i, device] of devices.entries()) await addDevice(stack, device, netdevs[i]!);
  const hasAll = (device: string): boolean =>
    kinds.every((isIpv4) => gidIndexOf(device, isIpv4) !== undefined);
  await until("the addresses of the ports", () => devices.every(hasAll));
}

/** The index of the first GID of a device that is, or is not, an IPv4 address. */
export function gidIndexOf(device: string, isIpv4 = true): number | undefined {
  using context = Context.open(device);
  return context.queryGidTable(PORT).find(({ gid }) => gid.isIpv4Mapped === isIpv4)?.gidIndex;
}
