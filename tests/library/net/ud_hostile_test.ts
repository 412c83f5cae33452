import { assertEquals, assertGreater, assertInstanceOf, assertRejects } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import { connectRc, listenUd, type UdAddress, type UdConn } from "../../../net/mod.ts";
import { bytes, netTest, QKEY, RXE, until } from "./bed.ts";
import * as recorder from "../../provider/recorder.ts";

const { BadResource, NotFound } = Deno.errors;

/** A connection still sends to itself and receives. */
async function assertWorks(conn: UdConn): Promise<void> {
  await conn.send(bytes("still works"), conn.addr);
  assertEquals((await conn.receive())[0], bytes("still works"));
}

netTest("listenUd() and connectRc() reject a GID index without a GID", async () => {
  const options = { device: RXE, gidIndex: 200 };
  await assertRejects(() => listenUd({ ...options, qkey: QKEY }), NotFound, "GID index 200");
  const exchange = (): Promise<never> => Promise.reject(new Error("not reached"));
  await assertRejects(() => connectRc({ ...options, exchange }), NotFound, "GID index 200");
});

netTest("UdConn.send() refuses forged addresses, and the connection still works", async () => {
  await using conn = await listenUd({ device: RXE, qkey: QKEY });
  await conn.send(bytes("x"), conn.addr);
  const [, from] = await conn.receive();
  const bad: unknown[] = [
    { ...conn.addr, gid: "not a GID" },
    { ...conn.addr, gid: "x".repeat(100_000) },
    new Proxy({}, {
      get: () => {
        throw new Error("no property");
      },
    }),
    Symbol("address"),
  ];
  for (const address of bad) {
    await assertRejects(() => conn.send(bytes("x"), address as UdAddress), Error);
  }
  assertEquals(conn.stats.sent, 1);
  // Nobody is there. Whether the system has a route is another matter.
  for (
    const gid of ["::", "2001:db8::1", "::ffff:203.0.113.9", "::ffff:224.0.0.9", "::ffff:0.0.0.0"]
  ) {
    await conn.send(bytes("x"), { ...conn.addr, gid, qpn: 0xff_fff0 }).catch((error) => {
      assertInstanceOf(error, VerbsError, gid);
    });
  }
  // Neither a copy nor an heir of a sender is the sender, but both are addresses.
  for (const address of [{ ...from }, structuredClone({ ...from }), Object.create(from)]) {
    await conn.send(bytes("copy"), address);
    assertEquals((await conn.receive())[0], bytes("copy"));
  }
  await assertWorks(conn);
});

netTest(
  "UdConn.send() to a peer that is gone loses the datagram, and nothing else",
  async () => {
    await using conn = await listenUd({ device: RXE, qkey: QKEY });
    const gone = await listenUd({ device: RXE, qkey: QKEY });
    const { addr } = gone;
    gone.close();
    for (let i = 0; i < 300; i++) await conn.send(bytes(String(i)), addr);
    await conn.send(bytes("wrong qkey"), { ...conn.addr, qkey: 5 });
    await assertWorks(conn);
    const none = { dropped: 0, recvErrors: 0, sendErrors: 0, resets: 0 };
    assertEquals(conn.stats, { received: 1, sent: 302, ...none });
  },
);

netTest("UdConn keeps the order of datagrams that share lists", async () => {
  await using server = await listenUd({ device: RXE, qkey: QKEY });
  // Lists of the odd size wrap around the end of the memory.
  await using client = await listenUd({ device: RXE, qkey: QKEY, sendDepth: 37 });
  const { addr } = server;
  const count = 400;
  for (let i = 0; i < count; i++) {
    if (i % 3 === 0) await client.send(bytes(String(i)), addr);
    else client.send(bytes(String(i)), addr);
  }
  for (let i = 0; i < count; i++) assertEquals((await server.receive())[0], bytes(String(i)));
  assertEquals(client.stats.sent, count);
});

netTest("UdConn sends the message as it was when send() was called", async () => {
  await using conn = await listenUd({ device: RXE, qkey: QKEY });
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

netTest("listenUd() closes the connection when the signal aborts", async () => {
  const reason = new Error("enough");
  const aborted = AbortSignal.abort(reason);
  await assertRejects(
    () => listenUd({ device: RXE, qkey: QKEY, signal: aborted }),
    Error,
    "enough",
  );
  const wrong = {} as AbortSignal;
  await assertRejects(() => listenUd({ device: RXE, qkey: QKEY, signal: wrong }), TypeError);
  const abort = new AbortController();
  const conn = await listenUd({ device: RXE, qkey: QKEY, signal: abort.signal });
  const iterated = Array.fromAsync(conn);
  const waiting = assertRejects(() => conn.receive(), BadResource);
  abort.abort(reason);
  assertEquals(await iterated, []);
  await waiting;
  await assertRejects(() => conn.receive(), BadResource);
  await conn[Symbol.asyncDispose]();
});

netTest("UdConn.close() works in every state, and every call tells of it", async () => {
  const states: Record<string, (conn: UdConn) => Promise<unknown>> = {
    "unused": () => Promise.resolve(),
    "receiving": (conn) => conn.receive(),
    "iterating": (conn) => Array.fromAsync(conn),
    "sending": async (conn) => {
      await Promise.all(Array.from({ length: 500 }, () => conn.send(bytes("x"), conn.addr)));
    },
    "datagrams wait": async (conn) => {
      for (let i = 0; i < 100; i++) await conn.send(bytes("x"), conn.addr);
    },
    "member of a group": (conn) => Promise.resolve(conn.attachMcast("::ffff:239.1.2.3")),
  };
  for (const [state, enter] of Object.entries(states)) {
    const conn = await listenUd({ device: RXE, qkey: QKEY, sendDepth: 8 });
    const { addr } = conn;
    const entered = enter(conn).catch((error) => error);
    await Promise.resolve();
    conn.close();
    conn.close();
    const outcome = await entered;
    if (outcome instanceof Error) assertInstanceOf(outcome, BadResource, state);
    await assertRejects(() => conn.receive(), BadResource, undefined, state);
    await assertRejects(() => conn.send(bytes("x"), addr), BadResource, undefined, state);
    assertEquals(await Array.fromAsync(conn), [], state);
    assertEquals(conn.addr, addr, state);
    assertEquals(conn.stats.recvErrors, 0);
    await conn[Symbol.asyncDispose]();
    // The look-up of a peer's link address ends by itself.
    await until("all objects are destroyed", () => recorder.live() === 0);
  }
});

netTest("UdConn.receive() without a buffer makes messages that share no memory", async () => {
  await using conn = await listenUd({ device: RXE, qkey: QKEY });
  for (const word of ["one", "two"]) await conn.send(bytes(word), conn.addr);
  const [one] = await conn.receive();
  const [two] = await conn.receive();
  structuredClone(one, { transfer: [one.buffer] });
  assertEquals([one.length, two], [0, bytes("two")]);
  assertGreater(conn.gidReason.length, 0);
});
