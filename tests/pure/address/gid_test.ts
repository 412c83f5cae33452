import { assert, assertEquals, assertThrows } from "@std/assert";
import { bytesOfGid, Gid } from "../../../types/address/gid.ts";

const LINK_LOCAL = "fe80::7096:dff:fe01:7bf3";

Deno.test("Gid.parse() reads IPv6 addresses and maps IPv4 addresses", () => {
  assertEquals(Gid.parse("2001:db8::1").bytes.toHex(), "20010db8000000000000000000000001");
  assertEquals(Gid.parse("10.0.0.1").bytes.toHex(), "00000000000000000000ffff0a000001");
  assert(Gid.parse("::ffff:10.0.0.1").equals(Gid.parse("10.0.0.1")));
});

Deno.test("Gid does not change when the bytes it was made of or gave do", () => {
  const bytes = new Uint8Array(16).fill(1);
  const gid = new Gid(bytes);
  bytes.fill(2);
  gid.bytes.fill(3);
  assertEquals(gid.bytes, new Uint8Array(16).fill(1));
  assert(gid.bytes !== gid.bytes);
});

Deno.test("Gid.toString() and toJSON() give the short form", () => {
  for (const text of [LINK_LOCAL, "::ffff:10.0.0.1", "fd00::1", "::", "ff0e::1"]) {
    assertEquals(Gid.parse(text).toString(), text);
    assertEquals(JSON.stringify(Gid.parse(text)), JSON.stringify(text));
  }
  assertEquals(Deno.inspect(Gid.parse("::1")), "Gid(::1)");
});

Deno.test("Gid gives its halves as numbers", () => {
  const gid = Gid.parse(LINK_LOCAL);
  assertEquals(gid.subnetPrefix, 0xfe80_0000_0000_0000n);
  assertEquals(gid.interfaceId, 0x7096_0dff_fe01_7bf3n);
});

Deno.test("Gid knows kinds of address by their prefix, to the bit", () => {
  const kinds = {
    isIpv4Mapped: ["::ffff:0.0.0.0"],
    isMulticast: ["ff00::", "ff0e::1"],
    isLinkLocal: ["fe80::", "febf::1"],
    isZero: ["::"],
    others: [
      "::fffe:10.0.0.1",
      "::fffe:224.0.0.1",
      "1::ffff:10.0.0.1",
      "fe00::",
      "fec0::1",
      "2080::1",
      "::1",
    ],
  };
  for (const [kind, texts] of Object.entries(kinds)) {
    for (const text of texts) {
      const { isIpv4Mapped, isMulticast, isLinkLocal, isZero } = Gid.parse(text);
      const found = Object.entries({ isIpv4Mapped, isMulticast, isLinkLocal, isZero })
        .filter(([, is]) => is).map(([name]) => name);
      assertEquals(found, kind === "others" ? [] : [kind], text);
    }
  }
});

Deno.test("Gid.isMulticast is true for IPv4 groups in IPv4-mapped form", () => {
  const groups = ["::ffff:224.0.0.1", "::ffff:239.1.2.3"];
  const others = ["::ffff:240.0.0.1", "::ffff:223.0.0.1", "fe80::e000:1"];
  const found = [...groups, ...others].filter((text) => Gid.parse(text).isMulticast);
  assertEquals(found, groups);
});

Deno.test("Gid.equals() compares every byte", () => {
  const gid = Gid.parse("2001:db8::1");
  assert(gid.equals(new Gid(gid.bytes)));
  for (let i = 0; i < 16; i++) {
    const bytes = gid.bytes;
    bytes[i] = bytes[i]! ^ 0x80;
    assert(!gid.equals(new Gid(bytes)), `byte ${i}`);
  }
});

Deno.test("Gid has 16 bytes whatever length its argument claims", () => {
  for (const length of [0, 4, 8, 15, 17]) {
    const bytes = new Uint8Array(length);
    const message = `it has 16 bytes, not ${length}`;
    assertThrows(() => new Gid(bytes), RangeError, message);
    Object.defineProperty(bytes, "length", { get: () => 16 });
    assertThrows(() => new Gid(bytes), RangeError, message);
  }
});

Deno.test("A text in the place of a GID is read, and one that is no address is named", () => {
  const gid = Gid.parse("10.0.0.1");
  assertEquals([gid.equals("10.0.0.1"), gid.equals("::ffff:10.0.0.1"), gid.equals("::1")], [
    true,
    true,
    false,
  ]);
  assertThrows(
    () => gid.equals("10.0.0.1%eth0"),
    SyntaxError,
    'Cannot use other "10.0.0.1%eth0": it is neither a Gid nor an IPv4 or IPv6 address',
  );
});

Deno.test("A value that only looks like a Gid is refused", () => {
  const forged = Object.create(Gid.prototype) as Gid;
  assertThrows(
    () => bytesOfGid(forged, "gid"),
    TypeError,
    "gid: it is not a Gid, but looks like one",
  );
});
