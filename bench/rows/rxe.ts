/** Rows of work on soft-RoCE, in the guest. */

import type { Need } from "../../tools/host/setup.ts";
import {
  cmtime,
  connection,
  named,
  type Options,
  receiving,
  waking,
  work,
} from "../guest/entries.ts";
import { addPeers } from "../guest/gids.ts";
import { atMost, c, deno, fasterThan, missed } from "./make.ts";
import type { FunctionEntry, Goal, Program, StageRow } from "./types.ts";

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

const BLOCKING = "Deno, blocking";

/** Kinds of objects, and how many of them a round makes and destroys. */
const OBJECTS = [
  ["ah", "address handle", 500, "types/address_handle/address_handle.ts"],
  ["qp", "queue pair", 200, "types/queue_pair/queue_pair.ts"],
] as const;

const EMULATED = "the emulated processor slows compiled JavaScript more than the kernel";

const LIFETIMES: readonly StageRow[] = OBJECTS.map(([kind, title, count, decision]) => ({
  id: `make_${kind}`,
  title: `${title}, made and destroyed`,
  decision,
  entries: three(`make_${kind}`),
  goals: [missed(atMost(1.2, "C"), `what depends on an object is kept account of; ${EMULATED}`)],
  count,
}));

const VERBS = "verbs";
const DENO_UDP = "Deno.listenDatagram";

/** Echoes by the net module, and by what else there is. The names of rounds for lists end with "_list". */
function echoes(id: string, title: string, verbs: string, list: string, goals: Goal[]): StageRow {
  const by = { prepare: addPeers };
  return {
    id,
    title,
    decision: "net/ud/ud_conn.ts",
    entries: [
      work("c", verbs, by),
      work("deno", verbs, { ...by, who: VERBS }),
      work("deno", `net_echo${list}`, by),
      work("python", verbs, by),
      work("c", `udp_echo${list}`, { who: "C, sockets" }),
      work("deno", `udp_echo${list}`, { who: DENO_UDP }),
      work("deno", `dgram_echo${list}`, { who: "node:dgram" }),
    ],
    goals,
    count: 1920,
    note: "verbs: prepared requests and ReplyPath; both ends in one process; sockets: on loopback",
  };
}

const NET_WORK =
  "the net module checks and copies each message, and the event loop runs in between";

export const RXE: readonly StageRow[] = [
  {
    id: "ud_round",
    title: "UD round: post both, 2 completions",
    decision: "types/completion/cq_core.ts",
    entries: three("ud_round"),
    goals: [atMost(1.1, "C"), fasterThan(2.5, "pyverbs")],
    count: 4000,
  },
  {
    id: "ud_list",
    title: "UD in lists of 32, a message",
    decision: "types/work/native_list.ts",
    entries: three("ud_list"),
    goals: [atMost(1.1, "C")],
    count: 6400,
  },
  {
    id: "rc_send_lat",
    title: "RC send, 64 bytes, latency",
    decision: "types/completion/cq_core.ts",
    entries: (["c", "deno", "python"] as const).map((language) => connection(language, 64)),
    goals: [atMost(1.15, "C")],
    count: 1000,
    note: "C: ib_send_lat of perftest, with the same options",
  },
  {
    id: "cm_connect",
    title: "connections by name, 20 at the same time, a connection",
    decision: "types/cm/cm_events.ts",
    entries: [cmtime(), named("connect")],
    goals: [
      missed(atMost(1.3, "C"), `of 2.5 ms of the server 0.8 ms are native calls; ${EMULATED}`),
    ],
    count: 20,
    note: "from connect to established; C: cmtime of rdma-core",
  },
  {
    id: "rxe_wake_up",
    title: "wake-up after an event, in the guest",
    decision: "types/completion/cq_sleep.ts",
    entries: [
      waking("c", "serve"),
      waking("deno", "serve_sync", BLOCKING),
      waking("deno", "serve"),
      waking("python", "serve"),
    ],
    goals: [atMost(1.3, "C", { who: BLOCKING })],
    count: 200,
    note: "blocking: waitSync(); Deno: completions()",
  },
  {
    id: "busy",
    title: "processor time of 1 s, 1 000 messages",
    decision: "ffi/fd_watcher.ts",
    entries: [
      receiving("c", "serve"),
      receiving("deno", "serve_sync", BLOCKING),
      receiving("deno", "serve"),
      receiving("python", "serve"),
    ],
    goals: [atMost(1.3, "C", { who: BLOCKING })],
    count: 1000,
  },
  ...LIFETIMES,
  {
    id: "attributes_last",
    title: "reply attributes, the last of 200 GIDs",
    decision: "types/reply/gid_cache.ts",
    entries: [
      c("attributes_last"),
      deno("attributes_last"),
      deno("attributes_first", "Deno, first GID"),
    ],
    goals: [fasterThan(10, "C"), atMost(1.5, "Deno, first GID")],
    prepare: "manyGids",
    note: "C: ibv_init_ah_from_wc; Deno: ReplyPath",
  },
  {
    id: "reply_unknown",
    title: "handle for an unknown peer",
    decision: "types/reply/peer_handles.ts",
    entries: [c("reply_unknown"), deno("reply_unknown")],
    goals: [
      missed(
        atMost(1, "C"),
        "for each message one handle is made, one is ended, and the table changes",
      ),
    ],
    note:
      "C: ibv_create_ah_from_wc and ibv_destroy_ah; Deno: ReplyPath, which forgets another peer",
  },
  {
    id: "reply_loop",
    title: "32 messages of 32 peers answered, a message",
    decision: "types/reply/peer_handles.ts",
    entries: [
      work("c", "reply_cached", { prepare: addPeers }),
      work("c", "reply_uncached", { prepare: addPeers, who: "C, uncached" }),
      work("deno", "reply_cached", { prepare: addPeers }),
    ],
    goals: [atMost(1.1, "C")],
    count: 1280,
    note:
      "C: a hash cache by ibv_ah_attr, and an event read a poll; uncached, a handle for each message",
  },
  echoes("net_echo", "echo of one datagram", "echo", "", [
    missed(atMost(1.5, VERBS), NET_WORK),
    fasterThan(3, DENO_UDP),
  ]),
  echoes("net_udp", "echo of 32 datagrams at a time, a datagram", "reply_cached", "_list", [
    atMost(2.5, VERBS),
    fasterThan(3, DENO_UDP),
  ]),
];
