import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
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
import { listenUd, type UdAddress, type UdConn, type UdOptions } from "../../../net/mod.ts";
import { bytes, netTest, QKEY, RXE, text } from "./bed.ts";
import { until } from "../../until.ts";

function listen(options: Partial<UdOptions> = {}): Promise<UdConn> {
  return listenUd({ device: RXE, qkey: QKEY, ...options });
}

netTest(
  "UdConn.send() reaches the address of another connection, and the reply its sender",
  async () => {
    await using server = await listen();
    await using client = await listen();
    const address = JSON.parse(JSON.stringify(server.addr));
    assertEquals(await client.send(bytes("ping"), address), 4);
    const [message, from] = await server.receive();
    assertEquals(text(message), "ping");
    assertEquals([from.gid, from.qpn, from.qkey], [client.addr.gid, client.addr.qpn, QKEY]);
    await server.send(bytes("pong"), from);
    const buffer = new Uint8Array(16);
    const [reply] = await client.receive(buffer);
    assertEquals(text(reply), "pong");
    assertEquals(reply.buffer, buffer.buffer);
    assertEquals([server.stats.received, server.stats.sent], [1, 1]);
  },
);

netTest(
  "UdConn answers a known peer although strangers do not answer, after its addresses have changed",
  async () => {
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
      return AddressHandle.createAsync(pd, attr, { forStranger: true });
    });
    await server.send(bytes("pong"), from);
    go();
    for (const ah of await Promise.all(strangers)) ah.close();
  },
);

netTest("UdConn iterates over datagrams until it is closed", async () => {
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
  await assertRejects(() => server.receive(), Deno.errors.BadResource);
  await assertRejects(() => server.send(bytes("x"), client.addr), Deno.errors.BadResource);
});

netTest(
  "UdConn gives what was received after close(), and then tells that it is closed",
  async () => {
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
      for await (const [message, { qpn }] of server) {
        assertEquals(qpn, client.addr.qpn);
        seen.push(text(message)!);
      }
      assertEquals([seen.length + dropped, received], [20, 20]);
      assertEquals(seen, words.filter((word) => seen.includes(word)));
      if (read === 0) leastDropped = Math.min(leastDropped, dropped);
      await assertRejects(() => server.receive(), Deno.errors.BadResource, "closed");
      assertEquals(await Array.fromAsync(server), []);
      await server[Symbol.asyncDispose]();
    }
    assertEquals(leastDropped, 0);
  },
);

netTest("UdConn.close() gives what has come to the one who waits for it", async () => {
  await using client = await listen();
  await using server = await listen();
  const waiting = server.receive();
  await client.send(bytes("last"), server.addr);
  await client.sendMany([]);
  server.close();
  assertEquals(text((await waiting)[0]), "last");
});

netTest(
  "UdConn.sendMany() and receiveMany() keep the order, and leave what does not fit",
  async () => {
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
  },
);

netTest("UdConn.sendMany() sends nothing if it refuses a datagram", async () => {
  await using conn = await listen();
  const { addr } = conn;
  const bad: [unknown, string][] = [
    [null, "datagram is not an array"],
    [[bytes("x")], "address"],
    [["x", addr], "message"],
    [[new Uint8Array(conn.maxMessage + 1), addr], "maxMessage is"],
    [[bytes("x"), { ...addr, qpn: -1 }], "qpn"],
  ];
  for (const [datagram, message] of bad) {
    const datagrams = [[bytes("x"), addr], datagram] as [Uint8Array, UdAddress][];
    await assertRejects(() => conn.sendMany(datagrams), Error, message);
  }
  await assertRejects(() => conn.sendMany(addr as never), TypeError, "it is not an array");
  assertEquals([conn.stats.sent, await conn.sendMany([])], [0, 0]);
  conn.close();
  await assertRejects(() => conn.sendMany([]), Deno.errors.BadResource);
});

