/** Rows of call overhead, on the host with a provider that does nothing. */

import { collections } from "../garbage.ts";
import { figureOf } from "../measurement.ts";
import { atMost, atMostValue, c, deno, fasterThan, pyverbs } from "./make.ts";
import type { FunctionEntry, Goal, ProcessEntry, StageRow } from "./types.ts";

/** An exported function of three arguments that does nothing: as many arguments as ibv_poll_cq and ibv_post_send have. */
const FLOOR = "floor";

function floor(): ProcessEntry {
  return deno("exported:3", FLOOR);
}

const CALLS: readonly StageRow[] = [
  {
    id: "floor",
    title: "exported no-op, the floor of any call",
    entries: [
      c("exported", "C, 3 arguments"),
      deno("exported:0", "Deno, 0 arguments"),
      deno("exported:3", "Deno, 3 arguments"),
    ],
    reference: "C, 3 arguments",
    note: "by Deno.dlopen",
  },
  {
    id: "poll_empty",
    title: "ibv_poll_cq, empty queue",
    entries: [
      ...[c("poll_empty"), deno("poll_empty:1"), pyverbs("poll_empty"), floor()],
      deno("poll_empty_slow", "no thunks"),
    ],
    goals: [atMost(2, FLOOR)],
    note: "no thunks: by Deno.UnsafeFnPointer",
  },
  {
    id: "post_send",
    title: "ibv_post_send, one unchanged request",
    entries: [c("post_send"), deno("post_send"), pyverbs("post_send"), floor()],
    goals: [atMost(2.5, FLOOR)],
  },
];

const LISTS: readonly StageRow[] = [
  {
    id: "unchanged",
    title: "32 unchanged, posted and polled, a message",
    entries: [
      ...[c("post_poll"), deno("post_poll"), deno("post_poll_bigint", "Deno, BigInt")],
      pyverbs("post_poll"),
    ],
    goals: [atMost(5, "C")],
    note: "status and the lower word of wr_id read; BigInt: the whole wr_id",
  },
  {
    id: "changed",
    title: "32 changed, 32 handles, posted and polled, a message",
    entries: [
      ...[c("changed:32"), deno("changed:32"), deno("changed_bigint:32", "Deno, BigInt")],
      pyverbs("changed:32"),
    ],
    goals: [atMost(16, "C"), fasterThan(8, "pyverbs")],
    note: "handle, remote queue pair and qkey set in each request",
  },
  {
    id: "changed_one",
    title: "1 changed, posted and polled",
    entries: [c("changed:1"), deno("changed:1"), pyverbs("changed:1")],
    goals: [atMost(7, "C")],
  },
];

const UNCACHED = "C, uncached";
const QUIET = "C, no events";
const FEW = "Deno, 32 peers";

const ANSWERS: readonly StageRow[] = [
  {
    id: "answer_32",
    title: "answer to 32 known peers, lists of 32",
    entries: [
      ...[c("answer:32"), c("answer_no_events:32", QUIET), c("answer_uncached:32", UNCACHED)],
      ...[deno("answer:32"), pyverbs("answer")],
    ],
    goals: [atMost(3, "C")],
    note: "C: a hash table by ibv_ah_attr, and an event read a poll",
  },
  {
    id: "answer_10000",
    title: "answer to 10 000 known peers",
    entries: [
      ...[c("answer:10000"), c("answer_uncached:10000", UNCACHED), deno("answer:10000")],
      deno("answer:32", FEW),
    ],
    goals: [atMost(1.2, FEW)],
  },
  {
    id: "answer_100000",
    title: "answer to 100 000 known peers, uniform",
    entries: [
      ...[c("answer:100000"), c("answer_uncached:100000", UNCACHED), deno("answer:100000")],
      deno("answer:32", FEW),
    ],
    goals: [atMost(1.2, FEW)],
  },
  {
    id: "answer_zipf",
    title: "answer to 100 000 known peers, Zipf",
    entries: [c("answer_zipf:100000"), deno("answer_zipf:100000"), deno("answer:32", FEW)],
    goals: [atMost(1.2, FEW)],
  },
  {
    id: "answer_one",
    title: "answer one at a time",
    entries: [
      ...[c("answer_one:32"), c("answer_one_no_events:32", QUIET)],
      ...[deno("answer_one:32"), pyverbs("answer_one")],
    ],
    goals: [atMost(1.7, "C")],
    note: "an event read for each by C and Deno; C, no events: without",
  },
];

const OBJECTS: readonly StageRow[] = [
  {
    id: "object",
    title: "postSend({...}) and poll(1)",
    entries: [c("object"), deno("object"), pyverbs("object")],
    goals: [fasterThan(15, "pyverbs")],
  },
  {
    id: "poll_objects",
    title: "poll(32) as objects, a completion",
    entries: [
      ...[c("poll_list"), deno("poll_objects"), pyverbs("poll_list_ex")],
      pyverbs("poll_objects", "pyverbs, poll"),
    ],
    goals: [fasterThan(1.7, "pyverbs")],
    note: "pyverbs: CQEX, which makes no objects",
  },
  {
    id: "iterate",
    title: "for await, busy, a completion",
    entries: [c("poll_list"), deno("iterate"), deno("poll_objects", "poll(32)")],
    goals: [atMost(2.5, "poll(32)")],
  },
];

