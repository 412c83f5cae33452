/**
 * Judges mutants by device tests, in a guest: `in_guest.ts MUTANTS REPORT`, both JSON.
 *
 * @module
 */

import { main } from "../../rxe/host/report.ts";
import { deviceTestsOf } from "./device.ts";
import type { Mutant } from "./generate.ts";
import { judgeAll } from "./judge.ts";
import { type Timed, timedTests } from "./tests.ts";
import { Tree } from "./tree.ts";

await main(async () => {
  const [given, report] = Deno.args as [string, string];
  using tree = new Tree();
  const mutants: Mutant[] = JSON.parse(await Deno.readTextFile(given));
  const tests = new Set(mutants.flatMap(({ file }) => deviceTestsOf(file)));
  const passed = await timedTests(tree, [...tests]);
  const testsOf = ({ file }: Mutant): Timed[] =>
    deviceTestsOf(file).flatMap((name) => passed.filter(({ test }) => test === name));
  const judged = await judgeAll([tree], mutants, testsOf, { slack: 60, budget: 600 });
  await Deno.writeTextFile(report, JSON.stringify(judged));
  return 0;
});
