import { assertEquals, assertRejects } from "@std/assert";
import type { RcConn } from "../../../net/mod.ts";
import { deviceTest, until } from "../setup.ts";
import { bytes, rcPair } from "./rc_pair.ts";

/** Bytes that follow from their place, without a copy of them all. */
function source(seed: number, length: number): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (sent === length) return controller.close();
      const size = Math.min(1 + (sent * 7 + seed) % 100_000, length - sent);
      const chunk = Uint8Array.from({ length: size }, (_, i) => (sent + i) * seed >> 3);
      sent += size;
      controller.enqueue(chunk);
    },
  });
}

/** FNV-1a of all bytes, and their number. */
async function digest(stream: ReadableStream<Uint8Array>): Promise<[hash: number, length: number]> {
  let hash = 0x811c_9dc5;
  let length = 0;
  for await (const chunk of stream) {
    for (const byte of chunk) hash = Math.imul(hash ^ byte, 0x0100_0193);
    length += chunk.length;
  }
  return [hash, length];
}

deviceTest("RcConn.readable and writable carry MiB in both directions at once", async () => {
  await using pair = await rcPair({ credits: 8 });
  const size = 4 * 1024 * 1024;
  const send = (conn: RcConn, seed: number): Promise<void> =>
    source(seed, size).pipeTo(conn.writable);
  const { client, server } = pair;
  const [fromServer, fromClient] = await Promise.all([
    digest(client.readable),
    digest(server.readable),
    send(client, 3),
    send(server, 5),
  ]);
  assertEquals(fromClient, await digest(source(3, size)));
  assertEquals(fromServer, await digest(source(5, size)));
});

deviceTest("RcConn.writable waits for a slow reader", async () => {
  await using pair = await rcPair({ credits: 2, maxMessage: 1024, keepAlive: 0 });
  const writer = pair.client.writable.getWriter();
  let written = 0;
  const writing = (async () => {
    for (let i = 0; i < 20; i++) {
      await writer.write(new Uint8Array(1024).fill(i));
      written++;
    }
    await writer.close();
  })();
  await until("two chunks", () => written === 2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(written, 2);
  let seen = 0;
  for await (const chunk of pair.server.readable) {
    assertEquals(chunk[0], seen);
    seen++;
    await new Promise((resolve) => setTimeout(resolve, 2));
    if (written > seen + 3) throw new Error("the writer does not wait");
  }
  await writing;
  assertEquals(seen, 20);
});

deviceTest("RcConn.writable ends one direction only", async () => {
  await using pair = await rcPair();
  const { client, server } = pair;
  await client.writable.close();
  assertEquals(await server.receive(), null);
  await server.send(bytes("still"));
  assertEquals(await client.receive(), bytes("still"));
  await assertRejects(
    () => client.send(bytes("x")),
    Deno.errors.BadResource,
    "end of the messages",
  );
});

deviceTest("RcConn.writable.abort() closes the connection", async () => {
  await using pair = await rcPair({ timeout: 10, keepAlive: 20 });
  await pair.client.writable.abort();
  await assertRejects(() => pair.client.send(bytes("x")), Deno.errors.BadResource);
  await assertRejects(() => digest(pair.server.readable), Deno.errors.ConnectionReset);
});
