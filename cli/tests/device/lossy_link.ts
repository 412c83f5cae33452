import { addDevices, layCable } from "../../../tests/device/links.ts";
import { run } from "../../../tests/device/run.ts";

const NETDEVS = ["lossy0", "lossy1"] as const;
const DEVICES = ["rxe_lossy0", "rxe_lossy1"] as const;
const ADDRESSES = ["10.12.0.1", "10.12.0.2"] as const;

/** Rules that make packets for an address of this host leave it by a cable, and come in again at its other end. */
const RULES: readonly string[] = [
  ...NETDEVS.map((netdev) => `pref 10 iif ${netdev} lookup local`),
  ...ADDRESSES.map((address, i) => `pref 20 to ${address} lookup ${100 + i}`),
  "pref 30 lookup local",
];

/** Two soft-RoCE devices on the two ends of a cable that loses and delays packets as `tc` is told. */
export interface LossyLink extends AsyncDisposable {
  /** The names of the devices. */
  readonly devices: readonly [string, string];
  /** The names of their network devices. */
  readonly netdevs: readonly [string, string];
}

/** Makes such devices; disposing it takes them away. */
export async function lossyLink(): Promise<LossyLink> {
  await using stack = new AsyncDisposableStack();
  await run("modprobe", "sch_netem");
  await layCable(stack, NETDEVS, ADDRESSES);
  for (const [i, netdev] of NETDEVS.entries()) {
    const [peer, source] = [ADDRESSES[1 - i]!, ADDRESSES[i]!];
    const route = [peer, "dev", netdev, "src", source, "table", String(101 - i)];
    await run("ip", "route", "add", ...route);
  }
  for (const rule of RULES) {
    await run("ip", "rule", "add", ...rule.split(" "));
    stack.defer(() => run("ip", "rule", "delete", ...rule.split(" ")));
  }
  await run("ip", "rule", "delete", "pref", "0");
  stack.defer(() => run("ip", "rule", "add", "pref", "0", "lookup", "local"));
  await addDevices(stack, DEVICES, NETDEVS, [true]);
  const owned = stack.move();
  return {
    devices: DEVICES,
    netdevs: NETDEVS,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
