import { assertEquals, assertThrows } from "@std/assert";
import { Grh } from "../../../types/address/grh.ts";

/** The example of RFC 1071's users: a header whose checksum is known to be b861. */
const KNOWN_IPV4 = "4500007300004000" + "4011b861c0a80001" + "c0a800c7";

/** A GRH with that first byte, and that IPv4 header in its second half. */
function grh(first: number, ipv4: string): Grh {
  const bytes = new Uint8Array(40);
  bytes[0] = first;
  bytes.set(Uint8Array.fromHex(ipv4), 20);
  return new Grh(bytes);
}

function withByte(hex: string, at: number, value: number): string {
  const bytes = Uint8Array.fromHex(hex);
  bytes[at] = value;
  return bytes.toHex();
}

Deno.test("Grh copies the first 40 bytes, and throws when there are fewer", () => {
  const bytes = new Uint8Array(100).fill(1);
  const { bytes: copy } = new Grh(bytes);
  bytes.fill(2);
  assertEquals(copy, new Uint8Array(40).fill(1));
  assertEquals(Grh.SIZE, 40);
  const few = new Uint8Array(39);
  assertThrows(() => new Grh(few), RangeError, "it has 40 bytes, and there are 39");
});

Deno.test("Grh reads the fields of an IPv6 header in host order", () => {
  const bytes = Uint8Array.from({ length: 40 }, (_, i) => i);
  bytes.set([0x6a, 0x5b, 0xcd, 0xef, 0x01, 0x02, 0x11, 0x40]);
  const header = new Grh(bytes);
  assertEquals(header.versionTclassFlow, 0x6a5bcdef);
  assertEquals([header.trafficClass, header.flowLabel], [0xa5, 0xbcdef]);
  assertEquals([header.paylen, header.nextHdr, header.hopLimit], [0x0102, 17, 64]);
  assertEquals(header.sgid.bytes, bytes.slice(8, 24));
  assertEquals(header.dgid.bytes, bytes.slice(24, 40));
});

Deno.test("Grh reads the fields of an IPv4 header in host order", () => {
  const header = grh(0, "45b8123456784000" + "3f11abcd0a000001" + "0a0000fe");
  assertEquals(header.ipVersion, 4);
  assertEquals(header.ipv4, {
    ihl: 5,
    tos: 0xb8,
    totalLength: 0x1234,
    identification: 0x5678,
    ttl: 63,
    protocol: 17,
    checksum: 0xabcd,
    saddr: "10.0.0.1",
    daddr: "10.0.0.254",
  });
  const text =
    "Grh { ipVersion: 4, sgid: ::ffff:10.0.0.1, dgid: ::ffff:10.0.0.254, ttl: 63, tos: 184 }";
  assertEquals(Deno.inspect(header), text);
});

Deno.test("Grh.ipVersion needs no checksum when the first byte is not IPv6's", () => {
  for (const first of [0x00, 0x45, 0x55, 0x5f, 0x70, 0xff]) {
    assertEquals(grh(first, withByte(KNOWN_IPV4, 10, 0)).ipVersion, 4);
    // Neither half begins a header.
    for (const second of [0x00, 0x35, 0x54, 0x65]) {
      assertEquals(grh(first, withByte(KNOWN_IPV4, 0, second)).ipVersion, undefined);
    }
  }
});

Deno.test("Grh.ipVersion goes by the IPv4 checksum when the first byte is IPv6's", () => {
  assertEquals(grh(0x60, KNOWN_IPV4).ipVersion, 4);
  assertEquals(grh(0x6f, KNOWN_IPV4).ipVersion, 4);
  for (let at = 1; at < 20; at++) {
    const changed = withByte(KNOWN_IPV4, at, Uint8Array.fromHex(KNOWN_IPV4)[at]! ^ 1);
    assertEquals(grh(0x60, changed).ipVersion, 6, `byte ${at}`);
  }
});

Deno.test("Grh.ipVersion is 6 when an IPv4 header would have options, whatever the checksum", () => {
  // the checksum's upper byte falls by what the first byte grows
  assertEquals(grh(0x60, withByte(withByte(KNOWN_IPV4, 0, 0x46), 10, 0xb7)).ipVersion, 6);
  assertEquals(grh(0x60, withByte(withByte(KNOWN_IPV4, 0, 0x44), 10, 0xb9)).ipVersion, 6);
});

Deno.test("Grh.ipVersion looks at the header length only when the first byte is IPv6's", () => {
  // 0x55 is no IPv4 version, but has IPv4's header length; the checksum is adjusted for it
  const adjusted = withByte(withByte(KNOWN_IPV4, 0, 0x55), 10, 0xa8);
  assertEquals(grh(0x60, adjusted).ipVersion, 4);
  assertEquals(grh(0x00, adjusted).ipVersion, undefined);
});

Deno.test("Grh.ipVersion is 6 when the checksum needs folding twice, as libibverbs folds once", () => {
  // the words without the checksum sum up to 1ffff as the host reads them: fff5 + 45 + ffc5 is so large that
  // folding it gives 10000, and folding again 1
  const words = [0x0045, 0xffff, 0xffbb, 0, 0, 0, 0, 0, 0, 0];
  const bytes = new Uint8Array(20);
  const view = new DataView(bytes.buffer);
  words.forEach((word, i) => view.setUint16(2 * i, word, true));
  const sum = words.reduce((all, word) => all + word);
  assertEquals(sum, 0x1_ffff);
  view.setUint16(10, ~1 & 0xffff, true);
  assertEquals(grh(0x60, bytes.toHex()).ipVersion, 6);
  assertEquals(grh(0x00, bytes.toHex()).ipVersion, 4);
});
