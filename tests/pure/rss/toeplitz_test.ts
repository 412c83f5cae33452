import { assertEquals, assertNotEquals } from "@std/assert";
import { microsoftRssKey, toeplitz, ToeplitzKey } from "../../../types/rss/toeplitz.ts";

/** As in the pseudocode of the specification: the key shifts by one bit for each bit of the input. */
function reference(key: Uint8Array, input: Uint8Array): number {
  let shifted = BigInt(`0x${key.toHex()}`);
  const top = BigInt(key.length * 8 - 32);
  let hash = 0n;
  for (const byte of input) {
    for (const bit of byte.toString(2).padStart(8, "0")) {
      if (bit === "1") hash ^= (shifted >> top) & 0xffffffffn;
      shifted <<= 1n;
    }
  }
  return Number(hash);
}

function random(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** Both ways to hash agree with the reference. */
function check(key: Uint8Array, prepared: ToeplitzKey, input: Uint8Array): void {
  const expected = reference(key, input);
  assertEquals([toeplitz(key, input), prepared.hash(input)], [expected, expected]);
}

Deno.test("toeplitz() and ToeplitzKey agree with the reference for every length and single bit", () => {
  const key = random(40);
  const prepared = new ToeplitzKey(key);
  for (let length = 0; length <= 36; length++) check(key, prepared, random(length));
  for (let bit = 0; bit < 36 * 8; bit++) {
    const input = new Uint8Array(36);
    input[bit >> 3] = 0x80 >> (bit & 7);
    check(key, prepared, input);
  }
});

Deno.test("toeplitz() hashes both directions alike when the key repeats every 16 bits", () => {
  const key = new Uint8Array(40).map((_, i) => i % 2 === 0 ? 0x6d : 0x5a);
  const there = random(12);
  const [source, destination] = [there.subarray(0, 4), there.subarray(4, 8)];
  const [srcPort, dstPort] = [there.subarray(8, 10), there.subarray(10)];
  const back = new Uint8Array([...destination, ...source, ...dstPort, ...srcPort]);
  assertEquals(toeplitz(key, there), toeplitz(key, back));
  assertNotEquals(toeplitz(microsoftRssKey(), there), toeplitz(microsoftRssKey(), back));
});

Deno.test("ToeplitzKey keeps its own copy of the key", () => {
  const bytes = microsoftRssKey();
  const key = new ToeplitzKey(bytes);
  const input = random(12);
  const hash = key.hash(input);
  bytes.fill(0);
  assertEquals(key.hash(input), hash);
  assertEquals(hash, toeplitz(microsoftRssKey(), input));
});
