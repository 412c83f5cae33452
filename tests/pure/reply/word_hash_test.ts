import { assert, assertEquals } from "@std/assert";
import { WordHash } from "../../../types/reply/word_cache.ts";

const BITS = 12;

/** How many keys the fullest bucket gets. */
function fullest(hash: WordHash, keys: readonly Uint32Array[]): number {
  const counts = new Uint32Array(2 ** BITS);
  let most = 0;
  for (const key of keys) most = Math.max(most, ++counts[hash.of(key, 0)]!);
  return most;
}

/** 4096 keys that differ in the same three bits of four words, as senders could choose their addresses. */
function keysOfBits(shift: number): Uint32Array[] {
  return Array.from({ length: 4096 }, (_, i) => {
    const key = Uint32Array.of(0x20010db8, 0, 0, 0, 7, 0x4001, 0, 0x0101_0000);
    for (let word = 0; word < 4; word++) key[word]! ^= (i >> 3 * word & 7) << shift;
    return key;
  });
}

for (const shift of [0, 8, 13, 16, 24, 29]) {
  Deno.test(`WordHash.of() spreads keys that differ in three bits from ${shift} on of four words`, () => {
    // A fair hash puts at most about 8 of 4096 keys into one of 4096 buckets.
    const most = Array.from({ length: 5 }, () => fullest(new WordHash(BITS), keysOfBits(shift)));
    assert(Math.max(...most) < 40, `the fullest buckets have ${most} keys`);
  });
}

/** 1024 keys, each made of one word of a sequence. */
const SEQUENCES: Record<string, (step: number) => number[]> = {
  "one word": (step) => [0xfe80, 0, 0, step],
  "two equal words": (step) => [0xfe80, 0, step, 7, 0, 0x4001, step],
  "the upper half of one word": (step) => [0xfe80, 0, 0, step << 16],
  "two words with the same sum": (step) => [0xfe80, step << 16, -step << 16, 7],
};

/** With how many keys of its bucket each key is compared on average, for the worst of many hashes. */
function worst(hashes: number, keys: readonly Uint32Array[]): number {
  const costs = Array.from({ length: hashes }, () => {
    const hash = new WordHash(BITS);
    const counts = new Uint32Array(2 ** BITS);
    return keys.reduce((cost, key) => cost + ++counts[hash.of(key, 0)]!, 0) / keys.length;
  });
  return Math.max(...costs);
}

for (const [what, wordsOf] of Object.entries(SEQUENCES)) {
  Deno.test(`WordHash.of() spreads keys that count in ${what}, whatever its random factors are`, () => {
    const keys = Array.from({ length: 1024 }, (_, step) => {
      const key = new Uint32Array(8);
      key.set(wordsOf(step));
      return key;
    });
    // A fair hash takes 1.125 comparisons, and never 1.5. Without mixing, the worst of 500 hashes takes about 10.
    assert(worst(500, keys) < 1.5);
  });
}

Deno.test("WordHash.of() depends on every bit of the key", () => {
  const differing = Array.from({ length: 256 }, () => 0);
  for (let round = 0; round < 8; round++) {
    const hash = new WordHash(31);
    const none = hash.of(new Uint32Array(8), 0);
    for (let bit = 0; bit < 256; bit++) {
      const key = new Uint32Array(8);
      key[bit >> 5] = 1 << (bit & 31);
      if (hash.of(key, 0) !== none) differing[bit]!++;
    }
  }
  assert(differing.every((count) => count > 4), String(differing));
});

Deno.test("WordHash.of() reads the key at an index, and stays below the number of buckets", () => {
  for (const bits of [1, 12, 31]) {
    const hash = new WordHash(bits);
    const keys = crypto.getRandomValues(new Uint32Array(8 * 100));
    for (let at = 0; at < keys.length; at += 8) {
      const bucket = hash.of(keys, at);
      assertEquals(bucket, hash.of(keys.slice(at, at + 8), 0));
      assert(bucket >= 0 && bucket < 2 ** bits);
    }
  }
});

Deno.test("WordHash.of() differs between caches", () => {
  const key = crypto.getRandomValues(new Uint32Array(8));
  const hashes = Array.from({ length: 8 }, () => new WordHash(31).of(key, 0));
  assert(new Set(hashes).size > 1);
});
