import { assertEquals, assertThrows } from "@std/assert";
import { formatAddress, parseAddress } from "../../../types/address/ip_address.ts";

/** Text as `inet_ntop` of glibc writes it, and its bytes. */
const canonical: [text: string, hex: string][] = [
  ["0.0.0.0", "00000000"],
  ["192.168.0.1", "c0a80001"],
  ["255.255.255.255", "ffffffff"],
  ["::", "00000000000000000000000000000000"],
  ["::1", "00000000000000000000000000000001"],
  ["fe80::1", "fe800000000000000000000000000001"],
  ["1::", "00010000000000000000000000000000"],
  ["1:2:3:4:5:6:7:8", "00010002000300040005000600070008"],
  ["1:0:3:4:5:6:7:8", "00010000000300040005000600070008"],
  ["0:2:3:4:5:6:7:0", "00000002000300040005000600070000"],
  ["1::4:0:0:7:8", "00010000000000040000000000070008"],
  ["1:0:0:4::8", "00010000000000040000000000000008"],
  ["::3:4:5:6:7:8", "00000000000300040005000600070008"],
  ["1:2:3:4:5:6::", "00010002000300040005000600000000"],
  ["2001:db8::ff00:42:8329", "20010db8000000000000ff0000428329"],
  ["::ffff:10.0.0.1", "00000000000000000000ffff0a000001"],
  ["::10.0.0.1", "0000000000000000000000000a000001"],
  ["::ffff:0:0:1", "0000000000000000ffff000000000001"],
  ["::fffe:a00:1", "00000000000000000000fffe0a000001"],
  ["::1:a00:1", "000000000000000000000001" + "0a000001"],
  ["64:ff9b::a00:1", "0064ff9b00000000000000000a000001"],
  ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "f".repeat(32)],
];

for (const [text, hex] of canonical) {
  Deno.test(`parseAddress() and formatAddress() agree on ${text}`, () => {
    assertEquals(parseAddress(text).toHex(), hex);
    assertEquals(formatAddress(Uint8Array.fromHex(hex)), text);
  });
}

const otherForms: [text: string, canonical: string][] = [
  ["FE80::ABCD", "fe80::abcd"],
  ["fe80:0000:0000:0000:0000:0000:0000:0001", "fe80::1"],
  ["0:0:0:0:0:0:0:0", "::"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
  ["1:2:3:4:5:6:10.0.0.1", "1:2:3:4:5:6:a00:1"],
  ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
  ["::ffff:a00:1", "::ffff:10.0.0.1"],
];

for (const [text, expected] of otherForms) {
  Deno.test(`parseAddress() reads ${text}`, () => {
    assertEquals(formatAddress(parseAddress(text)), expected);
  });
}

const malformed = `
  . localhost 1.2.3 1.2.3.4.5 1.2.3.256 1.2.3.1000 01.2.3.4 1.2.3.00 1..2.3 1.2.3. .1.2.3 1.2.3.-4
  1.2.3.0x4 1.2.3.４ 0x1020304 16909060 1.2.3.4/8 +1.2.3.4 : ::: 1 ::1:: 1::2::3 :1:2:3:4:5:6:7:8
  1:2:3:4:5:6:7 1:2:3:4:5:6:7: 1:2:3:4:5:6:7:8: 1::2: 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7:8::
  ::1:2:3:4:5:6:7:8 1:::2 ::12345 ::g fe80::1%eth0 [::1] ::1/64 ::1.2.3 ::1.2.3.4.5 ::1.2.3.256
  1.2.3.4:: ::1.2.3.4:5 1:2:3:4:5:6:7:1.2.3.4 ::01.2.3.4 1:2:3:4:5:6:7:1.2
`.trim().split(/\s+/).concat("", " ", "1.2.3.4 ", " 1.2.3.4", "::1 ");

for (const text of malformed) {
  Deno.test(`parseAddress() throws on "${text}"`, () => {
    assertThrows(() => parseAddress(text), SyntaxError, `Cannot parse address "${text}"`);
  });
}

Deno.test("formatAddress() throws when there are neither 4 nor 16 bytes", () => {
  for (const length of [0, 3, 5, 15, 17]) {
    assertThrows(() => formatAddress(new Uint8Array(length)), RangeError, `of ${length} bytes`);
  }
});

Deno.test("parseAddress() undoes formatAddress() for addresses full of zeros", () => {
  for (let pattern = 0; pattern < 1 << 16; pattern += 7) {
    const bytes = Uint8Array.from({ length: 16 }, (_, i) => pattern >> i & 1 ? 0xa1 + i : 0);
    assertEquals(parseAddress(formatAddress(bytes)), bytes);
  }
});
