/** Rows of what comes before any work: each sample starts programs anew, on the host. */

import { inProject } from "../../tools/host/paths.ts";
import { bareStart, bundleOf, firstWork, importCost, type Start } from "../cold.ts";
import { figureOf } from "../measurement.ts";
import { atMostValue, fasterThan, missed } from "./make.ts";
import type { FunctionEntry, StageRow, Task } from "./types.ts";

function measured(who: string, measure: (task: Task) => Promise<number>): FunctionEntry {
  return { who, measure: async (task) => ({ value: await measure(task) }) };
}

function first(what: string): FunctionEntry[] {
  const by = (start: Start) => ({ programs }: Task) => firstWork(start, what, programs);
  return [
    measured("C", by("c")),
    measured("Deno", by("deno")),
    measured("pyverbs", by("python")),
    measured("Deno, sources", by("sources")),
    measured("bare Deno", bareStart),
  ];
}

export const COLD: readonly StageRow[] = [
  {
    id: "first_poll",
    title: "process start to first poll",
    decision: "ffi/library/bind.ts",
    entries: first("poll"),
    goals: [fasterThan(1, "pyverbs")],
    note: "Deno: the package as it is published; bare Deno: an empty program",
  },
  {
    id: "first_reply",
    title: "process start to first reply",
    decision: "ffi/thunks/image.ts",
    entries: first("reply"),
    goals: [
      missed(fasterThan(1, "pyverbs"), "V8 compiles at each start what runs after the import"),
    ],
  },
  {
    id: "import",
    title: "import of the library beyond bare Deno",
    decision: "tools/package/build.ts",
    entries: [
      measured(
        "Deno",
        async ({ programs }) => importCost(await bundleOf(programs["package"]!)),
      ),
      measured("Deno, sources", () => importCost(inProject("mod.ts"))),
    ],
    goals: [
      missed(
        atMostValue(8, "ms", (round) => figureOf(round, "Deno") / 1e6),
        "text, compiled code and heap are 1 000 pages; what a new page takes depends on the host",
      ),
    ],
  },
];
