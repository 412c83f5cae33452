/** What a soak run does, how fast, and how much of it has to be done in the end. */

/** What a workload does in a second, and what it counts for each of these operations. */
interface Workload {
  readonly rate: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** One handle of so many is used for a datagram; the others are disposed at once. */
export const USED_HANDLES = 2;
/** After so many handles one is made for an address that comes and goes: every second of these calls is refused. */
export const BURST_OF_HANDLES = 16;
/** One table of so many has a queue pair. */
export const TABLES_WITH_QUEUE_PAIR = 8;
/** After so many tables a work queue is made anew. */
export const TABLES_OF_WORK_QUEUE = 64;
/** Calls of a turn, and those of them that may end before they are aborted. */
export const ABORTS = { all: 10, early: 1 };
/** How Workers end, in turns; "process" stands for one that is terminated in a process of its own. */
export const WORKERS = ["ends", "stays", "waits", "ends", "stays", "process"] as const;
export const WORKER_MESSAGES = 16;

const PLAIN_WORKERS = WORKERS.filter((kind) => kind !== "process").length / WORKERS.length;

/**
 * The workloads. In 60 minutes they make 12 % more than 1 000 000 address handles, 100 000 tables and 10 000 000 messages,
 * with less than a processor of an emulated guest.
 */
export const WORKLOADS = {
  handles: {
    rate: 315,
    counts: {
      ahs: 1,
      ahsUsed: 1 / USED_HANDLES,
      ahsOfMoving: 0.5 / BURST_OF_HANDLES,
      ahsRefused: 0.5 / BURST_OF_HANDLES,
    },
  },
  tables: {
    rate: 32,
    counts: {
      tables: 1,
      rssQueuePairs: 1 / TABLES_WITH_QUEUE_PAIR,
      workQueues: 1 / TABLES_OF_WORK_QUEUE,
    },
  },
  datagrams: { rate: 2900, counts: { datagrams: 1 } },
  connections: { rate: 250, counts: { sends: 0.5, writes: 0.5 } },
  queuePairs: { rate: 1.5, counts: { queuePairs: 2 } },
  addresses: { rate: 1, counts: { addressChanges: 1 } },
  aborts: { rate: 1, counts: { abortedCalls: 1 - ABORTS.early / ABORTS.all } },
  workers: {
    rate: 0.05,
    counts: {
      workers: PLAIN_WORKERS,
      workersTerminatedOpen: 1 - PLAIN_WORKERS,
      workerMessages: WORKER_MESSAGES * PLAIN_WORKERS,
    },
  },
} satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof WORKLOADS;

/** What is started: a run of that many seconds at these rates. */
export interface Plan {
  readonly seconds: number;
  readonly rates: Readonly<Record<WorkloadName, number>>;
  /** Workloads that are left out. The run fails: what they count stays below the plan. */
  readonly without: readonly WorkloadName[];
}

/** How much of its plan a count may lack. */
export const FLOOR = 0.8;

// An emulated guest compiles for the most part of a minute. A short run does little of what is fast, and each of what is
// slow often enough: one turn of all kinds of Workers, and all states of the addresses.
const SHORT_SHARE: Readonly<Partial<Record<WorkloadName, number>>> = {
  handles: 0.1,
  tables: 0.2,
  datagrams: 0.1,
  connections: 0.2,
  workers: 2,
};

export function planOf(
  seconds: number,
  isShort: boolean,
  without: readonly WorkloadName[] = [],
): Plan {
  const rates = Object.entries(WORKLOADS).map(([name, { rate }]) => [
    name,
    rate * (isShort ? SHORT_SHARE[name as WorkloadName] ?? 1 : 1),
  ]);
  return { seconds, rates: Object.fromEntries(rates), without };
}

/** How far each count has to come, for all workloads or for those of some names. */
export function goals(
  { seconds, rates }: Plan,
  names: readonly WorkloadName[] = Object.keys(WORKLOADS) as WorkloadName[],
): Record<string, number> {
  return Object.fromEntries(names.flatMap((name) =>
    Object.entries(WORKLOADS[name].counts)
      .map(([count, each]) => [count, Math.round(each * rates[name] * seconds)])
  ));
}

/** A machine that is slow gets so many seconds to fulfil a plan. */
export function deadline(seconds: number): number {
  return seconds + Math.max(2 * seconds, 300);
}

/** Seconds between two samples: each quarter of a short run has some. */
export function intervalOf(seconds: number): number {
  return Math.min(10, Math.max(2, seconds / 30));
}
