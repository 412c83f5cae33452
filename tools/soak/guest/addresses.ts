/** Addresses of the network device that come and go. */

import { run as start } from "../../../tests/device/run.ts";
import { paced, PATIENCE_MS, pause, PORT, type Run } from "./run.ts";

/** So many addresses take turns. */
const ADDRESSES = 4;
const NETWORK = "10.0.1.";

/** Adds and removes addresses, each time waiting until the GID table has changed. */
export async function changeAddresses(run: Run, rate: number): Promise<void> {
  const netdev = Deno.readTextFileSync(`/sys/class/infiniband/${run.context.device.name}/parent`)
    .trim();
  let changes = 0;
  const change = async (action: "add" | "del", address: string): Promise<void> => {
    await start("ip", "addr", action, `${address}/32`, "dev", netdev);
    if (!await settles(run, address, action === "add")) {
      run.fail(`the GID of ${address} does not change after "ip addr ${action}"`);
    }
    run.count("addressChanges");
  };
  await paced(rate, 1, run.stop, async () => {
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

async function settles(run: Run, address: string, isThere: boolean): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    const found = run.context.gidTable(PORT).some(({ gid }) => `${gid}` === `::ffff:${address}`);
    if (found === isThere) return true;
    await pause(20);
  }
  return false;
}
