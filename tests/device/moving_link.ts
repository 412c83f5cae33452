import { Context, Gid, type GidEntry } from "../../mod.ts";
import { addDevice, addDummy } from "./links.ts";
import { PORT, until } from "./setup.ts";

const NETDEV = "moving0";
/** Between two changes of a flap. */
const AWAY_MS = 20;
/** The device's name. */
export const DEVICE = "rxe_moving";

/** A soft-RoCE device of a test's own, whose addresses come and go. Neighbours need not be resolved on it. */
export interface MovingLink extends AsyncDisposable {
  /** The opened device. */
  readonly context: Context;
  /** The slot of the GID table that an address has, if any. */
  slotOf(address: string): GidEntry | undefined;
  /** Adds an IPv4 or IPv6 address, and waits for its GID. */
  add(address: string): Promise<void>;
  /** Removes one, and waits for its GID to go. */
  remove(address: string): Promise<void>;
  /** Adds many. */
  addAll(addresses: readonly string[]): Promise<void>;
  /** Removes one and adds it again, so many times in a row. Each time it is away for some milliseconds. */
  flap(address: string, times: number): Promise<void>;
  /** Takes the network device down, and up again. */
  bounce(): Promise<void>;
}

/** Makes such a device; disposing it takes it away. */
export async function movingLink(): Promise<MovingLink> {
  await using stack = new AsyncDisposableStack();
  await addDummy(stack, NETDEV);
  await addDevice(stack, DEVICE, NETDEV);
  const context = stack.use(Context.open(DEVICE));
  const ip = stack.use(new Ip());
  const slotOf = (address: string): GidEntry | undefined =>
    context.queryGidTable(PORT).find(({ gid }) => gid.equals(Gid.parse(address)));
  const change = async (action: "add" | "del", address: string): Promise<void> => {
    await ip.run(command(action, address));
    await until(
      `the GID of ${address}`,
      () => (slotOf(address) !== undefined) === (action === "add"),
    );
  };
  await until("the link-local GID", () => context.queryGidTable(PORT).length > 0);
  const owned = stack.move();
  return {
    context,
    slotOf,
    add: (address) => change("add", address),
    remove: (address) => change("del", address),
    addAll: async (addresses) => {
      await ip.run(addresses.map((address) => `addr add ${address}/16 dev ${NETDEV}\n`).join(""));
      await until("the last GID", () => slotOf(addresses.at(-1)!) !== undefined);
    },
    flap: async (address, times) => {
      for (let i = 0; i < times; i++) {
        await ip.run(command("del", address));
        await pause(AWAY_MS);
        await ip.run(command("add", address));
        await pause(AWAY_MS);
      }
    },
    bounce: () => ip.run(`link set ${NETDEV} down\nlink set ${NETDEV} up\n`),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The address of another host is not looked for before an IPv6 address is used. */
function command(action: "add" | "del", address: string): string {
  const prefix = address.includes(":") ? "64 nodad" : "24";
  return `addr ${action} ${address}/${prefix} dev ${NETDEV}\n`;
}

/** One process for all changes: the start of another takes an emulated processor longer than a change. */
class Ip implements AsyncDisposable {
  readonly #child = new Deno.Command("ip", {
    args: ["-batch", "-"],
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  readonly #stdin = this.#child.stdin.getWriter();
  readonly #output = this.#child.output();

  /** Passes commands on. The program ends at one that fails, which shows when the next ones come or at the end. */
  async run(commands: string): Promise<void> {
    await this.#stdin.write(new TextEncoder().encode(commands)).catch(() => this.#end());
  }

  async #end(): Promise<void> {
    await this.#stdin.close().catch(() => {});
    const { success, stderr } = await this.#output;
    if (!success) throw new Error(`Cannot run ip: ${new TextDecoder().decode(stderr)}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end();
  }
}
