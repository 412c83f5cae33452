import { run } from "../run.ts";
import { Context } from "../../../mod.ts";
import { PORT, until } from "../setup.ts";

const NETDEVS = ["twin0", "twin1"] as const;
const DEVICES = ["rxe_twin0", "rxe_twin1"] as const;

/** Two soft-RoCE devices on the two ends of a cable. A device does not receive the multicast that it sends itself. */
export interface TwinLink extends AsyncDisposable {
  /** The names of the devices. */
  readonly devices: readonly [string, string];
  /**
   * Makes a host, the second one if left out, take packets for an IP multicast group, until it is told otherwise. The other
   * host must not take them as well: both are of one system, which would deliver to itself what it sends to the group.
   */
  listen(address: string, host?: 0 | 1): Promise<AsyncDisposable>;
  /** The index of the first GID of a device that is, or is not, an IPv4 address. */
  gidIndex(device: string, isIpv4: boolean): number;
}

/** Makes such devices; disposing it takes them away. */
export async function twinLink(): Promise<TwinLink> {
  await using stack = new AsyncDisposableStack();
  await run("modprobe", "veth");
  const [first, second] = NETDEVS;
  await run("ip", "link", "add", first, "type", "veth", "peer", "name", second);
  stack.defer(() => run("ip", "link", "delete", first));
  for (const [i, netdev] of NETDEVS.entries()) {
    // Both ends are of one host, which would refuse packets with an address of its own.
    Deno.writeTextFileSync(`/proc/sys/net/ipv4/conf/${netdev}/accept_local`, "1");
    Deno.writeTextFileSync(`/proc/sys/net/ipv4/conf/${netdev}/rp_filter`, "0");
    await run("ip", "link", "set", netdev, "up");
    await run("ip", "addr", "add", `10.7.0.${i + 1}/24`, "dev", netdev);
    await run("rdma", "link", "add", DEVICES[i]!, "type", "rxe", "netdev", netdev);
    stack.defer(() => run("rdma", "link", "delete", DEVICES[i]!));
  }
  const find = (device: string, isIpv4: boolean): number | undefined => {
    using context = Context.open(device);
    return context.gidTable(PORT).find(({ gid }) => gid.isIpv4Mapped === isIpv4)?.gidIndex;
  };
  await until(
    "the addresses of the ports",
    () =>
      DEVICES.every((device) =>
        find(device, true) !== undefined && find(device, false) !== undefined
      ),
  );
  const owned = stack.move();
  return {
    devices: DEVICES,
    gidIndex: (device, isIpv4) => find(device, isIpv4)!,
    listen: async (address, host = 1) => {
      const of = [address, "dev", NETDEVS[host]];
      await run("ip", "addr", "add", ...of, "autojoin");
      return { [Symbol.asyncDispose]: () => run("ip", "addr", "del", ...of) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
