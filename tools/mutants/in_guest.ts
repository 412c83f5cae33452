/**
 * Judges mutants that need a device, in a guest: `in_guest.ts REPORT IDS...`.
 *
 * @module
 */

import { main } from "../../rxe/host/report.ts";
import { ALL } from "./lists.ts";
import { judgeHere } from "./run.ts";

await main(async () => {
  const [report, ...ids] = Deno.args;
  const mutants = ALL.filter(({ id }) => ids.includes(id));
  await Deno.writeTextFile(report!, JSON.stringify(await judgeHere(mutants, 1, "device")));
  return 0;
});
