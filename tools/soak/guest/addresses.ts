/** Addresses of the network device that come and go. */

import { paced, pause } from "./pace.ts";
import { PATIENCE_MS, PORT, type Run } from "./run.ts";

/** So many addresses take turns. */
const ADDRESSES = 4;
const NETWORK = "10.0.1.";

/** Adds and removes addresses, each time waiting until the GID table has changed. */
export async function changeAddresses(run: Run): Promise<void> {
  const netdev = Deno.readTextFileSync(`/sys/class/infiniband/${run.context.device.name}/parent`)
    .trim();
  await using ip = new Ip(netdev);
  let changes = 0;
  const change = async (action: "add" | "del", address: string): Promise<void> => {
    await ip.change(action, address);
    if (!await settles(run, address, action === "add")) {
      run.fail(`the GID of ${address} does not change after "ip addr ${action}"`);
    }
    run.count("addressChanges");
  };
  await paced(run.rates.addresses, 1, run.stop, async () => {
    const address = `${NETWORK}${1 + changes % ADDRESSES}`;
    const action = Math.floor(changes++ / ADDRESSES) % 2 === 0 ? "add" : "del";
    await change(action, address);
  });
  for (const { gid } of run.context.gidTable(PORT)) {
    if (`${gid}`.startsWith(`::ffff:${NETWORK}`)) {
      await change("del", `${gid}`.slice("::ffff:".length));
    }
  }
}

/** `ip` in batch mode, so that a change needs no process of its own. */
class Ip implements AsyncDisposable {
  readonly #netdev: string;
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  constructor(netdev: string) {
    this.#netdev = netdev;
    this.#child = new Deno.Command("ip", { args: ["-batch", "-"], stdin: "piped" }).spawn();
    this.#writer = this.#child.stdin.getWriter();
  }

  async change(action: string, address: string): Promise<void> {
    const line = `addr ${action} ${address}/32 dev ${this.#netdev}\n`;
    await this.#writer.write(new TextEncoder().encode(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close();
    await this.#child.status;
  }
}

async function settles(run: Run, address: string, isThere: boolean): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    const found = run.context.gidTable(PORT).some(({ gid }) => `${gid}` === `::ffff:${address}`);
    if (found === isThere) return true;
    await pause(20);
  }
  return false;
}
