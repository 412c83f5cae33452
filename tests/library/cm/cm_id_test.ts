// What connection identifiers refuse, take over from events, and leave behind, without a network.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  CmError,
  CmEventType,
  CmId,
  type CmOptions,
  EventChannel,
  eventStr,
  PortSpace,
} from "../../../cm.ts";
import { QpState, QpType, VerbsError } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { type FakeBed, onNetwork, STATES, test } from "./fake.ts";
import { Random } from "../../random.ts";
import { until } from "../../until.ts";

const TO = { hostname: "10.0.0.2", port: 7471 };
const GROUP = "239.1.2.3";

/** Calls of the methods that need a state, and the states that they need. */
const METHODS: [name: string, states: string[], call: (id: CmId, bed: FakeBed) => unknown][] = [
  ["bind address", ["IDLE"], (id) => id.bindAddr(TO)],
  ["resolve address", ["IDLE", "BOUND"], (id) => id.resolveAddr(TO)],
  ["resolve route", ["ADDR_RESOLVED"], (id) => id.resolveRoute()],
  ["listen", ["IDLE", "BOUND"], (id) => id.listen()],
  ["connect", ["ROUTE_RESOLVED"], (id, bed) => id.connect(bed.net.newQp())],
  ["establish", ["RESPONDED", "ESTABLISHED"], (id) => id.establish()],
  ["accept", ["REQUESTED"], (id, bed) => id.accept(bed.net.newQp())],
  ["reject", ["REQUESTED", "RESPONDED"], (id) => id.reject()],
  ["notify", ["ACCEPTING", "ESTABLISHED"], (id) => id.notify()],
  [
    "disconnect",
    ["RESPONDED", "ACCEPTING", "ESTABLISHED", "DISCONNECTED"],
    (id) => id.disconnect(),
  ],
  ["join group", ["BOUND", "ADDR_RESOLVED", "ROUTE_RESOLVED"], (id) => id.joinMulticast(GROUP)],
  [
    'look up "host", service "none"',
    ["IDLE", "BOUND", "ADDR_RESOLVED", "ROUTE_RESOLVED"],
    (id) => id.resolveAddrInfo("host"),
  ],
];

/** What messages say of the way to a state. From a later state no way leads back. */
function wayTo(state: string, now: string): string {
  if (state === "REQUESTED") return ": it is that of the id of an event CONNECT_REQUEST";
  if (!/^(IDLE|BOUND|RESOLVING_\w+|ADDR_RESOLVED)$/.test(now)) return "";
  if (state === "ROUTE_RESOLVED") return ": resolveAddr() and resolveRoute() lead there";
  return state === "ADDR_RESOLVED" ? ": resolveAddr() leads there" : "";
}

for (const state of STATES) {
  test(`CmId refuses in state ${state} what needs another one, before native code`, async (bed) => {
    const id = await bed.net.idIn(state);
    assertEquals(id.state, state);
    for (const [name, states, call] of METHODS.filter(([, states]) => !states.includes(state))) {
      bed.net.takeCalls();
      const error = await assertRejects(async () => await call(id, bed), TypeError);
      const words = `Cannot ${name}: the connection identifier is in state ${state}, and `;
      const way = wayTo(states[0]!, state);
      assertEquals(error.message, `${words}${states.join(" or ")} is needed${way}`);
      assertEquals([id.state, ...bed.net.takeCalls()], [state]);
    }
  });

  test(`CmId is closed in state ${state}, and then refuses everything`, async (bed) => {
    const id = await bed.net.idIn(state);
    id.close();
    id.close();
    for (const [, , call] of METHODS) {
      await assertRejects(async () => await call(id, bed), TypeError, "it is disposed");
    }
    assertThrows(() => id.srcPort, TypeError, "disposed");
  });
}

test("A rejection, and the end of a connection, stop its queue pair, and the peer's end is answered", async (bed) => {
  const responded = await bed.net.idIn("RESPONDED");
  const { qp } = responded;
  responded.reject();
  assertEquals(qp!.state, QpState.ERR);
  const id = await bed.net.idIn("ESTABLISHED");
  bed.net.takeCalls();
  const ended = Promise.all([id.disconnected(), id.disconnected()]);
  bed.net.push(id, CmEventType.DISCONNECTED);
  await ended;
  assertEquals([id.qp!.state, ...bed.net.takeCalls()], [QpState.ERR, "disconnect"]);
  assertEquals([await id.disconnect(), bed.net.takeCalls()], [true, []]);
  const own = await bed.net.idIn("ESTABLISHED");
  const ending = own.disconnect();
  bed.net.push(own, CmEventType.DISCONNECTED);
  await ending;
  assertEquals(bed.net.takeCalls().filter((name) => name === "disconnect"), ["disconnect"]);
});

