/** Rows of what comes before any work: each sample starts programs anew, on the host. */

import { inProject } from "../../tools/host/paths.ts";
import {
  bareStart,
  bundleOf,
  cacheSize,
  firstWork,
  guestStart,
  importCost,
  type Start,
} from "../cold.ts";
import { figureOf } from "../measurement.ts";
import { atMostValue, fasterThan } from "./make.ts";
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
    entries: first("poll"),
    goals: [fasterThan(1, "pyverbs")],
    note: "Deno: the package as it is published; bare Deno: an empty program",
  },
  {
    id: "first_answer",
    title: "process start to first reply",
    entries: first("answer"),
    goals: [fasterThan(1, "pyverbs")],
  },
  {
    id: "first_messages",
    title: "process start to 1000 messages",
    entries: first("messages"),
  },
  {
    id: "import",
    title: "import of the library beyond bare Deno",
    entries: [
      measured(
        "Deno",
        async ({ programs }) => importCost(await bundleOf(programs["package"]!)),
      ),
      measured("Deno, sources", () => importCost(inProject("mod.ts"))),
    ],
    goals: [atMostValue(8, "ms", (round) => figureOf(round, "Deno") / 1e6)],
  },
  {
    id: "guest_start",
    title: "guest, from start to command",
    entries: [measured("guest", guestStart)],
    goals: [atMostValue(10, "s", (round) => figureOf(round, "guest") / 1e9)],
    rounds: 6,
  },
  {
    id: "cache",
    title: "room of the cache",
    entries: [measured("cache", cacheSize)],
    goals: [atMostValue(300, "MB", (round) => figureOf(round, "cache") / 1e6)],
    rounds: 6,
    unit: "bytes",
  },
];
