/** What a row of the table is made of, and short forms of goals. */

import { figureOf, type Round, type Sample } from "./measurement.ts";

/** Where rows are measured. No place is an adapter. */
export const STAGES = {
  shm: {
    title: "Between two processes, by shared memory",
    about:
      "A device of this project carries messages between two processes of one host, about as fast as an adapter. " +
      "It is not an adapter: its figures show what the software around an adapter costs.",
    rounds: 9,
  },
  native: {
    title: "Call overhead, on a provider that does nothing",
    about:
      "It is not an adapter: posting and polling return at once, so a call costs what the caller's language costs.",
    rounds: 9,
  },
  rxe: {
    title: "Work on soft-RoCE, in the guest",
    about:
      "It is not an adapter: the kernel does the work of one, and an emulator that of the processor, which slows " +
      "JavaScript more than C. It shows what only a kernel does.",
    rounds: 6,
  },
  cold: {
    title: "From the start of the process",
    about: "A program starts, answers a datagram of a provider that does nothing, and ends.",
    rounds: 15,
  },
} as const;

export type Stage = keyof typeof STAGES;

/** What is built, by name: "provider" takes the place of libibverbs, "oldImportMap" has the package of `--old`. */
export type Programs = Readonly<Record<string, string>>;

/** A contender. */
export interface Entry {
  readonly who: string;
  /** Measures one round of so many operations. It runs where the stage runs, in the guest for "rxe". */
  readonly measure: (count: number, programs: Programs) => Promise<Sample>;
  /** Counts system calls of the same work; only of two processes. */
  readonly trace?: (count: number, programs: Programs) => Promise<string>;
  /** The same work with the package of `--old`. */
  readonly old?: Entry;
}

/** How a value of nanoseconds is shown. */
export type Shown = "time" | "rate" | { readonly bytes: number };

export interface Goal {
  /** In words, such as "at most 2 x C". */
  readonly text: string;
  /** What is compared with the limit, of one round. */
  readonly value: (round: Round) => number;
  readonly limit: number;
  /** Whether the value shall be at least the limit instead of at most. */
  readonly atLeast?: boolean;
  /** The unit of the value: "x", for a ratio, if left out. */
  readonly unit?: string;
  /** Why a goal that was missed with two designs is judged no longer: the value is only shown. */
  readonly reason?: string;
}

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly stage: Stage;
  /** Operations of a round, or the most that it has. */
  readonly count: number;
  /** A time, if it is left out. A "rate" is operations in a second, and bytes are those of an operation. */
  readonly shown?: Shown;
  /** Who measures. The order changes from round to round. */
  readonly entries: readonly Entry[];
  /** Empty if the row is only shown. */
  readonly goals: readonly Goal[];
  /** The file whose design the row judges, and what to bear in mind. */
  readonly note: string;
}

type Figure = "value" | "mean" | "p99" | "processor";

/** How often one figure contains another. Two that are nothing are the same. */
export function ratio(figure: number, other: number): number {
  return figure === other ? 1 : figure / other;
}

/** What a goal is about: nothing is said of the value of Deno. */
function subject(who: string, figure: Figure): string {
  const words = [who === "Deno" ? "" : who, figure === "value" ? "" : figure];
  const text = words.filter((word) => word !== "").join(", ");
  return text === "" ? "" : `${text}: `;
}

/** `who` takes at most `limit` times as much as `other`. */
export function atMost(
  limit: number,
  other: string,
  who: string = "Deno",
  figure: Figure = "value",
): Goal {
  const value = (round: Round): number =>
    ratio(figureOf(round, who, figure), figureOf(round, other, figure));
  return { text: `${subject(who, figure)}at most ${limit} x ${other}`, value, limit };
}

/** Deno is at least `limit` times as fast as `other`. */
export function fasterThan(limit: number, other: string): Goal {
  const value = (round: Round): number => ratio(figureOf(round, other), figureOf(round, "Deno"));
  return { text: `${limit} x faster than ${other}`, value, limit, atLeast: true };
}

const NANOSECONDS = { us: 1e3, ms: 1e6 };

/** At most so many microseconds or milliseconds. */
export function within(
  limit: number,
  unit: keyof typeof NANOSECONDS,
  who: string = "Deno",
  figure: Figure = "value",
): Goal {
  const value = (round: Round): number => figureOf(round, who, figure) / NANOSECONDS[unit];
  return { text: `${subject(who, figure)}at most ${limit} ${unit}`, value, limit, unit };
}

/** At least so many million operations in a second. */
export function millions(limit: number, who: string = "Deno"): Goal {
  const value = (round: Round): number => 1e3 / figureOf(round, who);
  const text = `${subject(who, "value")}at least ${limit} M/s`;
  return { text, value, limit, atLeast: true, unit: "M/s" };
}

/** A goal that was missed with two designs: what it would be judged by is shown, with the reason. */
export function missed(goal: Goal, reason: string): Goal {
  return { ...goal, reason };
}
