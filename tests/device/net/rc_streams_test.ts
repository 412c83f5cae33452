import { createHash, type Hash } from "node:crypto";
import { assertEquals } from "@std/assert";
import { deviceTest } from "../setup.ts";
import { rcPair } from "./rc_pair.ts";

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
