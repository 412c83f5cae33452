import * as recorder from "../../provider/recorder.ts";
import {
  assertEquals,
  assertGreater,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { nonblocking } from "../../../ffi/library.ts";
import {
  AddressHandle,
  Context,
  EventType,
  Gid,
  ProtectionDomain,
  VerbsError,
} from "../../../mod.ts";
import {
  type JoinOptions,
  listenUd,
  type UdAddress,
  type UdConn,
  type UdOptions,
} from "../../../net/mod.ts";
import { bytes, QKEY, RXE, test, text } from "./recorder_net.ts";
import { until } from "../../until.ts";

const { BadResource } = Deno.errors;
const GROUP = "ff0e::1";

function listen(options: Partial<UdOptions> = {}): Promise<UdConn> {
  return listenUd({ device: RXE, qkey: QKEY, ...options });
}

/** A connection still sends to itself and receives. */
async function assertWorks(conn: UdConn): Promise<void> {
  await conn.send(bytes("still works"), conn.addr);
  assertEquals((await conn.receive())[0], bytes("still works"));
}

test("UdConn.send() reaches the address of another connection, and the reply its sender", async () => {
  await using server = await listen();
  await using client = await listen();
  const address = JSON.parse(JSON.stringify(server.addr));
  assertEquals(await client.send(bytes("ping"), address), 4);
  const [message, from] = await server.receive();
  assertEquals(text(message), "ping");
  assertEquals([from.gid, from.qpNum, from.qkey], [client.addr.gid, client.addr.qpNum, QKEY]);
  await server.send(bytes("pong"), from);
  const buffer = new Uint8Array(16);
  const [reply] = await client.receive(buffer);
  assertEquals(text(reply), "pong");
  assertEquals(reply.buffer, buffer.buffer);
  assertEquals([server.stats.received, server.stats.sent], [1, 1]);
});

test("UdConn answers a known peer although strangers do not answer, after its addresses have changed", async () => {
  await using server = await listen();
  await using client = await listen();
  await client.send(bytes("ping"), server.addr);
  const [message, from] = await server.receive();
  await server.send(message, from);
  recorder.take();
  recorder.sendAsyncEvent(EventType.GID_CHANGE, 1);
  await until("the new table", () => recorder.takeOf("_ibv_query_gid_table").length > 0);
  using context = Context.open(RXE);
  using pd = new ProtectionDomain(context);
  const create = nonblocking().ibv_create_ah;
  const { promise: hold, resolve: go } = Promise.withResolvers<void>();
  using _held = stub(nonblocking(), "ibv_create_ah", async (...args) => {
    if (args[0] === pd.unsafeHandle) await hold;
    return await create(...args);
  });
  const strangers = Array.from({ length: 10 }, (_, i) => {
    const attr = {
      portNum: 1,
      grh: { dgid: Gid.parse(`10.0.1.${i}`), sgidIndex: 1, hopLimit: 64 },
    };
    return AddressHandle.createAsync(pd, attr, { untrusted: true });
  });
  await server.send(bytes("pong"), from);
  go();
  for (const ah of await Promise.all(strangers)) ah.close();
});

test("UdConn.sendMany() sends in order, also if the first address handle takes long", async () => {
  await using server = await listen();
  await using client = await listen();
  await client.send(bytes("known"), server.addr);
  const other = { ...server.addr, gid: "::ffff:10.0.1.1" };
  recorder.delay("ibv_create_ah", 20);
  await client.sendMany([[bytes("first"), other], [bytes("then"), server.addr]]);
  const words = Array.from({ length: 3 }, async () => text((await server.receive())[0]));
  assertEquals(await Promise.all(words), ["known", "first", "then"]);
});

test("UdConn iterates over datagrams until it is closed", async () => {
  await using server = await listen();
  await using client = await listen();
  const seen: string[] = [];
  const iteration = (async () => {
    for await (const [message, from] of server) {
      seen.push(text(message)!);
      await server.send(message, JSON.parse(JSON.stringify(from)));
      if (seen.length === 3) server.close();
    }
  })();
  for (const word of ["a", "b", "c"]) {
    await client.send(bytes(word), server.addr);
    if (word !== "c") assertEquals(text((await client.receive())[0]), word);
  }
  await iteration;
  assertEquals(seen, ["a", "b", "c"]);
  await assertRejects(() => server.receive(), BadResource);
  await assertRejects(() => server.send(bytes("x"), client.addr), BadResource);
});

test("UdConn gives what was received after close(), and then tells that it is closed", async () => {
  await using client = await listen();
  const words = Array.from({ length: 20 }, (_, i) => `word ${i}`);
  const datagrams = (addr: UdAddress): [Uint8Array, UdAddress][] =>
    words.map((word) => [bytes(word), addr]);
  // Those that are not polled yet are more than may wait. On a busy host the server may have polled them by itself.
  let leastDropped = Infinity;
  for (const read of [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]) {
    if (leastDropped === 0) break;
    const server = await listen({ maxQueued: 4, recvDepth: 32 });
    await client.sendMany(datagrams(server.addr));
    const seen: string[] = [];
    for (let i = 0; i < read; i++) seen.push(text((await server.receive())[0])!);
    server.close();
    server.close();
    const { received, dropped } = server.stats;
    assertEquals(await Array.fromAsync(server), []);
    while (seen.length + dropped < words.length) {
      const [message, { qpNum }] = await server.receive();
      assertEquals(qpNum, client.addr.qpNum);
      seen.push(text(message)!);
    }
    assertEquals([seen.length + dropped, received], [20, 20]);
    assertEquals(seen, words.filter((word) => seen.includes(word)));
    if (read === 0) leastDropped = Math.min(leastDropped, dropped);
    await assertRejects(() => server.receive(), BadResource, "closed");
    await server[Symbol.asyncDispose]();
  }
  assertEquals(leastDropped, 0);
});

test("UdConn.close() gives what has come to the one who waits for it", async () => {
  await using client = await listen();
  await using server = await listen();
  const waiting = server.receive();
  await client.send(bytes("last"), server.addr);
  await client.sendMany([]);
  server.close();
  assertEquals(text((await waiting)[0]), "last");
});

test("UdConn.sendMany() and receiveMany() keep the order, and leave what does not fit", async () => {
  await using server = await listen();
  await using client = await listen({ sendDepth: 4 });
  const words = ["one", "two", "three", "four", "five", "six"];
  const { addr } = server;
  assertEquals(await client.sendMany(words.map((word) => [bytes(word), addr])), 6);
  const buffer = new Uint8Array(16);
  const first = await server.receiveMany(buffer);
  assertEquals(first.map(([message]) => text(message)), ["one", "two", "three", "four"]);
  assertEquals(text(buffer), "onetwothreefour\0");
  assertEquals(await server.sendMany(first), 4);
  assertEquals((await client.receiveMany(new Uint8Array(64))).length, 4);
  await assertRejects(() => server.receiveMany(new Uint8Array(3)), RangeError, "4 bytes");
  const rest = await server.receiveMany(new Uint8Array(64));
  assertEquals(rest.map(([message]) => text(message)), ["five", "six"]);
  const waiting = server.receiveMany(buffer);
  await client.send(bytes("late"), addr);
  assertEquals((await waiting).map(([message]) => text(message)), ["late"]);
});

test("UdConn.sendMany() sends nothing if it refuses a datagram", async () => {
  await using conn = await listen();
  const { addr } = conn;
  const bad: [unknown, string][] = [
    [null, "datagram is not an array"],
    [[bytes("x")], "address"],
    [["x", addr], "message"],
    [[new Uint8Array(conn.maxMessage + 1), addr], "maxMessage is"],
    [[bytes("x"), { ...addr, qpNum: -1 }], "qpNum"],
    [new Proxy([bytes("x"), addr], { get: () => undefined }), "Cannot use message undefined"],
  ];
  for (const [datagram, message] of bad) {
    const datagrams = [[bytes("x"), addr], datagram] as [Uint8Array, UdAddress][];
    await assertRejects(() => conn.sendMany(datagrams), Error, message);
  }
  await assertRejects(() => conn.sendMany(addr as never), TypeError, "it is not an array");
  assertEquals([conn.stats.sent, await conn.sendMany([])], [0, 0]);
  conn.close();
  await assertRejects(() => conn.sendMany([]), BadResource);
});

test("UdConn.send() reads an address again that the caller has changed", async () => {
  await using one = await listen();
  await using two = await listen();
  const address = { ...one.addr };
  await two.send(bytes("x"), address);
  Object.assign(address, { qpNum: two.addr.qpNum });
  await two.send(bytes("y"), address);
  const signal = AbortSignal.timeout(10_000);
  for (const [conn, word] of [[two, "y"], [one, "x"]] as const) {
    assertEquals(text((await conn.receive({ signal }))[0]), word);
  }
  Object.assign(address, { qpNum: -1 });
  await assertRejects(() => two.send(bytes("z"), address), RangeError, "qpNum");
  Object.assign(address, { qpNum: one.addr.qpNum });
  await two.send(bytes("z"), address);
  Object.assign(address, { transport: "RC" });
  await assertRejects(() => two.send(bytes("z"), address), TypeError, "transport");
  Object.assign(address, { transport: "UD", gid: "::ffff:10.0.0.9" });
  recorder.take();
  await two.send(bytes("z"), address);
  assertEquals(recorder.takeOf("ibv_create_ah").length, 1);
});

test("UdConn.send() waits while all sends are in progress, and loses none", async () => {
  await using server = await listen({ recvDepth: 256 });
  await using client = await listen({ sendDepth: 4 });
  const count = 200;
  await Promise.all(
    Array.from({ length: count }, (_, i) => client.send(bytes(String(i)), server.addr)),
  );
  const seen = new Set<string>();
  while (seen.size < count) seen.add(text((await server.receive())[0])!);
  assertEquals(client.stats, {
    received: 0,
    sent: count,
    dropped: 0,
    recvErrors: 0,
    sendErrors: 0,
    resets: 0,
  });
});

test("UdConn drops the oldest datagrams when too many wait", async () => {
  await using server = await listen({ recvDepth: 40, maxQueued: 2 });
  await using client = await listen();
  for (let i = 0; i < 10; i++) await client.send(bytes(String(i)), server.addr);
  await until("10 datagrams", () => server.stats.received === 10);
  assertEquals(server.stats.dropped, 8);
  assertEquals(text((await server.receive())[0]), "8");
  assertEquals(text((await server.receive())[0]), "9");
});

test("UdConn.join() on the device only and leave() refuse what cannot work", async () => {
  const conn = await listen();
  const join = (group: string, more: JoinOptions = {}): Promise<UdAddress> =>
    conn.join(group, { deviceOnly: true, ...more });
  await assertRejects(
    () => join("10.0.0.1"),
    RangeError,
    "10.0.0.1 is not an address of multicast",
  );
  await assertRejects(() => join("nowhere"), SyntaxError);
  await assertRejects(() => join(GROUP, { lid: 2 ** 16 }), RangeError);
  await assertRejects(() => conn.join(GROUP, { lid: 1 }), TypeError, "for deviceOnly");
  assertThrows(() => conn.leave(GROUP), TypeError, "has not joined");
  assertEquals((await join(GROUP, { lid: 0xc001 })).lid, 0xc001);
  await assertRejects(() => join(GROUP), TypeError, "in it already");
  conn.leave(GROUP);
  // Closing leaves the groups.
  await join(GROUP);
  await conn[Symbol.asyncDispose]();
});

test("UdConn.receive() refuses options behind a buffer, where a deadline would be lost", async () => {
  await using conn = await listen();
  const receive = conn.receive.bind(conn) as (...given: unknown[]) => Promise<unknown>;
  for (const buffer of [new Uint8Array(8), undefined]) {
    const call = (): Promise<unknown> => receive(buffer, { signal: AbortSignal.timeout(1) });
    await assertRejects(call, TypeError, "write receive({ buffer, signal })");
  }
});

test("UdConn.send() takes a copy or an heir of a sender, and refuses forged addresses", async () => {
  await using conn = await listen();
  await conn.send(bytes("x"), conn.addr);
  const [, from] = await conn.receive();
  for (const address of [{ ...conn.addr, gid: "x".repeat(100_000) }, Symbol("address")]) {
    await assertRejects(() => conn.send(bytes("x"), address as UdAddress), Error);
  }
  // Nobody is there. Whether the system has a route is another matter.
  for (const gid of ["::", "::ffff:203.0.113.9", "::ffff:224.0.0.9"]) {
    await conn.send(bytes("x"), { ...conn.addr, gid, qpNum: 0xff_fff0 }).catch((error) => {
      assertInstanceOf(error, VerbsError, gid);
    });
  }
  for (const address of [{ ...from }, structuredClone({ ...from }), Object.create(from)]) {
    await conn.send(bytes("copy"), address);
    assertEquals((await conn.receive())[0], bytes("copy"));
  }
  await assertWorks(conn);
});

test("UdConn ends what waits when it is closed or a signal aborts, and says what it did", async () => {
  const reason = new Error("enough");
  const enough = { signal: AbortSignal.abort(reason) };
  await assertRejects(() => listen(enough), Error, "enough");
  const abort = new AbortController();
  for (const end of [(conn: UdConn) => conn.close(), () => abort.abort(reason)]) {
    const conn = await listen({ signal: abort.signal });
    recorder.delay("ibv_create_ah", 20);
    await assertRejects(() => conn.receive(enough), Error, "enough");
    await assertRejects(() => conn.send(bytes("x"), conn.addr, enough), Error, "enough");
    const calls = [
      ["receive", () => conn.receive()],
      ["send", () => conn.send(bytes("x"), conn.addr)],
      ["send", () => conn.send(bytes("x"), { ...conn.addr, gid: "::ffff:10.0.0.9" })],
    ] as const;
    const rejected = ([action, call]: typeof calls[number]): Promise<unknown> =>
      assertRejects(call, BadResource, `Cannot ${action}: the socket is closed`);
    const waiting = calls.map(rejected);
    const iterated = Array.fromAsync(conn);
    end(conn);
    conn.close();
    await Promise.all([...waiting, ...calls.map(rejected)]);
    assertEquals([await iterated, conn.stats.recvErrors], [[], 0]);
    const joined = conn.join(GROUP, { deviceOnly: true });
    await assertRejects(() => joined, BadResource, "Cannot join multicast group");
    assertThrows(() => conn.leave(GROUP), BadResource, "Cannot leave multicast group");
    await conn[Symbol.asyncDispose]();
    // The native call goes on, and keeps the device.
    await until("the end of the device", () => recorder.live() === 0);
  }
});

test("UdConn.close() frees all while sends are in progress and datagrams wait", async () => {
  const conn = await listen({ sendDepth: 8 });
  const sends = Array.from({ length: 500 }, () => conn.send(bytes("x"), conn.addr));
  const ended = Promise.all(sends).catch((error) => error);
  await Promise.resolve();
  conn.close();
  assertInstanceOf(await ended, BadResource);
  await conn[Symbol.asyncDispose]();
  // The look-up of a peer's link address ends by itself.
  await until("all objects are destroyed", () => recorder.live() === 0);
});

test("listenUd() refuses a device, a port or a GID that there is not", async () => {
  const { NotFound } = Deno.errors;
  await assertRejects(() => listen({ device: "nosuch0" }), NotFound);
  await assertRejects(() => listen({ portNum: 9 }), RangeError);
  await assertRejects(() => listen({ gidIndex: 200 }), NotFound, "GID index 200");
});

test("UdConn.send() to a peer that is gone loses the datagram, and nothing else", async () => {
  await using conn = await listen();
  const gone = await listen();
  const { addr } = gone;
  gone.close();
  for (let i = 0; i < 300; i++) await conn.send(bytes(String(i)), addr);
  await conn.send(bytes("wrong qkey"), { ...conn.addr, qkey: 5 });
  await assertWorks(conn);
  const none = { dropped: 0, recvErrors: 0, sendErrors: 0, resets: 0 };
  assertEquals(conn.stats, { received: 1, sent: 302, ...none });
});

test("UdConn keeps the order of datagrams that share lists", async () => {
  await using server = await listen();
  // Lists of the odd size wrap around the end of the memory.
  await using client = await listen({ sendDepth: 37 });
  const { addr } = server;
  const count = 400;
  for (let i = 0; i < count; i++) {
    if (i % 3 === 0) await client.send(bytes(String(i)), addr);
    else client.send(bytes(String(i)), addr);
  }
  for (let i = 0; i < count; i++) assertEquals((await server.receive())[0], bytes(String(i)));
  assertEquals(client.stats.sent, count);
});

test("UdConn sends the message as it was when send() was called", async () => {
  await using conn = await listen();
  await assertWorks(conn);
  await conn.send(bytes("first"), conn.addr);
  const [, from] = await conn.receive();
  await conn.send(bytes("first answer"), from);
  await conn.receive();
  for (const to of [conn.addr, from]) {
    const message = bytes("before");
    const sent = conn.send(message, to);
    message.fill(0);
    await sent;
    assertEquals((await conn.receive())[0], bytes("before"));
  }
});

test("UdConn.receive() without a buffer makes messages that share no memory", async () => {
  await using conn = await listen();
  for (const word of ["one", "two"]) await conn.send(bytes(word), conn.addr);
  const [one] = await conn.receive();
  const [two] = await conn.receive();
  structuredClone(one, { transfer: [one.buffer] });
  assertEquals([one.length, two], [0, bytes("two")]);
  assertGreater(conn.gidReason.length, 0);
});
