/**
 * Judges mutants by device tests, in a guest: `in_guest.ts MUTANTS REPORT`, both JSON.
 *
 * @module
 */

import { main } from "../../rxe/host/report.ts";
import { deviceTestsOf } from "./device.ts";
import { judgeAll } from "./judge.ts";
import { timed } from "./tests.ts";
import { Tree } from "./tree.ts";

await main(async () => {
  const [given, report] = Deno.args as [string, string];
  using tree = new Tree();
  const judged = await judgeAll(
    [tree],
    JSON.parse(await Deno.readTextFile(given)),
    ({ file }) => timed(tree, deviceTestsOf(file)),
    { slack: 60, budget: 600 },
  );
  await Deno.writeTextFile(report, JSON.stringify(judged));
  return 0;
});
