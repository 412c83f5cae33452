import { assert, assertEquals } from "@std/assert";
import { WordCache } from "../../../types/reply/word_cache.ts";

function key(peer: number): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(8);
  // peers differ in one word each, and not always in the same
  words[peer % 8] = peer + 1;
  return words;
}

for (const capacity of [1, 2, 10, 1000, 10_000]) {
  Deno.test(`WordCache forgets the peer not asked for longest when it holds ${capacity}`, () => {
    const cache = new WordCache<number>(capacity);
    /** What it should have, the peer not asked for longest first. */
    const model = new Map<number, number>();
    const takeAll = (): void => {
      assertEquals(cache.takeAll(), [...model.values()]);
      model.clear();
    };
    let state = 12_345;
    for (let step = 0; step < 60_000; step++) {
      state = Math.imul(state, 1_103_515_245) + 12_345 >>> 0;
      const peer = (state >>> 8) % (capacity + capacity / 2 + 2 | 0);
      if (step === 40_000) takeAll();
      const known = model.get(peer);
      assertEquals(cache.find(key(peer)), known);
      model.delete(peer);
      model.set(peer, known ?? step);
      if (known === undefined) {
        const [oldest, evicted] = model.size > capacity ? [...model.entries().take(1)][0]! : [];
        if (oldest !== undefined) model.delete(oldest);
        assertEquals(cache.set(key(peer), step), evicted);
      }
      assertEquals(cache.size, model.size);
    }
    takeAll();
    assertEquals(cache.size, 0);
  });
}

Deno.test("WordCache.set() replaces what was known of a peer, and gives it back", () => {
  const cache = new WordCache<string>(2);
  assertEquals(cache.set(key(1), "old"), undefined);
  assertEquals(cache.set(key(2), "other"), undefined);
  assertEquals(cache.set(key(2), "new"), "other");
  assertEquals(cache.find(key(1)), "old");
  assertEquals(cache.find(key(2)), "new");
  assertEquals(cache.size, 2);
});

Deno.test("WordCache.find() tells peers apart when they differ in one bit of any word", () => {
  const cache = new WordCache<number>(257);
  const none = new Uint32Array(8);
  cache.set(none, -1);
  const bit = (i: number): Uint32Array<ArrayBuffer> => {
    const words = new Uint32Array(8);
    words[i >> 5] = 1 << (i & 31);
    return words;
  };
  for (let i = 0; i < 256; i++) assertEquals(cache.set(bit(i), i), undefined);
  for (let i = 0; i < 256; i++) assertEquals(cache.find(bit(i)), i);
  assertEquals(cache.find(none), -1);
});

Deno.test("WordCache.find() finds no peer that shares the bucket of another one", () => {
  // One peer has two buckets: about half of the others share its bucket.
  const cache = new WordCache<number>(1);
  cache.set(new Uint32Array(8), 1);
  for (let i = 0; i < 256; i++) {
    const other = new Uint32Array(8);
    other[i >> 5] = 1 << (i & 31);
    assertEquals(cache.find(other), undefined);
  }
});

const PEERS = 1024;

/** How many entries a cache compares a peer with, on average, when all peers are looked for one after the other. */
function probes(keyOf: (peer: number) => Uint32Array<ArrayBuffer>): number {
  const cache = new WordCache<number>(PEERS);
  for (let peer = 0; peer < PEERS; peer++) cache.set(keyOf(peer), peer);
  let reads = 0;
  let compared = 0;
  for (let round = 0; round < 3; round++) {
    for (let peer = 0; peer < PEERS; peer++) {
      const counting = new Proxy(keyOf(peer), {
        get: (words, name) => {
          // A comparison begins with word 3. The hashes read word 3 and others after it.
          if (name === "3") reads++;
          return Reflect.get(words, name, words);
        },
      });
      reads = 0;
      assertEquals(cache.find(counting), peer);
      compared += reads;
    }
  }
  return compared / (3 * PEERS);
}

/** Keys of a peer that knows this program, but not the random factors of the cache. */
const HOSTILE: Record<string, (peer: number) => Uint32Array<ArrayBuffer>> = {
  "of one plain hash": (peer) => Uint32Array.of(0xfe80, 0, peer, 7, 0, 0x4001, peer, 0x0101_0000),
  "of one plain hash, by other words": (peer) =>
    Uint32Array.of(peer, peer, 0, 7, 0, 0x4001, 0, 0x0101_0000),
  "that differ in the upper bits only": (peer) =>
    Uint32Array.of(0xfe80, (peer >> 5) << 27, (peer & 31) << 27, 7, 0, 0x4001, 0, 0x0101_0000),
  "whose sum of words is the same": (peer) =>
    Uint32Array.of(0xfe80, peer << 16, -peer << 16, 7, 0, 0x4001, 0, 0x0101_0000),
};

for (const [what, keyOf] of Object.entries(HOSTILE)) {
  Deno.test(`WordCache.find() takes at most 3 times as many steps for keys ${what}`, () => {
    const ordinary = probes((peer) =>
      Uint32Array.of(0xfe80, 0, 0, peer, 0, 0x4001, 0, 0x0101_0000)
    );
    const hostile = probes(keyOf);
    assert(hostile <= 3 * ordinary, `${hostile} steps, ordinary ${ordinary}`);
  });
}
