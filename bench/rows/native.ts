/** Rows of call overhead, on the host with a provider that does nothing. */

import { atMost, c, deno, fasterThan, missed, pyverbs } from "./make.ts";
import type { ProcessEntry, StageRow } from "./types.ts";

/** An exported function of three arguments that does nothing: as many arguments as ibv_poll_cq and ibv_post_send have. */
const FLOOR = "floor";

function floor(): ProcessEntry {
  return deno("exported", FLOOR);
}

const CALLS: readonly StageRow[] = [
  {
    id: "floor",
    title: "exported no-op, the floor of any call",
    decision: "ffi/library/fast.ts",
    entries: [c("exported"), deno("exported")],
    note: "three arguments; by Deno.dlopen",
  },
  {
    id: "poll_empty",
    title: "ibv_poll_cq, empty queue",
    decision: "ffi/thunks/thunk.ts",
    entries: [
      ...[c("poll_empty"), deno("poll_empty"), pyverbs("poll_empty"), floor()],
      deno("poll_empty_slow", "no thunks"),
    ],
    goals: [atMost(2, FLOOR)],
    note: "no thunks: by Deno.UnsafeFnPointer",
  },
  {
    id: "post_send",
    title: "ibv_post_send, one unchanged request",
    decision: "types/work/native_list.ts",
    entries: [c("post_send"), deno("post_send"), pyverbs("post_send"), floor()],
    goals: [atMost(2.5, FLOOR)],
  },
];

const READS = "V8 checks the index of each field that is read or written";

const LISTS: readonly StageRow[] = [
  {
    id: "unchanged",
    title: "32 unchanged, posted and polled, a message",
    decision: "types/completion/work_completions.ts",
    entries: [
      ...[c("post_poll"), deno("post_poll"), deno("post_poll_bigint", "Deno, BigInt")],
      pyverbs("post_poll"),
    ],
    goals: [missed(atMost(5, "C"), READS)],
    note: "status and the lower word of wr_id read; BigInt: the whole wr_id",
  },
  {
    id: "changed",
    title: "32 changed, 32 handles, posted and polled, a message",
    decision: "types/work/requests.ts",
    entries: [
      ...[c("changed:32"), deno("changed:32"), deno("changed_bigint:32", "Deno, BigInt")],
      pyverbs("changed:32"),
    ],
    goals: [atMost(16, "C"), fasterThan(8, "pyverbs")],
    note: "handle, remote queue pair and qkey set in each request",
  },
];

const UNCACHED = "C, uncached";
const QUIET = "C, no events";
const FEW = "Deno, 32 peers";

const ANSWERS: readonly StageRow[] = [
  {
    id: "answer_32",
    title: "answer to 32 known peers, lists of 32",
    decision: "types/reply/reply_path.ts",
    entries: [
      ...[c("answer:32"), c("answer_no_events:32", QUIET), c("answer_uncached:32", UNCACHED)],
      ...[deno("answer:32"), pyverbs("answer")],
    ],
    goals: [missed(atMost(3, "C"), `${READS}: 40 bytes of header for each message`)],
    note: "C: a hash table by ibv_ah_attr, and an event read a poll",
  },
  {
    id: "answer_100000",
    title: "answer to 100 000 known peers",
    decision: "types/reply/word_cache.ts",
    entries: [
      ...[c("answer:100000"), c("answer_uncached:100000", UNCACHED), deno("answer:100000")],
      deno("answer:32", FEW),
    ],
    goals: [
      missed(atMost(1.2, FEW), "the table is larger than the processor's caches, in C too"),
    ],
  },
  {
    id: "answer_one",
    title: "answer one at a time",
    decision: "types/device/event_source.ts",
    entries: [
      ...[c("answer_one:32"), c("answer_one_no_events:32", QUIET)],
      ...[deno("answer_one:32"), pyverbs("answer_one")],
    ],
    goals: [missed(atMost(1.7, "C"), "three calls for one message, and the checks of each")],
    note: "an event read for each by C and Deno; C, no events: without",
  },
];

const OBJECTS: readonly StageRow[] = [
  {
    id: "object",
    title: "postSend({...}) and poll(1)",
    decision: "types/work/posting.ts",
    entries: [c("object"), deno("object"), pyverbs("object")],
    goals: [
      missed(fasterThan(15, "pyverbs"), "each attribute of the object is checked before the call"),
    ],
  },
  {
    id: "poll_objects",
    title: "poll(32) as objects, a completion",
    decision: "types/completion/work_completion.ts",
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
    decision: "types/completion/completions.ts",
    entries: [c("poll_list"), deno("iterate"), deno("poll_objects", "poll(32)")],
    goals: [missed(atMost(2.5, "poll(32)"), "for await makes promises also where none waits")],
  },
];

const BLOCKING = "Deno, blocking";
const COLD =
  "after a sleep the caches are cold, and V8's code is larger; a time limit takes a poll(2)";

const WAKING: readonly StageRow[] = [
  {
    id: "wake_up",
    title: "wake-up after an event, and processor time of an event",
    decision: "types/completion/cq_sleep.ts",
    entries: [
      ...[c("wake_up"), deno("wake_up_sync", BLOCKING), deno("wake_up"), pyverbs("wake_up")],
    ],
    goals: [
      missed(atMost(1.3, "C", { who: BLOCKING }), COLD),
      missed(atMost(1.3, "C", { who: BLOCKING, figure: "processor" }), COLD),
    ],
    count: 4000,
    note: "blocking: waitSync(); Deno: completions(); the second half counts",
  },
];

export const NATIVE: readonly StageRow[] = [
  ...[...CALLS, ...LISTS, ...ANSWERS, ...OBJECTS, ...WAKING],
];
