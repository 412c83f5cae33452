import { assertEquals } from "@std/assert";
import { PeerCache } from "../../../types/reply/peer_cache.ts";

function key(peer: number): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(8);
  // peers differ in one word each, and not always in the same
  words[peer % 8] = peer + 1;
  return words;
}

/** What it should do, by the order of a Map. */
class Model {
  readonly #map: Map<number, number> = new Map();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#map.size;
  }

  find(peer: number): number | undefined {
    const value = this.#map.get(peer);
    if (value !== undefined) {
      this.#map.delete(peer);
      this.#map.set(peer, value);
    }
    return value;
  }

  set(peer: number, value: number): number | undefined {
    const replaced = this.#map.get(peer);
    this.#map.set(peer, value);
    if (replaced !== undefined || this.#map.size <= this.#capacity) return replaced;
    const [oldest, evicted] = this.#map.entries().next().value!;
    this.#map.delete(oldest);
    return evicted;
  }

  takeAll(): number[] {
    const values = [...this.#map.values()];
    this.#map.clear();
    return values;
  }
}

for (const capacity of [1, 2, 10, 1000, 10_000]) {
  Deno.test(`PeerCache forgets the peer not asked for longest when it holds ${capacity}`, () => {
    const cache = new PeerCache<number>(capacity);
    const model = new Model(capacity);
    let state = 12_345;
    for (let step = 0; step < 60_000; step++) {
      state = Math.imul(state, 1_103_515_245) + 12_345 >>> 0;
      const peer = (state >>> 8) % (capacity + capacity / 2 + 2 | 0);
      if (step === 40_000) assertEquals(cache.takeAll(), model.takeAll());
      const found = cache.find(key(peer));
      assertEquals(found, model.find(peer));
      if (found === undefined) assertEquals(cache.set(key(peer), step), model.set(peer, step));
      assertEquals(cache.size, model.size);
    }
    assertEquals(cache.takeAll(), model.takeAll());
    assertEquals(cache.size, 0);
  });
}

Deno.test("PeerCache.set() replaces what was known of a peer, and gives it back", () => {
  const cache = new PeerCache<string>(2);
  assertEquals(cache.set(key(1), "old"), undefined);
  assertEquals(cache.set(key(2), "other"), undefined);
  assertEquals(cache.set(key(1), "new"), "old");
  assertEquals(cache.find(key(1)), "new");
  assertEquals(cache.find(key(2)), "other");
  assertEquals(cache.size, 2);
});

Deno.test("PeerCache.find() tells peers apart when they differ in one bit of any word", () => {
  const cache = new PeerCache<number>(257);
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

Deno.test("PeerCache.find() finds no peer that shares the bucket of another one", () => {
  // One peer has two buckets: about half of the others share its bucket.
  const cache = new PeerCache<number>(1);
  cache.set(new Uint32Array(8), 1);
  for (let i = 0; i < 256; i++) {
    const other = new Uint32Array(8);
    other[i >> 5] = 1 << (i & 31);
    assertEquals(cache.find(other), undefined);
  }
});
