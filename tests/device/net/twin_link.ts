import { addDevices, gidIndexOf, layCable } from "../links.ts";
import { run } from "../run.ts";

const NETDEVS = ["twin0", "twin1"] as const;
const DEVICES = ["rxe_twin0", "rxe_twin1"] as const;
const ADDRESSES = ["10.7.0.1", "10.7.0.2"] as const;

/** Two soft-RoCE devices on the two ends of a cable. A device does not receive the multicast that it sends itself. */
export interface TwinLink extends AsyncDisposable {
  /** The names of the devices. */
  readonly devices: readonly [string, string];
  /**
   * Makes a host, the second one if left out, take packets for an IP multicast group, until it is told otherwise. The other
   * host must not take them as well: both are of one system, which would deliver to itself what it sends to the group.
   */
  listen(address: string, host?: 0 | 1): Promise<AsyncDisposable>;
  /** Takes the IPv4 address of a host away, and gives it back. */
  cut(host: 0 | 1): Promise<void>;
  mend(host: 0 | 1): Promise<void>;
  /** The index of the first GID of a device that is, or is not, an IPv4 address. */
  gidIndex(device: string, isIpv4: boolean): number;
}

/** Makes such devices; disposing it takes them away. */
export async function twinLink(): Promise<TwinLink> {
  await using stack = new AsyncDisposableStack();
  await layCable(stack, NETDEVS, ADDRESSES);
  await addDevices(stack, DEVICES, NETDEVS);
  const owned = stack.move();
  return {
    devices: DEVICES,
    cut: (host) => run("ip", "addr", "del", `${ADDRESSES[host]}/24`, "dev", NETDEVS[host]),
    mend: (host) => run("ip", "addr", "add", `${ADDRESSES[host]}/24`, "dev", NETDEVS[host]),
    gidIndex: (device, isIpv4) => gidIndexOf(device, isIpv4)!,
    listen: async (address, host = 1) => {
      const of = [address, "dev", NETDEVS[host]];
      await run("ip", "addr", "add", ...of, "autojoin");
      return { [Symbol.asyncDispose]: () => run("ip", "addr", "del", ...of) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
