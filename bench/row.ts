/** What a row of the table is made of, and short forms of goals. */

import { figureOf, type Round, type Sample } from "./measurement.ts";

/**
 * Where a row is measured: on the host with a provider that does nothing, in the guest on soft-RoCE, or on the host by
 * starting a program anew for each sample.
 */
export type Stage = "native" | "rxe" | "cold";

/** What is built, by name: "provider" takes the place of libibverbs, "oldImportMap" has the package of `--old`. */
export type Programs = Readonly<Record<string, string>>;

/** A contender. */
export interface Entry {
  readonly who: string;
  /** Measures one round of so many operations. It runs where the stage runs, in the guest for "rxe". */
  readonly measure: (count: number, programs: Programs) => Promise<Sample>;
  /** Counts system calls of the same work; only of two processes. */
  readonly trace?: (count: number, programs: Programs) => Promise<string>;
}

export interface Goal {
  /** In words, such as "at most 2 x C". */
  readonly text: string;
  /** What is compared with the limit, of one round. */
  readonly value: (round: Round) => number;
  readonly limit: number;
  /** Whether the value shall be at least the limit instead of at most. */
  readonly atLeast?: boolean;
  /** How the value is shown: "x", for a ratio, if left out. */
  readonly unit?: string;
  /** Why a goal that was missed with two designs is judged no longer: the value is only shown. */
  readonly reason?: string;
}

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly stage: Stage;
  /** Operations of a round. */
  readonly count: number;
  /** Who measures. The order changes from round to round. */
  readonly entries: readonly Entry[];
  /** Empty if the row is only shown. */
  readonly goals: readonly Goal[];
  /** The file whose design the row judges, and what to bear in mind. */
  readonly note: string;
  /** The contender of an old package. */
  readonly old?: Entry;
}

function subject(who: string): string {
  return who === "Deno" ? "" : `${who}: `;
}

/** `who` takes at most `limit` times as much as `other`. */
export function atMost(limit: number, other: string, who: string = "Deno"): Goal {
  const value = (round: Round): number => figureOf(round, who) / figureOf(round, other);
  return { text: `${subject(who)}at most ${limit} x ${other}`, value, limit };
}

/** Deno is at least `limit` times as fast as `other`. */
export function fasterThan(limit: number, other: string): Goal {
  const value = (round: Round): number => figureOf(round, other) / figureOf(round, "Deno");
  return { text: `${limit} x faster than ${other}`, value, limit, atLeast: true };
}

/** At most so many milliseconds. */
export function atMostMs(limit: number, who: string = "Deno"): Goal {
  const value = (round: Round): number => figureOf(round, who) / 1e6;
  return { text: `${subject(who)}at most ${limit} ms`, value, limit, unit: "ms" };
}

/** A goal that was missed with two designs: what it would be judged by is shown, with the reason. */
export function missed(goal: Goal, reason: string): Goal {
  return { ...goal, reason };
}
