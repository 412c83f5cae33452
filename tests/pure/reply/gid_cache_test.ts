import { assertEquals } from "@std/assert";
import { Gid, type GidEntry, GidType } from "../../../types/address/gid.ts";
import { GidCache } from "../../../types/reply/gid_cache.ts";

function entry(text: string, gidIndex: number, gidType: GidType = GidType.ROCE_V2): GidEntry {
  return { gid: Gid.parse(text), gidIndex, portNum: 1, gidType, ndevIfindex: 2 };
}

function cacheOf(entries: readonly GidEntry[], length = 1024): GidCache {
  return new GidCache(entries, length, 22);
}

function find(cache: GidCache, text: string, isRoceV2 = true): number {
  const view = new DataView(Gid.parse(text).bytes.buffer);
  const word = (at: number): number => view.getUint32(at, true);
  return cache.find(word(0), word(4), word(8), word(12), isRoceV2);
}

for (const count of [0, 1, 2, 3, 200, 1024]) {
  Deno.test(`GidCache.find() finds every GID of ${count}, and no other`, () => {
    const text = (i: number): string => i % 2 === 0 ? `10.0.${i >> 8}.${i & 255}` : `fd00::${i}`;
    const cache = cacheOf(Array.from({ length: count }, (_, i) => entry(text(i), i)));
    for (let i = 0; i < count; i++) assertEquals(find(cache, text(i)), i);
    for (let i = count; i < count + 100; i++) assertEquals(find(cache, text(i)), -1);
  });
}

Deno.test("GidCache.find() compares each word of a GID with the last one that it found", () => {
  const texts = ["::", "::1", "::1:0:0", "0:0:1::", "1::"];
  const cache = cacheOf(texts.slice(1).map((text, i) => entry(text, i)));
  for (const last of texts.slice(1)) {
    for (const text of texts) {
      find(cache, last);
      assertEquals(find(cache, text), texts.indexOf(text) - 1, `${text} after ${last}`);
    }
  }
});

Deno.test("GidCache.find() distinguishes RoCE v2 from RoCE v1 and InfiniBand, and not these from each other", () => {
  const cache = cacheOf([
    entry("10.0.0.1", 3, GidType.ROCE_V1),
    entry("10.0.0.1", 4, GidType.ROCE_V2),
    entry("fe80::1", 5, GidType.IB),
  ]);
  assertEquals(find(cache, "10.0.0.1", false), 3);
  assertEquals(find(cache, "10.0.0.1", true), 4);
  assertEquals(find(cache, "fe80::1", false), 5);
  assertEquals(find(cache, "fe80::1", true), -1);
});

Deno.test("GidCache.find() finds the lowest index when several slots hold a GID", () => {
  const cache = cacheOf([entry("fd00::1", 9), entry("fd00::1", 7), entry("fd00::1", 8)]);
  assertEquals(find(cache, "fd00::1"), 7);
});

Deno.test("GidCache.find() finds the zero GID in the first empty slot when it looks for RoCE v1", () => {
  const cache = cacheOf([entry("fd00::1", 0), entry("fd00::2", 1), entry("fd00::3", 3)]);
  assertEquals(find(cache, "::", false), 2);
  assertEquals(find(cache, "::", true), -1);
});

Deno.test("GidCache.find() finds no zero GID when all slots are in use", () => {
  assertEquals(find(cacheOf([entry("fd00::1", 0), entry("fd00::2", 1)], 2), "::", false), -1);
});