test("CmId.setOptions() and leaveMulticast() call what they are for", async (bed) => {
  const id = await bed.net.idIn("BOUND");
  bed.net.takeCalls();
  id.setOptions({ tos: 8, afOnly: true });
  assertEquals(bed.net.takeCalls(), ["set_option", "set_option"]);
  assertEquals([...bed.net.data], [1, 0, 0, 0]);
  id.setOptions({ reuseAddr: true, ackTimeout: 14 });
  assertEquals([...bed.net.data], [14]);
  await id.joinMulticast(GROUP);
  id.leaveMulticast(GROUP);
  assertEquals(bed.net.takeCalls(), [
    ...["set_option", "set_option", "join_multicast", "leave_multicast"],
  ]);
  assertThrows(() => id.leaveMulticast(GROUP), VerbsError, "EADDRNOTAVAIL");
  for (const hostname of ["10.0.0.1", "::ffff:10.0.0.1", "fe80::1"]) {
    await assertRejects(
      () => id.joinMulticast(hostname),
      RangeError,
      `"${hostname}": it is no group`,
    );
    assertThrows(() => id.leaveMulticast(hostname), RangeError, "it is no group");
  }
  // InfiniBand chooses one.
  await id.joinMulticast("0.0.0.0");
  assertEquals(bed.net.takeCalls(), ["leave_multicast", "join_multicast"]);
  assertThrows(() => new CmId(bed.net.channel, "TCP" as never), TypeError, "portSpace");
});

test("CmId.setOptions() that throws has set nothing", async (bed) => {
  const bound = await bed.net.idIn("BOUND");
  const listening = await bed.net.idIn("LISTENING");
  const datagram = await bed.net.idIn("IDLE", PortSpace.UDP);
  bed.net.takeCalls();
  const wrong: [CmId, CmOptions, ErrorConstructor, string][] = [
    [
      bound,
      { tos: 1, reuseAddr: false },
      TypeError,
      "reuseAddr of connection identifier: its state",
    ],
    [listening, { tos: 1, reuseAddr: true }, TypeError, "its state is LISTENING"],
    [listening, { tos: 1, afOnly: true }, TypeError, "Cannot set afOnly"],
    [datagram, { afOnly: true, ackTimeout: 14 }, TypeError, "it is for datagrams"],
    [bound, { tos: 1, ackTimeout: 32 }, RangeError, "ackTimeout 32"],
    [bound, { tos: 1, afOnly: 1 as never }, TypeError, "afOnly"],
    [bound, { tos: 1, other: 1 } as never, TypeError, "other"],
  ];
  for (const [id, options, type, words] of wrong) {
    assertThrows(() => id.setOptions(options), type, words);
  }
  assertEquals(bed.net.takeCalls(), []);
});

test("A step that waits ends when its id or the channel is closed, or its signal aborts", async (bed) => {
  const id = new CmId(bed.net.channel);
  const abort = new AbortController();
  const aborted = assertRejects(() => id.resolveAddr(TO, { signal: abort.signal }), Error, "over");
  abort.abort(new Error("over"));
  await aborted;
  assertEquals(id.state, "RESOLVING_ADDR");
  const other = new CmId(bed.net.channel);
  const closed = assertRejects(() => other.resolveAddr(TO), TypeError, "identifier was disposed");
  other.close();
  await closed;
  const channel = new EventChannel();
  const third = new CmId(channel);
  const ended = assertRejects(() => third.resolveAddr(TO), TypeError, "was disposed");
  const iterated = channel.events().next();
  channel.close();
  await ended;
  assertEquals((await iterated).done, true);
  assert(third.disposed);
});

test("A wait ends if reading its signal closes the channel", async (bed) => {
  const id = await bed.net.idIn("ESTABLISHED");
  const { signal } = new AbortController();
  const closing = new Proxy(signal, {
    get: (target, key) => {
      bed.net.channel.close();
      return Reflect.get(target, key);
    },
  });
  await assertRejects(() => id.disconnected({ signal: closing }), TypeError);
});

