import { Context, Gid } from "../../mod.ts";
import { addDevice, addDummy, gidIndexOf } from "./links.ts";
import { run } from "./run.ts";
import { PORT } from "./setup.ts";

const NETDEV = "slow0";
const DEVICE = "rxe_slow";
/** On the netdev's own network, and nobody has it. */
const PEER = "10.9.0.77";

/** A second soft-RoCE device, on a network where neighbours must be asked for and nobody answers. */
export interface SlowLink extends AsyncDisposable {
  /** The opened device. */
  readonly context: Context;
  /** The address of a peer that is not there: making a handle for it blocks for a second, and then fails. */
  readonly peer: { portNum: number; grh: { dgid: Gid; sgidIndex: number } };
  /** Makes the peer known, so that calls that wait for it succeed. */
  answer(): void;
}

/** Makes such a device; disposing it takes it away. */
export async function slowLink(): Promise<SlowLink> {
  await using stack = new AsyncDisposableStack();
  // It drops every question for a neighbour.
  await addDummy(stack, NETDEV);
  await run("ip", "link", "set", NETDEV, "arp", "on");
  await run("ip", "addr", "add", "10.9.0.1/24", "dev", NETDEV);
  await addDevice(stack, DEVICE, NETDEV);
  const context = stack.use(Context.open(DEVICE));
  const gidIndex = gidIndexOf(DEVICE)!;
  const owned = stack.move();
  return {
    context,
    peer: { portNum: PORT, grh: { dgid: Gid.parse(PEER), sgidIndex: gidIndex } },
    // Synchronous, so that no call fails meanwhile.
    answer: () => {
      const args = ["neigh", "replace", PEER, "lladdr", "02:00:00:00:00:77", "dev", NETDEV];
      if (!new Deno.Command("ip", { args }).outputSync().success) {
        throw new Error("Cannot make the peer known");
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
