/** Whether a soak run did and held what it must. */

import { FLOOR, goals } from "./plan.ts";
import type { Counts, SeriesName, SoakRecord } from "./record.ts";

/** How much a series may grow. */
export interface Limit {
  readonly title: string;
  readonly unit: "bytes" | "count";
  /** The least value of the last quarter may exceed that of the first quarter by this much. */
  readonly growth: number;
  /** The same for runs below {@linkcode EARLY_SECONDS}. */
  readonly early?: number;
}

/** Until then the C library's pools and V8's compiled code grow. */
const EARLY_SECONDS = 1200;

/** The limits. What comes and goes does not show in the least value of a quarter, what leaks does. */
export const LIMITS: Readonly<Record<SeriesName, Limit>> = {
  // Workers leave free memory in pieces; in an hour, 32 bytes for each address handle are more.
  resident: { title: "process memory", unit: "bytes", growth: 16e6, early: 48e6 },
  // V8 keeps compiled code and its feedback; an object left by each call is more.
  heap: { title: "JavaScript heap", unit: "bytes", growth: 2e6 },
  // Other parts of the kernel allocate, too; 8 bytes left by each address handle are more.
  kernelMemory: { title: "kernel memory", unit: "bytes", growth: 2e6 },
  // Nothing may stay.
  kernelObjects: { title: "kernel objects", unit: "count", growth: 2 },
  // All samples of a quarter can meet a table and its queue pair.
  stubObjects: { title: "objects of the stub HCA", unit: "count", growth: 2 },
  // A running Worker has 7 and the last one leaves 2; in an hour, one left by each is 100.
  descriptors: { title: "descriptors", unit: "count", growth: 10 },
  // 8 threads for calls that block come and go, and those of a Worker.
  threads: { title: "threads", unit: "count", growth: 10 },
};

/** How a series went: in words, and whether it grew beyond its limit. */
export interface Growth {
  readonly text: string;
  readonly isTooMuch: boolean;
}

/** Part of the run that is left out: code is compiled, and caches and pools fill. */
const WARM_UP = 0.2;
/** Fewer samples make no quarters. */
const FEWEST = 8;

/** How all series went after the warm-up, quarter by quarter; none if there are too few samples. */
export function growths({ samples, plan }: Pick<SoakRecord, "samples" | "plan">): Growth[] {
  if (samples.length < FEWEST) return [];
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const quarter = Math.floor(warm.length / 4);
  return Object.entries(LIMITS).map(([name, { title, unit, growth, early = growth }]) => {
    const values = warm.map((sample) => sample[name as SeriesName]);
    const first = Math.min(...values.slice(0, quarter));
    const last = Math.min(...values.slice(-quarter));
    const most = plan.seconds < EARLY_SECONDS ? early : growth;
    const amount = (value: number): string =>
      unit === "bytes" ? `${(value / 1e6).toFixed(1)} MB` : String(value);
    return {
      text: `${title}: from ${amount(first)} to ${amount(last)}; may grow by ${amount(most)}`,
      isTooMuch: last - first > most,
    };
  });
}

/** Everything that a run did wrong, in words; none if it is a success. */
export function faults(record: SoakRecord): string[] {
  const { samples, outcome } = record;
  const { messages, failures, before, after } = outcome;
  // Each message that was sent ended in exactly one way.
  const rest = messages.sent - messages.delivered - messages.refused - messages.lost;
  const wrong = (["lost", "twice", "changed"] as const).filter((name) => messages[name] !== 0);
  return [
    ...undone(record),
    ...wrong.map((name) => `${messages[name]} messages ${name}`),
    ...rest === 0 ? [] : [`${rest} messages have no known end`],
    ...failures,
    ...samples.length < FEWEST ? [`${samples.length} samples are too few to see growth`] : [],
    ...growths(record).filter(({ isTooMuch }) => isTooMuch).map(({ text }) => text),
    ...leftBehind(before, after),
  ];
}

/** Counts far below the plan. */
function undone({ plan, outcome: { counts } }: SoakRecord): string[] {
  return Object.entries(goals(plan))
    .filter(([name, goal]) => !((counts[name] ?? 0) >= Math.max(1, FLOOR * goal)))
    .map(([name, goal]) => `${name}: ${counts[name] ?? 0} of ${goal} in the plan`);
}

function leftBehind(
  before: Readonly<Record<string, Counts>>,
  after: Readonly<Record<string, Counts>>,
): string[] {
  return Object.keys({ ...before, ...after }).flatMap((device) => {
    const [old, now] = [before[device] ?? {}, after[device] ?? {}];
    return Object.keys({ ...old, ...now })
      .filter((kind) => (old[kind] ?? 0) !== (now[kind] ?? 0))
      .map((kind) => `${device} has ${now[kind] ?? 0} ${kind}, ${old[kind] ?? 0} before the run`);
  });
}
