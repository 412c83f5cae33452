/** Rows of work on soft-RoCE, in the guest. */

import type { Need } from "../../rxe/host/packages.ts";
import {
  cmtime,
  connection,
  idling,
  left,
  named,
  type Options,
  receiving,
  waking,
  work,
} from "../guest/entries.ts";
import { addPeers } from "../guest/gids.ts";
import type { Test } from "../guest/perftest.ts";
import { figureOf } from "../measurement.ts";
import { atLeast, atMost, atMostValue, c, deno, fasterThan } from "./make.ts";
import type { FunctionEntry, Program, StageRow } from "./types.ts";

/** Packages that these rows need beside those of ../main.ts. */
export const RXE_NEEDS: readonly Need[] = [
  { package: "perftest", file: "/usr/bin/ib_send_lat", reason: "a contender" },
  { package: "rdmacm-utils", file: "/usr/bin/cmtime", reason: "a contender" },
];

/** Programs that are compiled for these rows, by the name that {@linkcode Task.programs} gives them. */
export const RXE_PROGRAMS: Readonly<Record<string, Program>> = {
  guest: { source: "guest/c/contender.c", flags: ["-libverbs"] },
  sender: { source: "guest/c/sender.c", flags: ["-libverbs"] },
};

/** All three contenders do the same work. */
function three(round: string, options: Options = {}): FunctionEntry[] {
  return [work("c", round, options), work("deno", round, options), work("python", round, options)];
}

function tested(
  id: string,
  title: string,
  test: Omit<Test, "count">,
  [count, quickCount]: readonly [number, number],
): StageRow {
  const isBandwidth = test.name === "write_bw";
  return {
    id,
    title,
    entries: [connection("c", test), connection("deno", test), connection("python", test)],
    goals: [isBandwidth ? atLeast(0.95, "C") : atMost(1.15, "C")],
    count: (quick) => quick ? quickCount : count,
    ...isBandwidth ? { unit: "bytes/s" } : {},
    note: `C: ib_${test.name} of perftest, with the same options`,
  };
}

const LATENCY = { size: 64, depth: 1, moderation: 1 };

const CONNECTIONS: readonly StageRow[] = [
  tested("rc_send_lat", "RC send, 64 bytes, latency", { name: "send_lat", ...LATENCY }, [
    1000,
    300,
  ]),
  tested("rc_write_lat", "RC write, 64 bytes, latency", { name: "write_lat", ...LATENCY }, [
    1000,
    300,
  ]),
  tested(
    "rc_write_4k",
    "RC write, 4 KiB, bandwidth",
    { name: "write_bw", size: 4096, depth: 128, moderation: 100 },
    [2000, 500],
  ),
  tested(
    "rc_write_1m",
    "RC write, 1 MiB, bandwidth",
    { name: "write_bw", size: 1024 * 1024, depth: 16, moderation: 1 },
    [30, 8],
  ),
];

/** Kinds of objects, and how many of them a round makes and destroys. */
const OBJECTS: readonly (readonly [kind: string, title: string, count: number])[] = [
  ["ah", "address handle", 500],
  ["mr_4k", "memory region of 4 KiB", 500],
  ["mr_1m", "memory region of 1 MiB", 100],
  ["mr_16m", "memory region of 16 MiB", 20],
  ["mr_256m", "memory region of 256 MiB", 3],
  ["cq", "completion queue", 500],
  ["qp", "queue pair", 200],
];

const BLOCKING = "Deno, blocking";

const LIFETIMES: readonly StageRow[] = OBJECTS.map(([kind, title, count]) => ({
  id: `make_${kind}`,
  title: `${title}, made and destroyed`,
  entries: three(`make_${kind}`, { whole: count < 10 }),
  goals: [atMost(1.2, "C")],
  count: (quick) => quick ? Math.ceil(count / 4) : count,
}));

