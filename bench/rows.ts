/** All rows. */

import { inGuest, type Name, native } from "./contender.ts";
import { figureOf, type Round } from "./measurement.ts";
import { type Exchange, pair } from "./pairs.ts";
import { atMost, type Entry, fasterThan, type Goal, missed, type Row } from "./row.ts";
import { POLLING, SHM } from "./shm_rows.ts";
import { bareStart, firstReply } from "./starts.ts";

const NAMES: readonly Name[] = ["C", "Deno", "pyverbs"];
const QUIET = "C, no events";

/** A row of call overhead. */
function call(
  round: string,
  row: Omit<Row, "stage" | "entries">,
  ...others: readonly Entry[]
): Row {
  const entries = [...NAMES.map((name) => native(name, round)), ...others];
  return { ...row, stage: "native", entries };
}

const NATIVE: readonly Row[] = [
  call("poll_empty", {
    id: "poll_empty",
    title: "ibv_poll_cq, empty queue",
    count: 4_000_000,
    goals: [fasterThan(2, "pyverbs")],
    note: "ffi/thunks/thunk.ts",
  }),
  call("post_send", {
    id: "post_send",
    title: "ibv_post_send, one unchanged request",
    count: 4_000_000,
    goals: [fasterThan(2, "pyverbs")],
    note: "types/work/native_list.ts",
  }),
  call("changed", {
    id: "changed",
    title: "32 changed, 32 handles, posted and polled, a message",
    count: 1_280_000,
    goals: [atMost(16, "C"), fasterThan(8, "pyverbs")].map((goal) =>
      missed(
        goal,
        "each setter checks its arguments, and V8 each index; tried, and kept: setters that V8 puts into " +
          "their callers, and a field of its own for the list",
      )
    ),
    note: "types/work/requests.ts; set in each: handle, remote queue pair and qkey",
  }),
  call("answer", {
    id: "answer_32",
    title: "answer to 32 known peers, lists of 32",
    count: 640_000,
    goals: [missed(atMost(3, "C"), "V8 checks the index of each field: 40 bytes of a header")],
    note: "types/reply/reply_path.ts; C: a hash table by the header, and an event read a poll",
  }, native("C", "answer_no_events", QUIET)),
  call("answer_one", {
    id: "answer_one",
    title: "answer one at a time",
    count: 40_000,
    goals: [fasterThan(1, "pyverbs")],
    note: "wait/events.ts; pyverbs reads no events",
  }, native("C", "answer_one_no_events", QUIET)),
];

/** A row of work in one process of the guest. */
function work(round: string, row: Omit<Row, "id" | "stage" | "entries">): Row {
  return { id: round, stage: "rxe", entries: NAMES.map((name) => inGuest(name, round)), ...row };
}

const GUEST: Exchange = { inGuest: true, isKept: true };

const RXE: readonly Row[] = [
  {
    id: "rxe_echo",
    title: "UD echo by events",
    stage: "rxe",
    count: 300,
    entries: [
      pair("C", ["c", "ud_events"], GUEST),
      pair("Deno", ["deno", "net_ud"], GUEST),
      pair("pyverbs", ["python", "ud_events"], GUEST),
      pair("Deno.listenDatagram", ["deno", "datagram"], GUEST),
    ],
    goals: [],
    note:
      "net/ud/ud_conn.ts; Deno: net; it shows that messages pass on the kernel's RDMA, and judges nothing",
  },
  {
    id: "cm_connect",
    title: "a connection by name, from connect to established",
    stage: "rxe",
    count: 30,
    entries: [pair("C", ["c", "cm"], GUEST), pair("Deno", ["deno", "cm"], GUEST)],
    goals: [
      missed(
        atMost(3, "C"),
        "three waits one after the other, each a call on another thread, and a turn of the event loop",
      ),
    ],
    note: "types/cm/cm_id.ts; the route is known, and both ends have made their queue pairs",
  },
  work("make_ah", {
    title: "address handle, made and destroyed",
    count: 500,
    goals: [atMost(1, "pyverbs")],
    note: "types/address_handle/address_handle.ts",
  }),
  work("make_qp", {
    title: "queue pair, made and destroyed",
    count: 200,
    goals: [missed(atMost(1, "pyverbs"), "JavaScript reads and checks the attributes")],
    note: "types/queue_pair/queue_pair.ts",
  }),
];

/** What a library adds to the start of its language. */
function added(round: Round, who: string, bare: string): number {
  return figureOf(round, who) - figureOf(round, bare);
}

const COMPILING =
  "what is left is mostly V8, which compiles a function when it is first called; tried: layouts as " +
  "texts (7 ms less), verbs that are called through pointers at first (40 ms less), both of which are here, " +
  "and parentheses around functions, which V8 then compiles ahead (2 ms less)";

const COLD: readonly Row[] = [{
  id: "first_reply",
  title: "process start to first reply",
  stage: "cold",
  count: 1,
  entries: [...NAMES.map(firstReply), bareStart("bare Deno"), bareStart("bare Python")],
  goals: [missed({
    text: "adds at most 1 x what pyverbs adds",
    value: (round) => added(round, "Deno", "bare Deno") / added(round, "pyverbs", "bare Python"),
    limit: 1,
  }, COMPILING)],
  note: "ffi/thunks/image.ts; bare: an empty program; Deno: the package as it is published",
}];

/** The rows of the table, in its order. */
export const ROWS: readonly Row[] = [...SHM, ...NATIVE, ...RXE, ...COLD];

/** A row of the README. */
export interface Summary {
  readonly id: string;
  /** That of the row, if it is left out. */
  readonly title?: string;
  /** The contender of this library: "Deno", if it is left out. */
  readonly library?: string;
}

/** Messages by verbs and by net, single calls, and the start of a program. */
export const SUMMARY: readonly Summary[] = [
  { id: "echo", title: "datagram and answer, verbs", library: POLLING },
  { id: "echo", title: "datagram and answer, net" },
  { id: "sleep" },
  ...["call", "window", "relay", "stream_64k"].map((id) => ({ id })),
  ...["poll_empty", "post_send", "changed", "answer_32"].map((id) => ({ id })),
  { id: "first_reply" },
];

/** A row with the old package beside the new one. */
export function withOld(row: Row): Row {
  return { ...row, entries: [...row.entries, ...row.entries.flatMap(({ old }) => old ?? [])] };
}

/** Who was measured with an old package too, under which name, and the goal that it got no slower. */
export function goalsBesideOld({ entries }: Row): { who: string; old: string; goal: Goal }[] {
  return entries.flatMap(({ who, old }) =>
    old === undefined ? [] : [{ who, old: old.who, goal: atMost(1.05, old.who, who) }]
  );
}
