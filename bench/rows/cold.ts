/** Rows of what comes before any work: each sample starts programs anew, on the host. */

import { cacheSize, guestStart, importCost } from "../cold.ts";
import { figureOf } from "../measurement.ts";
import { atMostValue } from "./make.ts";
import type { FunctionEntry, Row } from "./types.ts";

function measured(who: string, measure: () => Promise<number>): FunctionEntry {
  return { who, measure: async () => ({ value: await measure() }) };
}

/** The rows. */
export const COLD: readonly Row[] = [
  {
    id: "import",
    title: "import of mod.ts beyond bare Deno",
    stage: "cold",
    entries: [measured("Deno", importCost)],
    goals: [atMostValue(8, "ms", (round) => figureOf(round, "Deno") / 1e6)],
    rounds: 31,
  },
  {
    id: "guest_start",
    title: "guest, from start to command",
    stage: "cold",
    entries: [measured("guest", guestStart)],
    goals: [atMostValue(10, "s", (round) => figureOf(round, "guest") / 1e9)],
    rounds: 6,
  },
  {
    id: "cache",
    title: "room of the cache",
    stage: "cold",
    entries: [measured("cache", cacheSize)],
    goals: [atMostValue(300, "MB", (round) => figureOf(round, "cache") / 1e6)],
    rounds: 6,
    unit: "bytes",
  },
];
