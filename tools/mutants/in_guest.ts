/** Judges mutants by device tests, in a guest: `in_guest.ts GIVEN REPORT`, both JSON. */

import { main } from "../../rxe/host/report.ts";
import type { Given } from "./device.ts";
import { judgeAll } from "./judge.ts";
import { Tree } from "./tree.ts";

await main(async () => {
  const [given, report] = Deno.args as [string, string];
  const { files, mutants, tests, patience }: Given = JSON.parse(await Deno.readTextFile(given));
  using tree = new Tree(files);
  const judged = await judgeAll([tree], new Map(mutants), tests, patience);
  await Deno.writeTextFile(report, JSON.stringify(judged));
  return 0;
});
