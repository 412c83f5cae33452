/** Contenders of the guest's rows. */

import type { Sample } from "../measurement.ts";
import type { FunctionEntry, Task } from "../rows/types.ts";
import { ask, busy, byName, connected, idle, type Language, wakeUp } from "./contenders.ts";
import { runCmtime } from "./cmtime.ts";
import type { Test } from "./perftest.ts";

const NAMES: Readonly<Record<Language, string>> = { c: "C", deno: "Deno", python: "pyverbs" };

/** The warm-up ends if a contender has not become 5 % faster for so many milliseconds. */
const PATIENCE_MS = 1000;

/** Parts of a round. The middle one counts, so an interruption does not. */
const PARTS = 10;

/** A choice of {@linkcode FunctionEntry}'s attributes. */
export interface Options {
  /** The name in the table, if not that of the language. */
  readonly who?: string;
  /** Whether each operation has its own time: the round has one part. */
  readonly whole?: boolean;
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
  const { who = NAMES[language], whole = false, prepare } = options;
  const parts = whole ? 1 : PARTS;
  const run = ({ count, programs }: Task): Promise<Sample> =>
    ask(language, programs, round, Math.ceil(count / parts), parts);
  return warm(who, run, prepare);
}

/** What stays in use in a process that goes on from round to round. */
export function left(language: Language, round: string): FunctionEntry {
  const who = NAMES[language];
  return { who, measure: ({ count, programs }) => ask(language, programs, round, count, 1) };
}

export function connection(language: Language, test: Omit<Test, "count">): FunctionEntry {
  const run = async ({ count, programs }: Task): Promise<Sample> => {
    const sample = await connected(language, programs, { ...test, count });
    const { value } = sample;
    return test.name === "write_bw" ? { ...sample, value: test.size * 1e9 / value } : sample;
  };
  const who = NAMES[language];
  // perftest's programs are compiled, and start anew for each round
  return language === "c" ? { who, measure: run } : warm(who, run);
}

/** Work of two processes that meet by name. */
export function named(round: string, who: string = NAMES.deno, parts = PARTS): FunctionEntry {
  return warm(
    who,
    ({ count, programs }) => byName(programs, round, Math.ceil(count / parts), parts),
  );
}

/** cmtime starts anew for each round. */
export function cmtime(): FunctionEntry {
  return { who: NAMES.c, measure: async ({ count }) => ({ value: await runCmtime(count) }) };
}

export function waking(language: Language, round: string, who = NAMES[language]): FunctionEntry {
  return { who, measure: ({ count, programs }) => wakeUp(language, programs, round, count) };
}

export function idling(language: Language): FunctionEntry {
  return { who: NAMES[language], measure: ({ programs }) => idle(language, programs) };
}

/** Processor time at 1 000 messages a second. */
export function receiving(language: Language, round: string, who = NAMES[language]): FunctionEntry {
  return { who, measure: ({ count, programs }) => busy(language, programs, round, count) };
}