test("The errors of steps name the event and its cause, and leave a state to go on from", async (bed) => {
  const id = new CmId(bed.net.channel);
  const resolved = id.resolveAddr(TO);
  bed.net.push(id, CmEventType.ADDR_ERROR, -110);
  const error = await assertRejects(() => resolved, CmError);
  assertEquals(
    error.message,
    "Cannot resolve address: the event is ADDR_ERROR (ETIMEDOUT: Connection timed out; " +
      "the host does not answer ARP or neighbour discovery: is it up, and in this network?)",
  );
  assertEquals([error.event, error.status, id.state], [CmEventType.ADDR_ERROR, -110, "BOUND"]);
  const client = await bed.net.idIn("ROUTE_RESOLVED");
  const qp = bed.net.newQp();
  const connected = client.connect(qp);
  bed.net.push(client, CmEventType.REJECTED, 8, "sorry");
  const refused = await assertRejects(() => connected, CmError, "(8: nobody listens on this port");
  assertEquals(new TextDecoder().decode(refused.privateData), "sorry");
  assertEquals([client.state, qp.state], ["FAILED", QpState.ERR]);
});

test("A request says what the peer has set, and nothing of the C struct's own", async (bed) => {
  const listener = await bed.net.idIn("LISTENING");
  bed.net.push(listener, CmEventType.CONNECT_REQUEST, 0, "hi");
  for await (const { conn, id } of bed.net.channel) {
    assertEquals(conn, {
      privateData: Uint8Array.of(104, 105),
      responderResources: 0,
      initiatorDepth: 0,
      flowControl: false,
      retryCount: 0,
      rnrRetryCount: 0,
      srq: false,
      qpNum: 0,
    });
    return id.close();
  }
});

test("CmId.disconnect() waits no longer for the peer than it is told to", async (bed) => {
  const id = await bed.net.idIn("ESTABLISHED");
  assertEquals(await id.disconnect({ timeout: 1 }), false);
  assertEquals([id.state, id.qp!.state], ["DISCONNECTING", QpState.ERR]);
});

for (
  const [portSpace, limits] of [
    [PortSpace.TCP, { request: 56, reply: 196, rejection: 148 }],
    [PortSpace.UDP, { request: 180, reply: 136, rejection: 136 }],
  ] as const
) {
  test(`Private data beyond the limits of ${portSpace} is refused before native code`, async (bed) => {
    const service = portSpace === PortSpace.TCP ? "RC" : "UD";
    const ids = {
      request: await bed.net.idIn("ROUTE_RESOLVED", portSpace),
      reply: await bed.net.idIn("REQUESTED", portSpace),
      rejection: await bed.net.idIn("REQUESTED", portSpace),
    };
    const qp = bed.net.newQp(portSpace);
    const calls = {
      request: (privateData: Uint8Array) => ids.request.connect(qp, { privateData }),
      reply: (privateData: Uint8Array) => ids.reply.accept(qp, { privateData }),
      rejection: (privateData: Uint8Array) => ids.rejection.reject(privateData),
    };
    for (const message of ["request", "reply", "rejection"] as const) {
      const limit = limits[message];
      bed.net.takeCalls();
      const tooLong = async (): Promise<unknown> => await calls[message](new Uint8Array(limit + 1));
      const error = await assertRejects(tooLong, RangeError);
      const size = `privateData of ${limit + 1} bytes`;
      const most = `a ${message} of ${service} takes at most ${limit}`;
      assertEquals(error.message, `Cannot use ${size}: ${most}`);
      assertEquals(bed.net.takeCalls(), []);
      const sent = Uint8Array.from({ length: limit }, (_, i) => i);
      Promise.resolve(calls[message](sent)).catch(() => {});
      const name = { request: "connect", reply: "accept", rejection: "reject" }[message];
      await until(name, () => bed.net.takeCalls().includes(name));
      assertEquals(bed.net.data, sent);
    }
  });
}

