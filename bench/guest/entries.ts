/** Contenders of the guest's rows. */

import type { Sample } from "../measurement.ts";
import type { FunctionEntry, Task } from "../rows/types.ts";
import { ask, busy, byName, connected, type Language, wakeUp } from "./contenders.ts";
import { runCmtime } from "./cmtime.ts";

const NAMES: Readonly<Record<Language, string>> = { c: "C", deno: "Deno", python: "pyverbs" };

/** The warm-up ends if a contender has not become 5 % faster for so many milliseconds. */
const PATIENCE_MS = 1000;

/** Parts of a round. The middle one counts, so an interruption does not. */
const PARTS = 10;

/** A choice of {@linkcode FunctionEntry}'s attributes. */
export interface Options {
  /** The name in the table, if not that of the language. */
  readonly who?: string;
  /** What the device has to be like. */
  readonly prepare?: (() => Promise<void>) | undefined;
}

/** An entry whose process is warm when it is measured. */
function warm(
  who: string,
  run: (task: Task) => Promise<Sample>,
  prepare: () => Promise<void> = () => Promise.resolve(),
): FunctionEntry {
  let isWarm = false;
  return {
    who,
    measure: async (task) => {
      if (!isWarm) {
        await prepare();
        await warmUp(() => run(task));
        isWarm = true;
      }
      return await run(task);
    },
  };
}

async function warmUp(run: () => Promise<Sample>): Promise<void> {
  let best = Infinity;
  let last = performance.now();
  while (performance.now() - last < PATIENCE_MS) {
    const { value } = await run();
    if (value > 0.95 * best) continue;
    best = value;
    last = performance.now();
  }
}

export function work(language: Language, round: string, options: Options = {}): FunctionEntry {
  const { who = NAMES[language], prepare } = options;
  const run = ({ count, programs }: Task): Promise<Sample> =>
    ask(language, programs, round, Math.ceil(count / PARTS), PARTS);
  return warm(who, run, prepare);
}

/** Latency of messages of so many bytes. */
export function connection(language: Language, size: number): FunctionEntry {
  const run = ({ count, programs }: Task): Promise<Sample> =>
    connected(language, programs, { size, count });
  const who = NAMES[language];
  // perftest's programs are compiled, and start anew for each round
  return language === "c" ? { who, measure: run } : warm(who, run);
}

/** Work of two processes that meet by name. */
export function named(round: string): FunctionEntry {
  return warm(NAMES.deno, ({ count, programs }) => byName(programs, round, count));
}

/** cmtime starts anew for each round. */
export function cmtime(): FunctionEntry {
  return { who: NAMES.c, measure: async ({ count }) => ({ value: await runCmtime(count) }) };
}

export function waking(language: Language, round: string, who = NAMES[language]): FunctionEntry {
  return { who, measure: ({ count, programs }) => wakeUp(language, programs, round, count) };
}

/** Processor time at 1 000 messages a second. */
export function receiving(language: Language, round: string, who = NAMES[language]): FunctionEntry {
  return { who, measure: ({ count, programs }) => busy(language, programs, round, count) };
}