export const RXE: readonly StageRow[] = [
  {
    id: "ud_round",
    title: "UD round: post both, 2 completions",
    entries: three("ud_round"),
    goals: [atMost(1.1, "C"), fasterThan(2.5, "pyverbs")],
    count: (quick) => quick ? 1000 : 4000,
  },
  {
    id: "ud_list",
    title: "UD in lists of 32, a message",
    entries: three("ud_list"),
    goals: [atMost(1.1, "C")],
    count: (quick) => quick ? 1280 : 6400,
  },
  {
    id: "ud_single",
    title: "UD rounds one by one",
    entries: three("ud_single", { whole: true }),
    goals: [atMost(1.3, "C", { figure: "p99" })],
    count: (quick) => quick ? 1000 : 5000,
    note: "the value is the median; the time of the clock is in it",
  },
  ...CONNECTIONS,
  {
    id: "cm_connect",
    title: "connections by name, 20 at the same time, a connection",
    entries: [cmtime(), named("connect", undefined, 1)],
    goals: [atMost(1.3, "C")],
    count: () => 20,
    note: "from connect to established; C: cmtime of rdma-core",
  },
  {
    id: "net_call",
    title: "64 bytes and their answer by the net module, by name",
    entries: [named("call_tcp", "TCP"), named("call")],
    reference: "TCP",
    count: (quick) => quick ? 300 : 1000,
    note: "TCP: Deno.connect; two processes",
  },
  {
    id: "rxe_wake_up",
    title: "wake-up after an event",
    entries: [
      waking("c", "serve"),
      waking("deno", "serve_sync", BLOCKING),
      waking("deno", "serve"),
      waking("deno", "serve_bare", "Deno's floor"),
      waking("python", "serve"),
    ],
    goals: [atMost(1.3, "C", { who: BLOCKING }), atMost(1.2, "Deno's floor")],
    count: (quick) => quick ? 50 : 200,
    note: "blocking: waitSync(); Deno: completions(); the floor: a nonblocking poll(2), no more",
  },
  {
    id: "idle",
    title: "processor time of 1 s without messages",
    entries: [idling("c"), idling("deno"), idling("python")],
    goals: [atMostValue(0, "ns", (round) => figureOf(round, "Deno"))],
    rounds: 6,
  },
  {
    id: "busy",
    title: "processor time of 1 s, 1 000 messages",
    entries: [
      receiving("c", "serve"),
      receiving("deno", "serve_sync", BLOCKING),
      receiving("deno", "serve"),
      receiving("python", "serve"),
    ],
    goals: [atMost(1.3, "C", { who: BLOCKING })],
    count: (quick) => quick ? 300 : 1000,
    rounds: 6,
  },
  ...LIFETIMES,
  {
    id: "growth",
    title: "left behind by cycles of all objects",
    entries: [left("deno", "growth")],
    goals: [
      atMostValue(0.02, "MB", (round) => figureOf(round, "Deno") / 1e6),
      atMostValue(0.2, "MB", (round) => figureOf(round, "Deno", "resident") / 1e6, {
        figure: "resident",
      }),
    ],
    // 10 000 in all rounds
    count: (quick) => quick ? 170 : 1700,
    rounds: 6,
    unit: "bytes",
    note: "a cycle makes and destroys an address handle, a memory region, a queue and a queue pair",
  },
  {
    id: "attributes_first",
    title: "reply attributes, 1 GID in the table",
    entries: [c("attributes_first"), deno("attributes_first")],
    goals: [fasterThan(10, "C")],
    prepare: "oneGid",
    note: "C: ibv_init_ah_from_wc; Deno: ReplyPath",
  },
  {
    id: "attributes_last",
    title: "reply attributes, the last of 200 GIDs",
    entries: [
      c("attributes_last"),
      deno("attributes_last"),
      deno("attributes_first", "Deno, first GID"),
    ],
    goals: [fasterThan(10, "C"), atMost(1.5, "Deno, first GID")],
    prepare: "manyGids",
  },
  {
    id: "reply_unknown",
    title: "handle for an unknown peer",
    entries: [c("reply_unknown"), deno("reply_unknown")],
    goals: [atMost(1, "C")],
    note:
      "C: ibv_create_ah_from_wc and ibv_destroy_ah; Deno: ReplyPath, which forgets another peer",
  },
  {
    id: "reply_loop",
    title: "32 messages of 32 peers answered, a message",
    entries: [
      work("c", "reply_cached", { prepare: addPeers }),
      work("c", "reply_uncached", { prepare: addPeers, who: "C, uncached" }),
      work("deno", "reply_cached", { prepare: addPeers }),
    ],
    goals: [atMost(1.1, "C")],
    count: (quick) => quick ? 640 : 1280,
    note:
      "C: a hash cache by ibv_ah_attr, and an event read a poll; uncached, a handle for each message",
  },
  {
    id: "net_echo",
    title: "echo of a datagram by the net module",
    entries: [
      work("deno", "echo", { prepare: addPeers, who: "verbs" }),
      work("deno", "net_echo", { prepare: addPeers }),
    ],
    reference: "verbs",
    goals: [atMost(1.5, "verbs")],
    count: (quick) => quick ? 500 : 2000,
    note: "verbs: prepared requests and ReplyPath; both ends in one process",
  },
];
