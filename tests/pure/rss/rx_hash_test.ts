import { Buffer } from "node:buffer";
import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import type { RssFlow } from "../../../types/rss/rss_flow.ts";
import { RxHash, RxHashFields, RxHashFunction } from "../../../types/rss/rx_hash.ts";
import { microsoftRssKey } from "../../../types/rss/toeplitz.ts";
import { rssVectors } from "./rss_vectors.ts";

const { SRC_IPV4, DST_IPV4, SRC_IPV6, DST_IPV6, SRC_PORT_TCP, DST_PORT_TCP } = RxHashFields;
const ADDRESSES = SRC_IPV4 | DST_IPV4 | SRC_IPV6 | DST_IPV6;
const FLOW: RssFlow = { srcIp: "66.9.149.187", dstIp: "161.142.100.80" };

function rxHash(rxHashFieldsMask: number, rxHashKey: Uint8Array = microsoftRssKey()): RxHash {
  return new RxHash({ rxHashKey, rxHashFieldsMask });
}

Deno.test("RxHash.hash() gives the published hashes", () => {
  const all = ADDRESSES | SRC_PORT_TCP | DST_PORT_TCP;
  for (const vector of rssVectors) {
    const flow = { ...vector, protocol: "tcp" } as const;
    assertEquals(rxHash(ADDRESSES).hash(flow), vector.addresses);
    assertEquals(rxHash(all).hash(flow), vector.all);
    assertEquals(rxHash(all).hash({ ...vector, protocol: "udp" }), vector.addresses);
  }
});

Deno.test("RxHash.hash() is 0 when no field is selected", () => {
  assertEquals(rxHash(0).hash(FLOW), 0);
  assertEquals(rxHash(SRC_IPV6).hash(FLOW), 0);
});

Deno.test("RxHash.hash() is that of both directions when symmetric", () => {
  const hash = rxHash(ADDRESSES);
  const back = { srcIp: FLOW.dstIp, dstIp: FLOW.srcIp };
  assertEquals(hash.hash(FLOW, { symmetric: true }), hash.hash(back, { symmetric: true }));
  assertNotEquals(hash.hash(FLOW), hash.hash(back));
});

Deno.test("RxHash takes a function of its own accord, and a copy of the key", () => {
  const key = microsoftRssKey();
  const hash = rxHash(ADDRESSES, key);
  key.fill(0);
  hash.rxHashKey.fill(0);
  assertEquals(hash.rxHashFunction, RxHashFunction.TOEPLITZ);
  assertEquals(hash.rxHashKey, microsoftRssKey());
  assertEquals(hash.hash(FLOW), rssVectors[0]!.addresses);
});

Deno.test("RxHash takes INNER along with other fields, and hashes the flow inside", () => {
  const hash = rxHash(ADDRESSES | RxHashFields.INNER);
  assertEquals(hash.rxHashFieldsMask, 0x8000_000f);
  assertEquals([hash.inner, rxHash(ADDRESSES).inner], [true, false]);
  assertEquals(hash.hash(FLOW), rssVectors[0]!.addresses);
});

Deno.test("new RxHash() copies the key even if it is a Node Buffer", () => {
  const key = Buffer.from(microsoftRssKey());
  const hash = rxHash(ADDRESSES, key);
  key.fill(0);
  assertEquals(hash.hash(FLOW), rssVectors[0]!.addresses);
});

Deno.test("RxHash.hash() is right when a getter of the flow hashes another flow", () => {
  const hash = rxHash(ADDRESSES);
  const flow = {
    srcIp: FLOW.srcIp,
    get dstIp(): string | Uint8Array {
      hash.hash({ srcIp: "1.2.3.4", dstIp: "5.6.7.8" });
      return FLOW.dstIp;
    },
  };
  assertEquals(hash.hash(flow), rssVectors[0]!.addresses);
});

const INIT = { rxHashKey: microsoftRssKey(), rxHashFieldsMask: ADDRESSES };

Deno.test("RxHash.hash() refuses what cannot be predicted", () => {
  const spi = rxHash(RxHashFields.IPSEC_SPI);
  assertThrows(() => spi.hash(FLOW), RangeError, "Cannot predict a hash");
  const other = new RxHash({ ...INIT, rxHashFunction: 2 as RxHashFunction });
  assertThrows(() => other.hash(FLOW), RangeError, "by function 2");
});

Deno.test("RxHash.hash() refuses a key that is too short for the flow", () => {
  const short = rxHash(ADDRESSES, microsoftRssKey().subarray(0, 12));
  assertEquals(short.hash(FLOW), rssVectors[0]!.addresses);
  assertThrows(
    () => short.hash({ srcIp: "::1", dstIp: "::2" }),
    RangeError,
    "Cannot hash 32 bytes: the key has 12 bytes, 36 are needed",
  );
  assertThrows(() => rxHash(0, new Uint8Array(3)).hash(FLOW), RangeError, "4 are needed");
});
