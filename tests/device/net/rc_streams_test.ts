import { createHash, type Hash } from "node:crypto";
import { assertEquals, assertRejects } from "@std/assert";
import { deviceTest, until } from "../setup.ts";
import { bytes, rcPair } from "./rc_pair.ts";

/** MiB in each direction. A long run has 1024. */
const MIB = Number(Deno.env.get("IBVERBS_NET_MIB") ?? 4);
const BLOCK = crypto.getRandomValues(new Uint8Array(65_536));

/** Chunks of many sizes. The hash gets what is sent. */
function source(seed: number, length: number, hash: Hash): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (sent === length) return controller.close();
      const size = Math.min(1 + (sent * 7 + seed) % BLOCK.length, length - sent);
      const chunk = BLOCK.subarray(BLOCK.length - size);
      hash.update(chunk);
      sent += size;
      controller.enqueue(chunk);
    },
  });
}

type Four = [Hash, Hash, Hash, Hash];

async function read(stream: ReadableStream<Uint8Array>, hash: Hash): Promise<number> {
  let length = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    length += chunk.length;
  }
  return length;
}

deviceTest(`RcConn.readable and writable carry ${MIB} MiB in both directions at once`, async () => {
  await using pair = await rcPair({ credits: 8, ...(MIB > 4 && { credits: 32 }) });
  const size = MIB * 1024 * 1024;
  const { client, server } = pair;
  const [sent1, sent2, got1, got2] = Array.from({ length: 4 }, () => createHash("md5")) as Four;
  const start = performance.now();
  const lengths = await Promise.all([
    read(client.readable, got1),
    read(server.readable, got2),
    source(3, size, sent2).pipeTo(client.writable),
    source(5, size, sent1).pipeTo(server.writable),
  ]);
  const seconds = (performance.now() - start) / 1000;
  assertEquals(lengths.slice(0, 2), [size, size]);
  assertEquals(got1.digest("hex"), sent1.digest("hex"));
  assertEquals(got2.digest("hex"), sent2.digest("hex"));
  if (MIB > 4) {
    const { rss } = Deno.memoryUsage();
    console.log(
      `${seconds.toFixed(1)} s, ${(2 * MIB / seconds).toFixed(1)} MiB/s, rss ${rss >> 20} MiB`,
    );
  }
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
  await using pair = await rcPair({ timeout: 14, keepAlive: 20 });
  await pair.client.writable.abort();
  await assertRejects(() => pair.client.send(bytes("x")), Deno.errors.BadResource);
  await assertRejects(
    () => read(pair.server.readable, createHash("md5")),
    Deno.errors.ConnectionReset,
  );
});