netTest("UdConn.send() reads an address again that the caller has changed", async () => {
  await using one = await listen();
  await using two = await listen();
  const address = { ...one.addr };
  await two.send(bytes("x"), address);
  Object.assign(address, { qpn: two.addr.qpn });
  await two.send(bytes("y"), address);
  const signal = AbortSignal.timeout(10_000);
  for (const [conn, word] of [[two, "y"], [one, "x"]] as const) {
    assertEquals(text((await conn.receive(undefined, { signal }))[0]), word);
  }
  Object.assign(address, { qpn: -1 });
  await assertRejects(() => two.send(bytes("z"), address), RangeError, "qpn");
  Object.assign(address, { qpn: one.addr.qpn });
  await two.send(bytes("z"), address);
  Object.assign(address, { transport: "RC" });
  await assertRejects(() => two.send(bytes("z"), address), TypeError, "transport");
  Object.assign(address, { transport: "UD", gid: "::ffff:10.0.0.9" });
  recorder.take();
  await two.send(bytes("z"), address);
  assertEquals(recorder.takeOf("ibv_create_ah").length, 1);
});

netTest("UdConn.send() waits while all sends are in progress, and loses none", async () => {
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

netTest("UdConn.receive() and send() end when the signal aborts", async () => {
  await using conn = await listen();
  await assertRejects(
    () => conn.receive(undefined, { signal: AbortSignal.timeout(10) }),
    DOMException,
  );
  await assertRejects(
    () => conn.send(bytes("x"), conn.addr, { signal: AbortSignal.abort() }),
    DOMException,
  );
  await conn.send(bytes("own"), conn.addr);
  assertEquals(text((await conn.receive())[0]), "own");
});

netTest("UdConn.close() rejects those who wait, and says what they did", async () => {
  const conn = await listen();
  recorder.delay("ibv_create_ah", 20);
  const calls = [
    ["receive", () => conn.receive()],
    ["send", () => conn.send(bytes("x"), conn.addr)],
    ["send", () => conn.send(bytes("x"), { ...conn.addr, gid: "::ffff:10.0.0.9" })],
  ] as const;
  const rejected = ([action, call]: typeof calls[number]): Promise<unknown> =>
    assertRejects(call, Deno.errors.BadResource, `Cannot ${action}: the connection is closed`);
  const waiting = calls.map(rejected);
  conn.close();
  await Promise.all([...waiting, ...calls.map(rejected)]);
  const joins = [() => conn.attachMcast("ff0e::1"), () => conn.detachMcast("ff0e::1")];
  for (const [i, action] of ["join", "leave"].entries()) {
    assertThrows(joins[i]!, Deno.errors.BadResource, `Cannot ${action} multicast group`);
  }
  await conn[Symbol.asyncDispose]();
  // The native call goes on, and keeps the device.
  await until("the end of the device", () => recorder.live() === 0);
});

netTest("listenUd() and UdConn.send() refuse what cannot work", async () => {
  await assertRejects(() => listenUd({ device: "nosuch0", qkey: QKEY }), Deno.errors.NotFound);
  await assertRejects(() => listen({ portNum: 9 }), RangeError);
  await assertRejects(() => listen({ sendDeep: 5 } as object), TypeError, '"sendDeep"');
  await using conn = await listen();
  const long = new Uint8Array(conn.maxMessage + 1);
  await assertRejects(
    () => conn.send(long, conn.addr),
    RangeError,
    `maxMessage is ${conn.maxMessage}`,
  );
  const { addr } = conn;
  const forged = { ...addr, qpn: 2 ** 24 };
  await assertRejects(() => conn.send(bytes("x"), forged), RangeError, "qpn of address 16777216");
  await conn.send(bytes("still works"), conn.addr);
  assertEquals(text((await conn.receive())[0]), "still works");
});

netTest("UdConn drops the oldest datagrams when too many wait", async () => {
  await using server = await listen({ recvDepth: 40, maxQueued: 2 });
  await using client = await listen();
  for (let i = 0; i < 10; i++) await client.send(bytes(String(i)), server.addr);
  await until("10 datagrams", () => server.stats.received === 10);
  assertEquals(server.stats.dropped, 8);
  assertEquals(text((await server.receive())[0]), "8");
  assertEquals(text((await server.receive())[0]), "9");
});

netTest("UdConn.attachMcast() and detachMcast() refuse what cannot work", async () => {
  const conn = await listenUd({ device: RXE, qkey: QKEY });
  assertThrows(() => conn.attachMcast("10.0.0.1"), RangeError, "not a GID of multicast");
  assertThrows(() => conn.attachMcast("nowhere"), SyntaxError);
  assertThrows(() => conn.attachMcast("ff0e::1", 2 ** 16), RangeError);
  assertThrows(() => conn.detachMcast("ff0e::1"), VerbsError);
  // Closing leaves the groups.
  conn.attachMcast("ff0e::1");
  await conn[Symbol.asyncDispose]();
});