test("CmId refuses what its own state or type does not allow, before native code", async (bed) => {
  const id = await bed.net.idIn("ROUTE_RESOLVED");
  const fresh = new CmId(bed.net.channel);
  const qp = bed.net.newQp();
  bed.net.takeCalls();
  const bind = (address: object) => () => fresh.bindAddr(address as never);
  const refused: [() => unknown, ErrorConstructor, string][] = [
    [() => id.connect(bed.qp(QpType.UD)), TypeError, "its type is UD, and the id needs RC"],
    [() => id.connect(qp, { retryCount: 8 }), RangeError, "retryCount 8"],
    [
      bind({ hostname: "host", port: 1 }),
      SyntaxError,
      "nor IPv6; getAddrInfo() finds that of a name",
    ],
    [bind({ hostname: "10.0.0.1", port: 65536 }), RangeError, "port 65536"],
    [bind({ hostname: "10.0.0.1", port: 1, scopeId: 1 }), TypeError, "scopeId"],
    [() => fresh.resolveAddr(TO, { timeout: 0 }), RangeError, "timeout 0"],
    [() => fresh.listen(0), RangeError, "backlog 0"],
    [() => fresh.initQpAttr(QpState.ERR), RangeError, "it is not INIT, RTR or RTS"],
    [() => fresh.prepare(qp), TypeError, "the id has no device yet"],
    [() => fresh.setOptions({ tos: 256 }), RangeError, "tos 256"],
    [() => new CmId(bed.net.channel, 7 as PortSpace), RangeError, "portSpace 7"],
  ];
  for (const [call, type, words] of refused) {
    await assertRejects(async () => await call(), type, words);
  }
  assertEquals([id.state, fresh.state, bed.net.takeCalls()], ["ROUTE_RESOLVED", "IDLE", []]);
});

test("Deno.inspect() shows the state, the port space and both addresses of an id", async (bed) => {
  const shown = Deno.inspect(await bed.net.idIn("ROUTE_RESOLVED"));
  for (const part of [`state: "ROUTE_RESOLVED"`, `portSpace: "TCP"`, "localAddr", "10.0.0.2"]) {
    assertStringIncludes(shown, part);
  }
});

test("Requests beyond the backlog are rejected, and those that nobody took when the listener closes", async (bed) => {
  const listener = new CmId(bed.net.channel);
  listener.listen(3);
  const resolving = new CmId(bed.net.channel);
  const resolved = resolving.resolveAddr(TO);
  bed.net.takeCalls();
  for (let i = 0; i < 5; i++) bed.net.push(listener, CmEventType.CONNECT_REQUEST);
  bed.net.push(resolving, CmEventType.ADDR_RESOLVED);
  await resolved;
  assertEquals(bed.net.takeCalls(), ["destroy_id", "destroy_id"]);
  const taken = await bed.net.next();
  listener.close();
  assertEquals(bed.net.takeCalls(), ["destroy_id", "destroy_id", "destroy_id"]);
  assertEquals([taken.state, taken.disposed], ["REQUESTED", false]);
});

test("Each listener has a backlog of its own", async (bed) => {
  const listeners = [1, 1].map(() => new CmId(bed.net.channel));
  for (const listener of listeners) listener.listen(1);
  const resolving = new CmId(bed.net.channel);
  const resolved = resolving.resolveAddr(TO);
  bed.net.takeCalls();
  for (const listener of listeners) bed.net.push(listener, CmEventType.CONNECT_REQUEST);
  bed.net.push(resolving, CmEventType.ADDR_RESOLVED);
  await resolved;
  assertEquals(bed.net.takeCalls(), []);
});

test("CmId.close() stops the queue pair of a connection that has not ended, and of nothing else", async (bed) => {
  const moves = { RESPONDED: 1, ESTABLISHED: 1, DISCONNECTED: 0, FAILED: 0, ADDR_RESOLVED: 0 };
  for (const [state, count] of Object.entries(moves)) {
    const id = await bed.net.idIn(state);
    if (id.qp === undefined) id.prepare(bed.net.newQp());
    recorder.take();
    id.close();
    assertEquals([state, recorder.takeOf("ibv_modify_qp").length], [state, count]);
  }
});

test("Events go to the step that waits, and the others to those who iterate, each once", async (bed) => {
  const id = new CmId(bed.net.channel);
  const first = bed.net.channel.events().next();
  const resolved = id.resolveAddr(TO);
  bed.net.push(id, CmEventType.ADDR_RESOLVED);
  bed.net.push(id, CmEventType.ADDR_CHANGE);
  bed.net.push(id, CmEventType.TIMEWAIT_EXIT);
  await resolved;
  assertEquals((await first).value?.event, CmEventType.ADDR_CHANGE);
  const second = await bed.net.channel.events().next();
  assertEquals([second.value?.event, second.value?.id], [CmEventType.TIMEWAIT_EXIT, id]);
});

