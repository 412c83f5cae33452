/** Rows of two processes by shared memory, whose device is as fast as an adapter. */

import { type Exchange, idle, pair } from "./pairs.ts";
import { atMost, type Entry, type Goal, millions, type Row, within } from "./row.ts";

const RC = "Deno, RC";
const COMPLETIONS = "Deno, completions()";
export const POLLING = "Deno, pollInto()";
const SYNC = "Deno, waitSync()";
const EVENTS = "C, events";
const UDP = "Deno.listenDatagram";
const TCP = "Deno.connect";

const BY = "Deno: net";

function shm(row: Omit<Row, "stage">): Row {
  return { stage: "shm", ...row };
}

/** Contenders that sleep at some time, and learn when to. */
function waiting(exchange: Exchange, udp: Exchange): Entry[] {
  return [
    pair("C", ["c", "ud_events"], exchange),
    pair("Deno", ["deno", "net_ud"], exchange),
    pair(COMPLETIONS, ["deno", "ud_events"], exchange),
    pair(UDP, ["deno", "datagram"], udp),
  ];
}

/** Contenders that always sleep, on the thread that waits. */
function blocking(exchange: Exchange): Entry[] {
  return [
    pair(SYNC, ["deno", "ud_sync"], exchange),
    pair("pyverbs", ["python", "ud_events"], exchange),
  ];
}

const ECHOES: readonly Row[] = [
  shm({
    id: "echo",
    title: "datagram and answer",
    count: 100_000,
    entries: [
      pair("C", ["c", "ud_polling"]),
      pair(POLLING, ["deno", "ud_polling"]),
      pair(COMPLETIONS, ["deno", "ud_events"]),
      pair("Deno", ["deno", "net_ud"]),
      pair("pyverbs", ["python", "ud_polling"]),
      pair(UDP, ["deno", "datagram"]),
      pair("node:dgram", ["deno", "dgram"]),
    ],
    goals: [
      atMost(2.5, "C"),
      atMost(4, "C", "Deno", "mean"),
      within(20, "us", "Deno", "p99"),
      atMost(1.5, "C", COMPLETIONS),
      atMost(2, "C", COMPLETIONS, "mean"),
    ],
    note: `wait/loop.ts; C, pyverbs: polling; ${BY}`,
  }),
  shm({
    id: "call",
    title: "message and answer, RC",
    count: 100_000,
    entries: [
      pair("C", ["c", "rc_polling"]),
      pair("Deno", ["deno", "net_rc"]),
      pair("pyverbs", ["python", "rc_polling"]),
      pair(TCP, ["deno", "tcp"]),
    ],
    goals: [atMost(2.5, "C")],
    note: `net/rc/rc_conn.ts; C, pyverbs: polling; ${BY}`,
  }),
  shm({
    id: "echo_slow",
    title: "datagram and answer, 1.5 us each way",
    count: 100_000,
    entries: [
      pair("C", ["c", "ud_polling"], { deviceNs: 1500 }),
      pair(POLLING, ["deno", "ud_polling"], { deviceNs: 1500 }),
      pair(COMPLETIONS, ["deno", "ud_events"], { deviceNs: 1500 }),
      pair("Deno", ["deno", "net_ud"], { deviceNs: 1500 }),
      pair(RC, ["deno", "net_rc"], { deviceNs: 1500 }),
    ],
    goals: [atMost(1.6, "C")],
    note: `wait/loop.ts; C: polling; ${BY}`,
  }),
  shm({
    id: "sleep",
    title: "datagram and answer, asleep meanwhile",
    count: 20_000,
    entries: [
      pair("C", ["c", "ud_events"]),
      pair("Deno", ["deno", "net_ud_sleeping"]),
      pair(COMPLETIONS, ["deno", "ud_sleeping"]),
      pair(SYNC, ["deno", "ud_sync"]),
      pair("pyverbs", ["python", "ud_events"]),
      pair(UDP, ["deno", "datagram"]),
    ],
    goals: [
      atMost(1, UDP),
      atMost(1.3, "pyverbs"),
      atMost(1, UDP, COMPLETIONS),
      atMost(1.3, "pyverbs", COMPLETIONS),
      atMost(1.1, "C", SYNC),
    ],
    note: `types/completion/cq_sleep.ts; all by events; ${BY}, spinMicroseconds: 0`,
  }),
  shm({
    id: "one_processor",
    title: "datagram and answer, both ends on one processor",
    count: 20_000,
    entries: [...waiting({ isShared: true }, { isShared: true }), ...blocking({ isShared: true })],
    goals: [atMost(1, UDP), atMost(1, UDP, COMPLETIONS)],
    note: `wait/busy_poll.ts; C, pyverbs: by events; ${BY}`,
  }),
];

const WINDOW: Exchange = { window: 32 };
/** The same client for all. */
const CLIENT: Exchange = { client: ["c", "ud_polling"] };

