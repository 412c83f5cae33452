/** All rows. */

import { inGuest, type Name, native } from "./contender.ts";
import { figureOf, type Round } from "./measurement.ts";
import { busy, idle, pair } from "./pairs.ts";
import { atMost, atMostMs, type Entry, fasterThan, type Goal, missed, type Row } from "./row.ts";
import { bareStart, firstReply } from "./starts.ts";

const NAMES: readonly Name[] = ["C", "Deno", "pyverbs"];
const OLD = "Deno, old";
const QUIET = "C, no events";

/** A row of call overhead. */
function call(
  round: string,
  row: Omit<Row, "stage" | "entries" | "old">,
  ...others: readonly Entry[]
): Row {
  const entries = [...NAMES.map((name) => native(name, round)), ...others];
  return { ...row, stage: "native", entries, old: native(OLD, round) };
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
    goals: [atMost(16, "C"), fasterThan(8, "pyverbs")],
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
    note: "types/device/event_source.ts; pyverbs reads no events",
  }, native("C", "answer_one_no_events", QUIET)),
];

/** A row of work in one process of the guest. */
function work(round: string, row: Omit<Row, "id" | "stage" | "entries">): Row {
  return { id: round, stage: "rxe", entries: NAMES.map((name) => inGuest(name, round)), ...row };
}

/** A row of two processes, each on a processor of its own. */
function ends(row: Omit<Row, "stage">): Row {
  return { stage: "rxe", ...row };
}

const SYNC = "Deno, waitSync";
const COMPLETIONS = "Deno, completions()";
const DENO_UDP = "Deno.listenDatagram";
const THREAD = "a wait is a call on another thread, and a turn of the event loop";
const BY_EVENTS = "C, pyverbs: verbs by events; Deno: net; the others: sockets on loopback";

/** Echoes by the net module, and by what else there is. */
function echoes(id: string, title: string, window: number, goals: readonly Goal[]): Row {
  const entries = [
    pair("C", "c", "ud_events", window),
    pair("C, polling", "c", "ud_polling", window),
    pair("Deno", "deno", "net_ud", window),
    pair("pyverbs", "python", "ud_events", window),
    pair(DENO_UDP, "deno", "datagram", window),
    pair("node:dgram", "deno", "dgram", window),
  ];
  const note = `net/ud/ud_conn.ts; ${BY_EVENTS}`;
  return ends({ id, title, count: 290 + 10 * window, entries, goals, note });
}

const RXE: readonly Row[] = [
  work("ud_round", {
    title: "UD round: post both, 2 completions",
    count: 4000,
    goals: [atMost(1.1, "C"), fasterThan(2.5, "pyverbs")],
    note: "types/completion/cq_core.ts",
    old: inGuest(OLD, "ud_round"),
  }),
  ends({
    id: "rc_send_lat",
    title: "RC send, 64 bytes, polling, a round trip",
    count: 300,
    entries: [
      pair("C", "c", "rc_polling"),
      pair("Deno", "deno", "rc_polling"),
      pair("pyverbs", "python", "rc_polling"),
    ],
    goals: [atMost(1.15, "C")],
    note: "types/completion/cq_core.ts",
  }),
  ends({
    id: "wake_up",
    title: "UD echo by events",
    count: 300,
    entries: [
      pair("C", "c", "ud_events"),
      pair("C, polling", "c", "ud_polling"),
      pair("Deno", "deno", "ud_events"),
      pair(SYNC, "deno", "ud_sync"),
      pair("pyverbs", "python", "ud_events"),
    ],
    goals: [missed(atMost(1.2, "C"), THREAD), atMost(1.3, "C", SYNC)],
    note: "types/completion/cq_sleep.ts; Deno: completions()",
  }),
  echoes("net_echo", "echo of one datagram", 1, [
    atMost(1, DENO_UDP),
    missed(atMost(1.2, "C"), THREAD),
  ]),
  echoes("net_udp", "echo of 32 datagrams at a time, a datagram", 32, [
    missed(fasterThan(3, DENO_UDP), "no part of it stands out: JavaScript of many short functions"),
  ]),
  ends({
    id: "net_call",
    title: "a call and its answer over RC",
    count: 300,
    entries: [
      pair("C", "c", "rc_events"),
      pair("C, polling", "c", "rc_polling"),
      pair("Deno", "deno", "net_rc"),
      pair("pyverbs", "python", "rc_events"),
      pair("Deno.connect", "deno", "tcp"),
    ],
    goals: [],
    note: `net/rc/rc_conn.ts; ${BY_EVENTS}`,
  }),
  ends({
    id: "cm_connect",
    title: "a connection by name, from connect to established",
    count: 30,
    entries: [pair("C", "c", "cm"), pair("Deno", "deno", "cm")],
    goals: [missed(atMost(3, "C"), `${THREAD}: three of them one after the other`)],
    note: "types/cm/cm_id.ts; the route is known, and both ends have made their queue pairs",
  }),
  ends({
    id: "idle",
    title: "processor time of a server that waits for 10 s",
    count: 1,
    entries: [
      idle("Deno", ["deno", "net_ud"]),
      idle("Deno, RC", ["deno", "net_rc"], ["deno", "net_rc"]),
      idle(COMPLETIONS, ["deno", "ud_events"]),
      idle("pyverbs", ["python", "ud_events"]),
    ],
    goals: [
      atMostMs(10),
      missed(atMostMs(10, "Deno, RC"), "RC looks each second whether the peer is there"),
      atMostMs(10, COMPLETIONS),
    ],
    note: "net/shared/pump.ts",
  }),
  ends({
    id: "busy",
    title: "processor time of a server, 1 000 messages a second, a message",
    count: 1000,
    entries: [
      busy("C", ["c", "ud_events"]),
      busy("Deno", ["deno", "net_ud"]),
      busy(COMPLETIONS, ["deno", "ud_events"]),
      busy(SYNC, ["deno", "ud_sync"]),
      busy("pyverbs", ["python", "ud_events"]),
    ],
    goals: [
      missed(atMost(1.5, "pyverbs"), THREAD),
      missed(atMost(1.5, "pyverbs", COMPLETIONS), THREAD),
    ],
    note: "ffi/fd_watcher.ts; the client is a program in C",
  }),
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

const COLD: readonly Row[] = [{
  id: "first_reply",
  title: "process start to first reply",
  stage: "cold",
  count: 1,
  entries: [...NAMES.map(firstReply), bareStart("bare Deno"), bareStart("bare Python")],
  goals: [{
    text: "adds at most 1 x what pyverbs adds",
    value: (round) => added(round, "Deno", "bare Deno") / added(round, "pyverbs", "bare Python"),
    limit: 1,
  }],
  note: "ffi/thunks/image.ts; bare: an empty program; Deno: the package as it is published",
}];

/** The rows of the table, in its order. */
export const ROWS: readonly Row[] = [...NATIVE, ...RXE, ...COLD];

/** The rows of the README: from one call to a whole program, where the library is near to C and where it is not. */
export const SUMMARY: readonly string[] = [
  ...["poll_empty", "post_send", "changed", "answer_32"],
  ...["ud_round", "rc_send_lat", "wake_up"],
  "first_reply",
];

/** A row with the old package beside the new one. */
export function withOld(row: Row): Row {
  return { ...row, entries: [...row.entries, row.old!], goals: [atMost(1.05, OLD)] };
}