test("An event that cannot be read is acknowledged, and its error goes to those who wait", async (bed) => {
  const id = await bed.net.idIn("ESTABLISHED");
  Object.defineProperty(id, "device", {
    get: () => {
      throw new Error("no device");
    },
  });
  const ended = assertRejects(() => id.disconnected(), Error, "no device");
  bed.net.push(id, CmEventType.DISCONNECTED);
  await ended;
});

test("CmId.migrate() takes the id's events along, and is refused while a method waits", async (bed) => {
  using channel = new EventChannel();
  const id = await bed.net.idIn("ESTABLISHED");
  const waiting = id.disconnected();
  waiting.catch(() => {});
  assertThrows(() => id.migrate(channel), TypeError, "a method of the id is waiting");
  bed.net.push(id, CmEventType.ADDR_CHANGE);
  const other = new CmId(bed.net.channel);
  const resolved = other.resolveAddr(TO);
  bed.net.push(other, CmEventType.ADDR_RESOLVED);
  await resolved;
  bed.net.push(id, CmEventType.DISCONNECTED);
  await waiting;
  id.migrate(channel);
  assertEquals(id.channel, channel);
  assertEquals((await channel.events().next()).value?.event, CmEventType.ADDR_CHANGE);
  bed.net.push(id, CmEventType.TIMEWAIT_EXIT);
  assertEquals((await channel.events().next()).value?.event, CmEventType.TIMEWAIT_EXIT);
  bed.net.channel.close();
  assertEquals([other.disposed, id.disposed], [true, false]);
});

/** Closes and uses what an id in some state has, in any order. */
async function endInAnyOrder(bed: FakeBed, state: string, random: Random): Promise<void> {
  using other = new EventChannel();
  // Connections of datagrams have no end.
  const isUd = state !== "DISCONNECTING" && random.below(4) === 0;
  const id = await bed.net.idIn(state, isUd ? PortSpace.UDP : PortSpace.TCP);
  const ignore = (): void => {};
  const acts: (() => unknown)[] = [
    () => id.close(),
    () => id.qp?.close(),
    () => bed.net.channel.close(),
    () => bed.pd.close(),
    () => id.disconnect({ timeout: 1 }),
    () => id.disconnected({ signal: AbortSignal.abort() }),
    () => id.migrate(other),
    ...Array.from({ length: 4 }, () => () => bed.net.push(id, random.below(16) as CmEventType)),
    () => bed.net.channel.events({ signal: AbortSignal.timeout(1) }).next(),
  ];
  const ends: Promise<unknown>[] = [];
  while (acts.length > 0) {
    const [act] = acts.splice(random.below(acts.length), 1);
    ends.push(Promise.try(act!).catch(ignore));
    if (random.below(2) === 0) await Promise.resolve();
  }
  await Promise.all(ends);
  // A channel ends when no other thread waits any more.
  for (const channel of [other, bed.net.channel]) channel.close();
}

for (const [index, state] of STATES.entries()) {
  Deno.test(`Objects of an id in state ${state} end in any order, with events between, and nothing is left`, async () => {
    const random = new Random(index);
    for (let round = 0; round < 25; round++) {
      await onNetwork((bed) => endInAnyOrder(bed, state, random));
    }
  });
}

test("eventStr() gives the words of librdmacm", async () => {
  assertEquals(eventStr(CmEventType.REJECTED), "rejected");
  await Promise.resolve();
});

test("A neighbour with another hardware address fails the wait, and disconnect() still ends the connection", async (bed) => {
  const id = await bed.net.idIn("ESTABLISHED");
  const ended = id.disconnected();
  bed.net.push(id, CmEventType.UNREACHABLE, -110);
  const { message } = await assertRejects(() => ended, CmError);
  assertStringIncludes(message, "the neighbour's hardware address has changed");
  assertEquals([id.state, id.qp!.state], ["ESTABLISHED", QpState.RTS]);
  const disconnected = id.disconnect();
  // It may come once more, before the peer answers.
  bed.net.push(id, CmEventType.UNREACHABLE, -110);
  bed.net.push(id, CmEventType.DISCONNECTED);
  assertEquals([await disconnected, id.state], [true, "DISCONNECTED"]);
});
