import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertGreater, assertRejects, assertThrows } from "@std/assert";
import { spy } from "@std/testing/mock";
import { verbs } from "../../../ffi/library.ts";
import { VerbsError } from "../../../mod.ts";
import { listenUd, type UdConn, type UdOptions } from "../../../net/mod.ts";
import { bytes, netTest, QKEY, RXE, text } from "./bed.ts";

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

netTest("UdConn counts the datagrams that it drops", async () => {
  await using server = await listen({ maxQueued: 10 });
  await using client = await listen();
  for (let i = 0; i < 30; i++) await client.send(bytes("x"), server.addr);
  while (server.stats.received < 30) await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(server.stats.dropped, 20);
  for (let i = 0; i < 10; i++) await server.receive();
});

netTest("UdConn.receive() keeps a message that does not fit the buffer", async () => {
  await using server = await listen();
  await using client = await listen();
  await client.send(bytes("long message"), server.addr);
  await assertRejects(() => server.receive(new Uint8Array(4)), RangeError, "12 bytes");
  assertEquals(text((await server.receive())[0]), "long message");
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
  const joins = [() => conn.joinMulticast("ff0e::1"), () => conn.leaveMulticast("ff0e::1")];
  for (const [i, action] of ["join", "leave"].entries()) {
    assertThrows(joins[i]!, Deno.errors.BadResource, `Cannot ${action} multicast group`);
  }
  await conn[Symbol.asyncDispose]();
  // The native call goes on, and keeps the device.
  while (recorder.live() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
});

netTest("listenUd() and UdConn.send() refuse what cannot work", async () => {
  await assertRejects(() => listenUd({ device: "nosuch0", qkey: QKEY }), Deno.errors.NotFound);
  await assertRejects(() => listen({ port: 9 }), RangeError);
  await assertRejects(() => listen({ qkey: -1 }), RangeError);
  await assertRejects(() => listen({ recvDepth: 0 }), Error);
  await using conn = await listen();
  const long = new Uint8Array(conn.maxMessage + 1);
  await assertRejects(() => conn.send(long, conn.addr), RangeError, "the MTU allows");
  const { addr } = conn;
  const wrong: [address: unknown, error: typeof TypeError, message: string][] = [
    [null, TypeError, "address: it is not an object"],
    ["::1", TypeError, "address: it is not an object"],
    [{ ...addr, transport: "rc" }, TypeError, 'address: its transport is not "ud"'],
    [{ ...addr, gid: 5 }, TypeError, "address: its gid is not a string"],
    [{ ...addr, qpn: 2 ** 24 }, RangeError, "qpn of address 16777216"],
    [{ ...addr, lid: -1 }, RangeError, "lid of address -1"],
    [{ ...addr, qkey: 1.5 }, TypeError, "qkey of address 1.5"],
  ];
  for (const [address, error, message] of wrong) {
    const send = () => conn.send(bytes("x"), address as typeof addr);
    await assertRejects(send, error, `Cannot use ${message}`);
  }
  await conn.send(bytes("still works"), conn.addr);
  assertEquals(text((await conn.receive())[0]), "still works");
});

netTest("listenUd() refuses unknown options and reads each option once", async () => {
  const wrong = { device: RXE, qkey: QKEY, sendDeep: 5 } as unknown as UdOptions;
  await assertRejects(() => listenUd(wrong), TypeError, '"sendDeep"');
  await assertRejects(() => listenUd(null as unknown as UdOptions), TypeError);
  for (
    const name of ["port", "gidIndex", "recvDepth", "sendDepth", "maxQueued", "maxPeers", "spin"]
  ) {
    await assertRejects(() => listen({ [name]: "1" }), TypeError, name);
    await assertRejects(() => listen({ [name]: -1 }), RangeError, name);
  }
  await assertRejects(() => listen({ device: 5 as unknown as string }), TypeError, "device");
  let reads = 0;
  await using conn = await listenUd({
    device: RXE,
    get qkey(): number {
      reads++;
      return QKEY;
    },
  });
  assertEquals([reads, conn.addr.qkey], [1, QKEY]);
});

netTest("UdConn.receive() and send() reject arguments of the wrong type", async () => {
  await using conn = await listen();
  const signal = {} as AbortSignal;
  await assertRejects(() => conn.receive(undefined, { signal }), TypeError, "signal");
  await assertRejects(() => conn.send(bytes("x"), conn.addr, { signal }), TypeError, "signal");
  const none = null as unknown as Uint8Array<ArrayBuffer>;
  await assertRejects(() => conn.receive(none), TypeError, "Cannot use p null");
  await assertRejects(() => conn.send(none, conn.addr), TypeError, "Cannot use message null");
  const options = { sginal: signal } as object;
  await assertRejects(() => conn.receive(undefined, options), TypeError, '"sginal"');
});

netTest("UdConn.send() answers with an address that another connection received", async () => {
  await using server = await listen();
  await using client = await listen();
  await using other = await listen();
  await client.send(bytes("a"), server.addr);
  const [, from] = await server.receive();
  await other.send(bytes("b"), from);
  assertEquals(text((await client.receive())[0]), "b");
});

netTest("UdConn.receive() gives the same address for each datagram of a peer", async () => {
  await using server = await listen();
  await using one = await listen();
  await using two = await listen();
  const seen = new Set<unknown>();
  for (let i = 0; i < 5; i++) {
    for (const client of [one, two]) {
      await client.send(bytes("x".repeat(i)), server.addr);
      const [message, from] = await server.receive();
      assertEquals([message.length, from.qpn], [i, client.addr.qpn]);
      seen.add(from);
    }
  }
  assertEquals(seen.size, 2);
});

netTest("UdConn keeps the order of datagrams while slots wrap around", async () => {
  await using server = await listen({ recvDepth: 3, maxQueued: 2 });
  await using client = await listen();
  const buffer = new Uint8Array(8);
  for (let i = 0; i < 20; i += 2) {
    await client.send(bytes(String(i)), server.addr);
    await client.send(bytes(String(i + 1)), server.addr);
    assertEquals(text((await server.receive(buffer))[0]), String(i));
    assertEquals(text((await server.receive())[0]), String(i + 1));
  }
  assertEquals(server.stats.dropped, 0);
});

netTest("UdConn drops the oldest datagrams when too many wait", async () => {
  await using server = await listen({ recvDepth: 40, maxQueued: 2 });
  await using client = await listen();
  for (let i = 0; i < 10; i++) await client.send(bytes(String(i)), server.addr);
  while (server.stats.received < 10) await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(server.stats.dropped, 8);
  assertEquals(text((await server.receive())[0]), "8");
  assertEquals(text((await server.receive())[0]), "9");
});

/** How often the completion queue is armed while somebody always waits, and 20 datagrams come. */
async function armings(spin: number): Promise<number> {
  await using conn = await listen({ spin });
  using armed = spy(verbs(), "ibv_req_notify_cq");
  let next = conn.receive();
  for (let i = 0; i < 20; i++) {
    const waiting = next;
    next = conn.receive();
    await conn.send(bytes(String(i)), conn.addr);
    assertEquals(text((await waiting)[0]), String(i));
  }
  const { length } = armed.calls;
  await conn.send(bytes("last"), conn.addr);
  await next;
  return length;
}

netTest("UdConn.receive() polls for as long as spin says before it waits", async () => {
  assertEquals(await armings(Number.MAX_SAFE_INTEGER), 0);
  assertGreater(await armings(0), 0);
});

netTest("UdConn.joinMulticast() and leaveMulticast() refuse what cannot work", async () => {
  const conn = await listenUd({ device: RXE, qkey: QKEY });
  assertThrows(() => conn.joinMulticast("10.0.0.1"), RangeError, "not a GID of multicast");
  assertThrows(() => conn.joinMulticast("nowhere"), SyntaxError);
  assertThrows(() => conn.joinMulticast("ff0e::1", 2 ** 16), RangeError);
  assertThrows(() => conn.leaveMulticast("ff0e::1"), VerbsError);
  // Closing leaves the groups.
  conn.joinMulticast("ff0e::1");
  await conn[Symbol.asyncDispose]();
  assertThrows(() => conn.joinMulticast("ff0e::1"), Deno.errors.BadResource);
  await assertRejects(() => conn.receive(), Deno.errors.BadResource);
});