const ONE_PAIR = "Deno, 1 queue pair";

function pairs(count: number, goals: readonly Goal[] = []): StageRow {
  return {
    id: `queue_pairs_${count}`,
    title: `${count} queue pairs on one queue, a completion`,
    entries: [
      ...[c(`queue_pairs:${count}`), deno(`queue_pairs:${count}`)],
      deno("queue_pairs:1", ONE_PAIR),
    ],
    goals,
  };
}

const QUEUE_PAIRS: readonly StageRow[] = [
  pairs(10),
  pairs(100),
  pairs(1000, [atMost(2, ONE_PAIR)]),
  {
    id: "poll_empty_1000",
    title: "ibv_poll_cq, empty queue of 1000 queue pairs",
    entries: [c("poll_empty"), deno("poll_empty:1000"), deno("poll_empty:1", ONE_PAIR)],
    goals: [atMost(1.1, ONE_PAIR)],
  },
];

const NEWER_VERBS: readonly StageRow[] = [
  {
    id: "poll_empty_ex",
    title: "ibv_start_poll, empty queue",
    entries: [
      ...[c("poll_empty_ex"), deno("poll_empty_ex"), pyverbs("poll_empty")],
      deno("poll_empty:1", "Deno, ibv_poll_cq"),
    ],
  },
  {
    id: "poll_ex",
    title: "ibv_start_poll, 31 ibv_next_poll, a completion",
    entries: [
      ...[c("poll_list_ex"), deno("poll_list_ex"), pyverbs("poll_list_ex")],
      ...[c("poll_list", "C, ibv_poll_cq"), deno("poll_list", "Deno, ibv_poll_cq")],
    ],
    note: "opcode, flags, length and queue pairs read too; pyverbs: status and wr_id only",
  },
  {
    id: "build",
    title: "32 by ibv_wr_send, posted and polled, a message",
    entries: [
      ...[c("build:32"), deno("build:32"), pyverbs("build:32")],
      ...[c("changed:32", "C, ibv_post_send"), deno("changed:32", "Deno, ibv_post_send")],
    ],
    note: "Deno's builder checks each request as postSend does",
  },
];

function garbage(who: string, round: string): FunctionEntry {
  return {
    who,
    measure: async ({ programs }) => await collections(programs, round),
  };
}

function atMostCollections(who: string, limit: number): Goal {
  return atMostValue(limit, "scavenges", (round) => figureOf(round, who), { who });
}

const BLOCKING = "Deno, blocking";

const TIME_AND_GARBAGE: readonly StageRow[] = [
  {
    id: "wake_up",
    title: "wake-up after an event, and processor time of an event",
    entries: [
      ...[c("wake_up"), deno("wake_up_sync", BLOCKING), deno("wake_up"), pyverbs("wake_up")],
    ],
    goals: [
      atMost(1.3, "C", { who: BLOCKING }),
      atMost(1.3, "C", { who: BLOCKING, figure: "processor" }),
    ],
    count: (quick) => quick ? 200 : 800,
    note: "blocking: waitSync(); Deno: completions(); the second half counts",
  },
  {
    id: "iteration",
    title: "iterations of 32 changed over 10 s, one iteration",
    entries: [c("iteration"), deno("iteration")],
    goals: [
      { ...atMost(12, "C"), text: "p50: at most 12 x C" },
      atMost(15, "C", { figure: "p99" }),
      atMost(25, "C", { figure: "p99.9" }),
    ],
    count: (quick) => quick ? 1 : 10,
    rounds: 6,
    note: "the value is p50; the first second is not counted",
  },
  {
    id: "scavenges",
    title: "scavenges, 1 000 000 messages",
    entries: [
      garbage("low word", "post_poll"),
      garbage("BigInt", "post_poll_bigint"),
      garbage("objects", "object"),
      garbage("for await", "iterate"),
    ],
    goals: [
      atMostCollections("low word", 0),
      atMostCollections("BigInt", 16),
      atMostCollections("objects", 200),
      atMostCollections("for await", 100),
    ],
    rounds: 6,
    unit: "collections",
  },
  {
    id: "heap",
    title: "heap growth, 1 000 000 messages",
    entries: [deno("heap")],
    goals: [atMostValue(1, "MB", (round) => figureOf(round, "Deno") / 1e6)],
    count: () => 1_000_000,
    unit: "bytes",
  },
  {
    id: "prediction",
    title: "RSS queue of a flow predicted",
    entries: [deno("prediction")],
    goals: [atMostValue(1000, "ns", (round) => figureOf(round, "Deno"))],
  },
];

export const NATIVE: readonly StageRow[] = [
  ...CALLS,
  ...LISTS,
  ...ANSWERS,
  ...OBJECTS,
  ...QUEUE_PAIRS,
  ...NEWER_VERBS,
  ...TIME_AND_GARBAGE,
];
