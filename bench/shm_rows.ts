/** Rows of two processes by shared memory, whose device is as fast as an adapter. */

import { type Exchange, idle, pair } from "./pairs.ts";
import { atMost, type Entry, type Goal, millions, missed, type Row, within } from "./row.ts";

const RC = "Deno, RC";
const COMPLETIONS = "Deno, completions()";
export const POLLING = "Deno, pollInto()";
const SYNC = "Deno, waitSync()";
const EVENTS = "C, events";
const UDP = "Deno.listenDatagram";
const TCP = "Deno.connect";

const BY = "Deno: net";

/** Why goals are missed, each with the designs that were tried. */
const REASONS = {
  echo:
    "an end of net adds 0.9 us to C, half of it promises, maps and typed arrays of V8; tried: a " +
    "clock that is read once in four steps, receives posted without an array, views that are kept " +
    "(together a tenth less)",
  call:
    "an end adds 0.8 us to C: two promises, and a copy of each message at both ends; tried: a clock " +
    "that is read once in four steps, messages received into a buffer of the caller's",
  completions:
    "a promise, its result and an object for each completion; tried: a clock that is read " +
    "once in four steps (a fifth less by lists), steps without an async function (4 %)",
  sleep:
    "a sleep is a call on another thread, which then wakes the event loop: Deno.listenDatagram is " +
    "in the event loop's own epoll, which has no place for other descriptors; tried: SIGIO, a native " +
    "thread that calls back, a pipe that node:net reads, a poll of all descriptors, and an epoll",
  sync:
    "a round trip takes 4 to 6 us of JavaScript more than C, on one processor too; tried: calls of the " +
    "system by Deno's foreign functions (20 to 30 % slower asleep, 70 % on one processor), and machine " +
    "code that reads, polls and sleeps, which is here",
  window:
    "net takes 0.5 us to send and receive a message of a list, a fifth of it in the device, and a " +
    "turn of the event loop each millisecond takes a fifth more; tried: lists without arrays, views that " +
    "are kept, a clock that is read once in four steps (together half as many again), a completion for " +
    "each 16th send only (4 %)",
  rcWindow:
    "RC takes a call, two promises and a post for each message, and UD for each list; tried: a clock " +
    "that is read once in four steps (a tenth more), messages received into a buffer of the caller's",
  turns:
    "the event loop turns once a millisecond for timers and other sockets, and each second turn waits " +
    "for another thread; tried: fewer such turns, which take a fifth off and leave other sockets " +
    "unanswered for 9 ms, and a timer in place of the thread, which takes 2.2 ms",
  unused:
    "the second is the first one after traffic: memory is collected, and the connection is looked at " +
    "until it has been quiet for long; later it takes 0.3 to 0.5 ms; tried: pauses of an eighth of " +
    "the quiet time, with 3.8 and 5 ms, and of all of it, which is here",
  stream:
    "net copies each message at both ends, and C at none; by verbs a stream from JavaScript makes " +
    "9 GB/s without a copy, 7.4 with one and 5.9 with both; tried: sending from registered memory, and " +
    "reading where the message was received",
};

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
      missed(atMost(2.5, "C"), REASONS.echo),
      missed(atMost(4, "C", "Deno", "mean"), REASONS.turns),
      missed(within(20, "us", "Deno", "p99"), REASONS.turns),
      missed(atMost(1.5, "C", COMPLETIONS), REASONS.completions),
      missed(atMost(2, "C", COMPLETIONS, "mean"), REASONS.turns),
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
    goals: [missed(atMost(2.5, "C"), REASONS.call)],
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
    goals: [missed(atMost(1.6, "C"), REASONS.echo)],
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
      ...[
        atMost(1, UDP),
        atMost(1.3, "pyverbs"),
        atMost(1, UDP, COMPLETIONS),
        atMost(1.3, "pyverbs", COMPLETIONS),
      ].map((goal) => missed(goal, REASONS.sleep)),
      missed(atMost(1.1, "C", SYNC), REASONS.sync),
    ],
    note: `types/completion/cq_sleep.ts; all by events; ${BY}, spinMicroseconds: 0`,
  }),
  shm({
    id: "one_processor",
    title: "datagram and answer, both ends on one processor",
    count: 20_000,
    entries: [...waiting({ isShared: true }, { isShared: true }), ...blocking({ isShared: true })],
    goals: [atMost(1, UDP), atMost(1, UDP, COMPLETIONS)].map((goal) => missed(goal, REASONS.sleep)),
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
    goals: [
      missed(millions(1), REASONS.window),
      missed(millions(1, RC), REASONS.rcWindow),
      missed(millions(1.8, COMPLETIONS), REASONS.completions),
    ],
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
    goals: kib === 64 ? [missed(atMost(1.25, "C"), REASONS.stream)] : [],
    note: `net/rc/sender.ts; C: what memcpy gives through the same ring; ${BY}`,
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
  const goals = entries.map(({ who }) => within(0.5, "ms", who))
    .map((goal) => isAwaited ? goal : missed(goal, REASONS.unused));
  return shm({ id, title, count: 1, entries, goals, note: `wait/loop.ts; ${BY}` });
}

const SELDOM: readonly Row[] = [
  ...[50, 150, 300, 1000].map(late),
  busy(
    "1k",
    1000,
    ["Deno", COMPLETIONS].map((who) => missed(atMost(1, UDP, who, "processor"), REASONS.sleep)),
  ),
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
