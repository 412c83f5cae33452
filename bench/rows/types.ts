/** What a row of the table is made of. */

import type { Round, Sample } from "../measurement.ts";

/**
 * Where a row is measured: on the host with a provider that does nothing, in the guest on soft-RoCE, or on the host by
 * starting a program anew for each sample.
 */
export type Stage = "native" | "rxe" | "cold";

export type Entry = ProcessEntry | FunctionEntry;

/** A contender that is a process which reads rounds from its standard input, see ../process.ts. */
export interface ProcessEntry {
  readonly who: string;
  /** The process: ../c/contender.c, ../deno/contender.ts, ../python/contender.py. */
  readonly process: "c" | "deno" | "python";
  /** The name of the round there. A number after a colon is an argument of it. */
  readonly round: string;
}

/** A contender that is measured in another way. */
export interface FunctionEntry {
  readonly who: string;
  /** Measures one round. It runs where the stage runs, in the guest for "rxe". */
  readonly measure: (task: Task) => Promise<Sample>;
}

/** What a {@linkcode FunctionEntry} gets. */
export interface Task {
  /** Operations of a round: the row's `count`, or 1. */
  readonly count: number;
  /** The compiled programs of ../c/, by name. */
  readonly programs: Readonly<Record<string, string>>;
}

/** A C program that is compiled for a stage. */
export interface Program {
  /** Its source, below bench/. */
  readonly source: string;
  /** The flags of the compiler, after the source. */
  readonly flags: readonly string[];
}

export interface Goal {
  /** In words, such as "at most 2 x C". */
  readonly text: string;
  /** The contenders that it compares with each other. */
  readonly contenders: readonly string[];
  /** What is compared with the limit, of one round. */
  readonly value: (round: Round) => number;
  readonly limit: number;
  /** Whether the value shall be at least the limit instead of at most. */
  readonly atLeast: boolean;
  /** How the value is shown: "x" for a ratio. */
  readonly unit: string;
  /** Why a goal that was missed with two designs is judged no longer: the value is only shown. */
  readonly reason?: string;
}

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly stage: Stage;
  /** The file whose design the row judges. */
  readonly decision: string;
  /** Who measures. The order changes from round to round. */
  readonly entries: readonly Entry[];
  /** Empty if the row is only shown. */
  readonly goals: readonly Goal[];
  /** The contender that the others are compared with in the table: "C" if left out. */
  readonly reference?: string;
  /** Operations of a round. If left out, as many as fill the time of a round. There is no warm-up if it is given. */
  readonly count?: number;
  /** What the GID table of the guest has to be like. */
  readonly prepare?: "manyGids";
  /** What to bear in mind. */
  readonly note?: string;
}

/** A row in the list of its stage. Without goals it is only shown. */
export type StageRow = Omit<Row, "stage" | "goals"> & Partial<Pick<Row, "goals">>;
