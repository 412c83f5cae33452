// How far addresses reach, by the ranges of RFC 4291, 5735 and 3927.
import { assertEquals } from "@std/assert";
import { needsInterface, reachOf, splitZone } from "../../../internal/reach.ts";
import { Gid, parseAddress } from "../../../mod.ts";

const REACH = {
  host: ["127.0.0.1", "127.255.255.255", "::1", "ff01::1", "ff11::1"],
  link: [
    "169.254.0.1",
    "224.0.0.251",
    "255.255.255.255",
    "fe80::1",
    "febf::1",
    "ff02::1",
    "ff12::1",
  ],
  networks: [
    "10.0.0.1",
    "128.0.0.1",
    "169.253.0.1",
    "239.1.2.3",
    "224.0.1.1",
    "0.0.0.0",
    "::",
    "::2",
  ]
    .concat(["2001:db8::1", "fd00::1", "fec0::1", "fe7f::1", "ff0e::1", "ff05::1", "feff::1"]),
};

for (const [reach, addresses] of Object.entries(REACH)) {
  Deno.test(`reachOf() and Gid.reach find the addresses of "${reach}", also IPv4 in IPv6 form`, () => {
    for (const text of addresses) {
      assertEquals([reachOf(parseAddress(text)), Gid.parse(text).reach], [reach, reach], text);
    }
  });
}

Deno.test("needsInterface() finds the addresses that each link has", () => {
  const needed = Object.values(REACH).flat().filter((text) => needsInterface(parseAddress(text)));
  const expected = ["ff01::1", "ff11::1", "fe80::1", "febf::1", "ff02::1", "ff12::1"];
  assertEquals(needed, expected);
  assertEquals(needsInterface(parseAddress("::ffff:169.254.0.1")), false);
});

Deno.test("splitZone() takes the network interface off an IPv6 address, and off nothing else", () => {
  assertEquals(splitZone("fe80::1%eth0"), ["fe80::1", "eth0"]);
  assertEquals(splitZone("fe80::1%a%b"), ["fe80::1", "a%b"]);
  for (const text of ["fe80::1", "fe80::1%", "10.0.0.1%eth0", "host%eth0", "%eth0", ""]) {
    assertEquals(splitZone(text), [text, undefined]);
  }
});
