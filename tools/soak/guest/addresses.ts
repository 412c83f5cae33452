/** Addresses of the network device that come and go. */

import { run as start } from "../../../tests/device/run.ts";
import { sysfs, until } from "../../../tests/device/setup.ts";
import { paced, PORT, type Run } from "./run.ts";

/** So many addresses take turns. */
const ADDRESSES = 4;

/** Adds and removes addresses, each time waiting until the GID table has changed. */
export async function changeAddresses(run: Run, rate: number): Promise<void> {
  const added = new Set<string>();
  const change = async (address: string): Promise<void> => {
    const action = added.has(address) ? "del" : "add";
    await start("ip", "addr", action, `${address}/32`, "dev", sysfs("parent"));
    const isThere = (): boolean =>
      run.context.gidTable(PORT).some(({ gid }) => `${gid}` === `::ffff:${address}`);
    await until(`the GID of ${address} after "${action}"`, () => isThere() === (action === "add"));
    if (!added.delete(address)) added.add(address);
    run.count("addressChanges");
  };
  let changes = 0;
  await paced(rate, 1, run.stop, () => change(`10.0.1.${1 + changes++ % ADDRESSES}`));
  for (const address of [...added]) await change(address);
}
