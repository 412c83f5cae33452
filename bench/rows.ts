/** What is measured, by whom, and what it has to come to. */

import type { Measurements } from "./measurement.ts";

/** Who measures: a round of a contender's process, or a pair of programs that play ping-pong. */
export interface Entry {
  /** Its name in the table. */
  readonly who: string;
  /** The process. */
  readonly process: "c" | "deno" | "python" | "pair";
  /** The name of the round there, or of the kind of pair. */
  readonly round: string;
}

/** A target. */
export interface Goal {
  /** In words. */
  readonly text: string;
  /** What is compared with the limit. */
  readonly value: (measured: Measurements, others: ReadonlyMap<string, Measurements>) => number;
  /** The limit: a lower one where `atLeast`. */
  readonly limit: number;
  readonly atLeast: boolean;
  /** How the value is shown. */
  readonly unit: string;
}

/** A row of the table. */
export interface Row {
  readonly id: string;
  readonly title: string;
  /** 1: on the host with the no-op provider; 2: on rxe. */
  readonly stage: 1 | 2;
  readonly entries: readonly Entry[];
  readonly goals: readonly Goal[];
  /** Operations of a round, where it is not to be found out. */
  readonly count?: (quick: boolean) => number;
  /** What the GID table has to be like. */
  readonly prepare?: "oneGid" | "manyGids";
  /** Of the measurements, nanoseconds an operation if left out. */
  readonly unit?: "bytes";
  /** What to bear in mind. */
  readonly note?: string;
}

function c(round: string): Entry {
  return { who: "C", process: "c", round };
}

function deno(round: string, who = "Deno"): Entry {
  return { who, process: "deno", round };
}

function pyverbs(round: string): Entry {
  return { who: "pyverbs", process: "python", round };
}

function all(round: string): Entry[] {
  return [c(round), deno(round), pyverbs(round)];
}

function atMostNanoseconds(limit: number): Goal {
  return {
    text: `at most ${limit} ns`,
    value: (measured) => measured["Deno"]!.median,
    limit,
    atLeast: false,
    unit: " ns",
  };
}

function atMostTimesC(limit: number): Goal {
  return {
    text: `at most ${limit} times C`,
    value: (measured) => measured["Deno"]!.median / measured["C"]!.median,
    limit,
    atLeast: false,
    unit: " x",
  };
}

function fasterThan(limit: number, other: string): Goal {
  return {
    text: `${limit} times faster than ${other}`,
    value: (measured) => measured[other]!.median / measured["Deno"]!.median,
    limit,
    atLeast: true,
    unit: " x",
  };
}

/** The cost does not grow from another row to this one. */
function flat(other: string): Goal {
  return {
    text: "flat: at most 1.5 times the row above",
    value: (measured, others) => measured["Deno"]!.median / others.get(other)!["Deno"]!.median,
    limit: 1.5,
    atLeast: false,
    unit: " x",
  };
}

function pair(round: string, who: string): Entry {
  return { who, process: "pair", round };
}

/** The rows in the order of the table. */
export const ROWS: readonly Row[] = [
  {
    id: "poll_empty",
    title: "ibv_poll_cq, empty queue",
    stage: 1,
    entries: [...all("poll_empty"), deno("poll_empty_slow", "no thunks")],
    goals: [atMostNanoseconds(12), fasterThan(50, "no thunks")],
  },
  {
    id: "post_send",
    title: "ibv_post_send, one prepared request",
    stage: 1,
    entries: all("post_send"),
    goals: [atMostNanoseconds(15)],
  },
  {
    id: "post_poll",
    title: "32 posted and polled, a message",
    stage: 1,
    entries: [...all("post_poll"), deno("post_poll_low", "wr_id as number")],
    goals: [atMostNanoseconds(6)],
    note:
      "status and wr_id read: the whole of it, and beside it the lower half, which is no bigint; pyverbs posts one by one",
  },
  {
    id: "heap",
    title: "heap growth, 1 000 000 messages",
    stage: 1,
    entries: [deno("heap")],
    goals: [{
      text: "under 1 MB",
      value: (measured) => measured["Deno"]!.max / 1e6,
      limit: 1,
      atLeast: false,
      unit: " MB",
    }],
    count: () => 1_000_000,
    unit: "bytes",
  },
  {
    id: "prediction",
    title: "RSS queue of a flow predicted",
    stage: 1,
    entries: [deno("prediction")],
    goals: [{
      text: "1 000 000 flows a second",
      value: (measured) => 1e3 / measured["Deno"]!.median,
      limit: 1,
      atLeast: true,
      unit: " M/s",
    }],
  },
  {
    id: "ud_round",
    title: "UD round: post both, 2 completions",
    stage: 2,
    entries: all("ud_round"),
    goals: [atMostTimesC(1.15), fasterThan(2.5, "pyverbs")],
  },
  {
    id: "ud_messages",
    title: "UD in lists of 32, a message",
    stage: 2,
    entries: all("ud_messages"),
    goals: [{
      text: "0.9 of C's messages a second",
      value: (measured) => measured["C"]!.median / measured["Deno"]!.median,
      limit: 0.9,
      atLeast: true,
      unit: " x",
    }],
  },
  {
    id: "ud_pingpong",
    title: "ud_pingpong, 1024 bytes, an iteration",
    stage: 2,
    entries: [pair("c", "C"), pair("deno", "Deno")],
    goals: [atMostTimesC(1.2)],
    count: (quick) => quick ? 2_000 : 4_000,
    note: "the same program at both ends",
  },
  {
    id: "wake_up",
    title: "wake-up after an event",
    stage: 2,
    entries: [c("wake_up"), deno("wake_up"), deno("wake_up_floor", "Deno's floor")],
    goals: [{
      text: "at most 2 times C or Deno's floor",
      value: ({ Deno, C, "Deno's floor": floor }) =>
        Deno!.median / Math.max(C!.median, floor!.median),
      limit: 2,
      atLeast: false,
      unit: " x",
    }],
    count: (quick) => quick ? 50 : 200,
    note: "the floor is a nonblocking call of poll(2), and nothing else",
  },
  {
    id: "reply_10",
    title: "reply to one of 10 known peers",
    stage: 2,
    entries: [c("reply_10"), deno("reply_10")],
    goals: [fasterThan(50, "C")],
    note: "C: ibv_create_ah_from_wc and ibv_destroy_ah; Deno: ReplyPath",
  },
  {
    id: "reply_10000",
    title: "reply to one of 10 000 known peers",
    stage: 2,
    entries: [c("reply_10000"), deno("reply_10000")],
    goals: [fasterThan(50, "C"), flat("reply_10")],
  },
  {
    id: "attributes_first",
    title: "reply attributes, 1 GID in the table",
    stage: 2,
    entries: [c("attributes_first"), deno("attributes_first")],
    goals: [fasterThan(10, "C")],
    prepare: "oneGid",
    note: "C: ibv_init_ah_from_wc; Deno: ReplyPath",
  },
  {
    id: "attributes_last",
    title: "reply attributes, the last of 200 GIDs",
    stage: 2,
    entries: [c("attributes_last"), deno("attributes_last")],
    goals: [fasterThan(10, "C"), flat("attributes_first")],
    prepare: "manyGids",
  },
];
