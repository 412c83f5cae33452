/** Whether a soak run held what it must. */

import type { Counts, SeriesName, SoakRecord } from "./record.ts";

const MEGABYTE = 1e6;

/** How much a series may grow, and why so much. */
export interface Limit {
  readonly name: SeriesName;
  readonly title: string;
  readonly unit: "bytes" | "count";
  /** The median of the last quarter may exceed that of the first quarter by this much. */
  readonly growth: number;
  /** Shorter runs are not judged by this series. */
  readonly minutes?: number;
  readonly reason: string;
}

/** The limits. In an hour, about 700 000 address handles lie between the middles of the two quarters. */
export const LIMITS: readonly Limit[] = [
  {
    name: "resident",
    title: "process memory",
    unit: "bytes",
    growth: 16 * MEGABYTE,
    minutes: 20,
    reason: "Workers leave free memory in pieces; 32 bytes left by each address handle are more",
  },
  {
    name: "heap",
    title: "JavaScript heap",
    unit: "bytes",
    growth: 2 * MEGABYTE,
    reason: "V8 keeps compiled code and its feedback; an object left by each call is more",
  },
  {
    name: "kernelMemory",
    title: "kernel memory",
    unit: "bytes",
    growth: 8 * MEGABYTE,
    reason:
      "other parts of the kernel allocate, too; 32 bytes left by each address handle are more",
  },
  {
    name: "kernelObjects",
    title: "kernel objects",
    unit: "count",
    growth: 8,
    reason: "a sample can meet a Worker, which has 5 objects, and a queue pair that is being made",
  },
  {
    name: "stubObjects",
    title: "objects of the stub HCA",
    unit: "count",
    growth: 2,
    reason: "a sample can meet a table and its queue pair",
  },
  {
    name: "descriptors",
    title: "descriptors",
    unit: "count",
    growth: 10,
    reason: "a running Worker has 7 and the last one leaves 2; one left by each Worker is 100",
  },
  {
    name: "threads",
    title: "threads",
    unit: "count",
    growth: 10,
    reason: "8 threads for calls that block come and go, and those of a Worker",
  },
];

/** How a series went. */
export interface Flatness {
  readonly limit: Limit;
  /** The median of the first quarter after the warm-up. */
  readonly first: number;
  /** The median of the last quarter. */
  readonly last: number;
  /** Undefined if the run is too short to tell. */
  readonly flat: boolean | undefined;
}

/** Part of the run that is left out: code is compiled, and caches and pools fill. */
const WARM_UP = 0.1;
/** Fewer samples make no quarters. */
const FEWEST = 8;

/**
 * Compares the first quarter after the warm-up with the last quarter, by their medians.
 *
 * @throws {RangeError} If there are too few samples.
 */
export function flatness(values: readonly number[], limit: Limit, minutes: number): Flatness {
  const warm = values.slice(Math.floor(values.length * WARM_UP));
  const quarter = Math.floor(warm.length / 4);
  if (values.length < FEWEST) {
    throw new RangeError(`Cannot compare quarters: there are ${values.length} samples`);
  }
  const first = median(warm.slice(0, quarter));
  const last = median(warm.slice(-quarter));
  const isJudged = minutes >= (limit.minutes ?? 0);
  return { limit, first, last, flat: isJudged ? last - first <= limit.growth : undefined };
}

/** All series of a run. */
export function flatnesses(
  { samples, minutes }: Pick<SoakRecord, "samples" | "minutes">,
): Flatness[] {
  return LIMITS.map((limit) =>
    flatness(samples.map((sample) => sample[limit.name]), limit, minutes)
  );
}

/** Everything that a run did wrong, in words; none if it is a success. */
export function faults(record: SoakRecord): string[] {
  const { outcome } = record;
  const { messages, failures, before, after } = outcome;
  const wrong = (["lost", "twice", "changed"] as const).filter((name) => messages[name] !== 0);
  return [
    ...wrong.map((name) => `${messages[name]} messages ${name}`),
    ...unaccounted(outcome.messages),
    ...failures,
    ...flatnesses(record).filter(({ flat }) => flat === false).map(describeGrowth),
    ...leftBehind(before, after),
  ];
}

/** Each message that was sent ended in exactly one way. */
function unaccounted(messages: SoakRecord["outcome"]["messages"]): string[] {
  const { sent, delivered, refused, lost } = messages;
  const rest = sent - delivered - refused - lost;
  return rest === 0 ? [] : [`${rest} messages have no known end`];
}

function leftBehind(
  before: Readonly<Record<string, Counts>>,
  after: Readonly<Record<string, Counts>>,
): string[] {
  const devices = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return devices.flatMap((device) => {
    const [old, now] = [before[device] ?? {}, after[device] ?? {}];
    return [...new Set([...Object.keys(old), ...Object.keys(now)])]
      .filter((kind) => (old[kind] ?? 0) !== (now[kind] ?? 0))
      .map((kind) => `${device} has ${now[kind] ?? 0} ${kind}, ${old[kind] ?? 0} before the run`);
  });
}

function describeGrowth({ limit, first, last }: Flatness): string {
  const amount = (value: number): string => amountOf(value, limit.unit);
  const { title, growth } = limit;
  return `${title}: from ${amount(first)} to ${amount(last)}; may grow by ${amount(growth)}`;
}

/** A value as text. */
export function amountOf(value: number, unit: Limit["unit"]): string {
  return unit === "bytes" ? `${(value / MEGABYTE).toFixed(1)} MB` : String(value);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