const MANY: readonly Row[] = [
  shm({
    id: "window",
    title: "32 datagrams at a time, and their answers",
    count: 1_000_000,
    shown: "rate",
    entries: [
      pair("C", ["c", "ud_polling"], WINDOW),
      pair(EVENTS, ["c", "ud_events"], WINDOW),
      pair(POLLING, ["deno", "ud_polling"], WINDOW),
      pair(COMPLETIONS, ["deno", "ud_events"], WINDOW),
      pair("Deno", ["deno", "net_ud"], WINDOW),
      pair(RC, ["deno", "net_rc"], WINDOW),
      pair("pyverbs", ["python", "ud_polling"], WINDOW),
      pair(UDP, ["deno", "datagram"], WINDOW),
      pair(TCP, ["deno", "tcp"], WINDOW),
    ],
    goals: [millions(1), millions(1, RC), millions(1.8, COMPLETIONS)],
    note: `wait/loop.ts; C, pyverbs: polling; ${BY}; ${TCP}: one write of all`,
  }),
  shm({
    id: "relay",
    title: "received on one socket, sent on by another one",
    count: 100_000,
    entries: [
      pair("C", ["c", "ud_relay"], CLIENT),
      pair("Deno", ["deno", "net_relay"], CLIENT),
      pair(UDP, ["deno", "datagram_relay"], { client: ["c", "udp"] }),
    ],
    goals: [within(3, "us")],
    note: `net/ud/sender.ts; C: polling; ${BY}; the client is a program in C that polls`,
  }),
  shm({
    id: "peers",
    title: "datagram and answer, of many known peers",
    // Each part of a warm-up has messages of all peers.
    count: 1_000_000,
    entries: [100, 10_000].flatMap((number) => {
      const exchange: Exchange = { client: ["c", "ud_peers"], number };
      return [
        pair(`C, ${number}`, ["c", "ud_polling"], exchange),
        pair(`Deno, ${number}`, ["deno", "net_ud_peers"], exchange),
      ];
    }),
    goals: [],
    note: `net/ud/peers.ts; ${BY}; each peer sends in its turn; C: one handle for all of them`,
  }),
];

/** Messages of some KiB in one direction, and writes to memory of the other end. */
function long(name: string, kib: number): Row[] {
  const exchange: Exchange = { window: Infinity, number: kib * 1024 };
  const row = { count: 2 ** 22 / kib, shown: { bytes: kib * 1024 } };
  const streaming = shm({
    ...row,
    id: `stream_${name}`,
    title: `stream of messages of ${kib} KiB, RC`,
    entries: [
      pair("C", ["c", "rc_stream"], exchange),
      pair("Deno", ["deno", "net_stream"], exchange),
      pair(TCP, ["deno", "tcp_stream"], exchange),
    ],
    goals: kib === 64 ? [atMost(1.25, "C")] : [],
    note: `net/rc/outbox.ts; C: what memcpy gives through the same ring; ${BY}`,
  });
  const writing = shm({
    ...row,
    id: `write_${name}`,
    title: `RDMA writes of ${kib} KiB`,
    entries: [
      pair("C", ["c", "rc_write"], exchange),
      pair("Deno", ["deno", "net_write"], exchange),
    ],
    goals: [],
    note: `net/rc/rc_end.ts; ${BY}, 16 at a time`,
  });
  return [streaming, writing];
}

/** Answers that take so many microseconds: what a wait has learned. */
function late(delay: number): Row {
  const exchange: Exchange = { server: ["c", "ud_polling"], delay, spender: "client" };
  return shm({
    id: `late_${delay}`,
    title: `answer after ${delay} us; processor: of the client`,
    count: 5000,
    entries: waiting(exchange, { ...exchange, server: ["c", "udp"] }),
    goals: [],
    note: `wait/busy_poll.ts; C: by events; ${BY}; the server is a program in C that polls`,
  });
}

/** So many messages in a second. */
function busy(name: string, rate: number, goals: readonly Goal[]): Row {
  const exchange: Exchange = {
    ...CLIENT,
    interval: 1e6 / rate,
    spender: "server",
  };
  return shm({
    id: `busy_${name}`,
    title: `${rate} messages in a second; processor: of the server`,
    count: rate,
    entries: [
      ...waiting(exchange, { ...exchange, client: ["c", "udp"] }),
      ...blocking(exchange),
    ],
    goals,
    note:
      `wait/descriptors.ts; C, pyverbs: by events; ${BY}; the client is a program in C that polls`,
  });
}

/** Servers that have nothing to do. */
function unused(id: string, title: string, isAwaited: boolean, ...others: Entry[]): Row {
  const entries = [
    idle("Deno", ["deno", "net_ud"], isAwaited, CLIENT),
    idle(RC, ["deno", "net_rc"], isAwaited, {}),
    ...others,
  ];
  const goals = entries.map(({ who }) => within(0.5, "ms", who));
  return shm({ id, title, count: 1, entries, goals, note: `wait/loop.ts; ${BY}` });
}

const SELDOM: readonly Row[] = [
  ...[50, 150, 300, 1000].map(late),
  busy("1k", 1000, [atMost(1, UDP, "Deno", "processor"), atMost(1, UDP, COMPLETIONS, "processor")]),
  busy("20k", 20_000, []),
  unused(
    "idle",
    "processor time in a second: a server that waits",
    true,
    idle(COMPLETIONS, ["deno", "ud_events"], true, CLIENT),
  ),
  unused("unused", "processor time in a second: a server that is open and unused", false),
];

export const SHM: readonly Row[] = [
  ...ECHOES,
  ...MANY,
  ...long("4k", 4),
  ...long("64k", 64),
  ...long("1m", 1024),
  ...SELDOM,
];
