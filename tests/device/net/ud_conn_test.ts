import { assertEquals, assertRejects } from "@std/assert";
import { listenUd, type UdConn, type UdOptions } from "../../../net/mod.ts";
import { deviceTest, RXE } from "../setup.ts";

const QKEY = 0x1111_1111;

function listen(options: Partial<UdOptions> = {}): Promise<UdConn> {
  return listenUd({ device: RXE, qkey: QKEY, ...options });
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function text(message: Uint8Array): string {
  return new TextDecoder().decode(message);
}

deviceTest(
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

deviceTest("UdConn iterates over datagrams until it is closed", async () => {
  await using server = await listen();
  await using client = await listen();
  const seen: string[] = [];
  const iteration = (async () => {
    for await (const [message, from] of server) {
      seen.push(text(message));
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

deviceTest("UdConn.send() waits while all sends are in progress, and loses none", async () => {
  await using server = await listen({ recvDepth: 256 });
  await using client = await listen({ sendDepth: 4 });
  const count = 200;
  await Promise.all(
    Array.from({ length: count }, (_, i) => client.send(bytes(String(i)), server.addr)),
  );
  const seen = new Set<string>();
  while (seen.size < count) seen.add(text((await server.receive())[0]));
  assertEquals(client.stats, {
    received: 0,
    sent: count,
    dropped: 0,
    recvErrors: 0,
    sendErrors: 0,
  });
});

deviceTest("UdConn counts the datagrams that it drops", async () => {
  await using server = await listen({ maxQueued: 10 });
  await using client = await listen();
  for (let i = 0; i < 30; i++) await client.send(bytes("x"), server.addr);
  while (server.stats.received < 30) await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(server.stats.dropped, 20);
  for (let i = 0; i < 10; i++) await server.receive();
});

deviceTest("UdConn.receive() keeps a message that does not fit the buffer", async () => {
  await using server = await listen();
  await using client = await listen();
  await client.send(bytes("long message"), server.addr);
  await assertRejects(() => server.receive(new Uint8Array(4)), RangeError, "12 bytes");
  assertEquals(text((await server.receive())[0]), "long message");
});

deviceTest("UdConn.receive() and send() end when the signal aborts", async () => {
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

deviceTest("UdConn.close() rejects those who wait", async () => {
  const conn = await listen();
  const waiting = conn.receive();
  conn.close();
  await assertRejects(() => waiting, Deno.errors.BadResource, "the connection is closed");
  await conn[Symbol.asyncDispose]();
});

deviceTest("listenUd() and UdConn.send() refuse what cannot work", async () => {
  await assertRejects(() => listenUd({ device: "nosuch0", qkey: QKEY }), Deno.errors.NotFound);
  await assertRejects(() => listen({ port: 9 }), RangeError);
  await assertRejects(() => listen({ qkey: -1 }), RangeError);
  await assertRejects(() => listen({ recvDepth: 0 }), Error);
  await using conn = await listen();
  const long = new Uint8Array(conn.maxMessage + 1);
  await assertRejects(() => conn.send(long, conn.addr), RangeError, "the MTU allows");
  for (
    const wrong of [
      null,
      {},
      { ...conn.addr, transport: "rc" },
      { ...conn.addr, gid: 5 },
      {
        ...conn.addr,
        qpn: 2 ** 24,
      },
      { ...conn.addr, lid: -1 },
      { ...conn.addr, qkey: 1.5 },
    ]
  ) {
    await assertRejects(() => conn.send(bytes("x"), wrong as typeof conn.addr), Error);
  }
  await conn.send(bytes("still works"), conn.addr);
  assertEquals(text((await conn.receive())[0]), "still works");
});
