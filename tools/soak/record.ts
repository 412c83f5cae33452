/** What a soak run counts and samples. */

import type { Plan } from "./plan.ts";

/** What the process and the kernel hold at one time. */
export interface Sample {
  readonly seconds: number;
  /** Bytes of the process in memory. */
  readonly resident: number;
  /** Bytes of live JavaScript objects and buffers, after a garbage collection. */
  readonly heap: number;
  /** Objects of all RDMA devices that the kernel holds. */
  readonly kernelObjects: number;
  readonly stubObjects: number;
  /** Bytes that the kernel has allocated and cannot reclaim. Address handles show there: the kernel does not count them. */
  readonly kernelMemory: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** The series of a run. */
export type SeriesName = Exclude<keyof Sample, "seconds">;

export interface MessageCounts {
  readonly sent: number;
  readonly delivered: number;
  /** Not delivered, and the completion says so. */
  readonly refused: number;
  /** Not delivered, and nothing says so. */
  readonly lost: number;
  readonly twice: number;
  /** Delivered with other bytes than were sent. */
  readonly changed: number;
}

/** What a run did, by name. */
export type Counts = Readonly<Record<string, number>>;

/** What the program in the guest reports at its end. */
export interface Outcome {
  readonly seconds: number;
  /** Seconds of processor time that the process used. */
  readonly processorSeconds: number;
  readonly messages: MessageCounts;
  readonly counts: Counts;
  /** Calls that ended otherwise than they may, as text. */
  readonly failures: readonly string[];
  /** Objects by device and kind, before anything was opened. */
  readonly before: Readonly<Record<string, Counts>>;
  /** The same after everything was closed. */
  readonly after: Readonly<Record<string, Counts>>;
}

/** All that is known of a run: the JSON record. */
export interface SoakRecord {
  readonly plan: Plan;
  readonly outcome: Outcome;
  readonly samples: readonly Sample[];
}
