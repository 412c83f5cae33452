import { assertEquals, assertThrows } from "@std/assert";
import { Gid, type GidEntry, GidType } from "../../../mod.ts";
import { checkOwn, checkStated, checkUnicast, gidOfTcp } from "../../../net/rc/peer_gid.ts";
import type { RcAddress } from "../../../net/rc/rc_address.ts";
import { slotOf } from "../../../net/shared/chosen_gid.ts";

const { InvalidData } = Deno.errors;

function address(gid: string, lid = 0): RcAddress {
  const numbers = { qpNum: 1, psn: 2, mtu: 1024, rdAtomic: 1, credits: 1, maxMessage: 64 };
  return { transport: "RC", gid, lid, ...numbers };
}

Deno.test("checkUnicast() permits the address of a port", () => {
  const ipv4 = ["10.0.0.1", "223.255.255.255", "240.0.0.0", "255.255.255.254", "0.0.0.1"];
  const gids = [...ipv4.map((text) => `::ffff:${text}`), "fe80::1", "feff::", "::1"];
  for (const gid of gids) checkUnicast(address(gid));
  for (const lid of [1, 0xbfff]) {
    for (const gid of ["::", "2001:db8::1"]) checkUnicast(address(gid, lid));
  }
});

const NOT_UNICAST: [gid: string, lid: number, reason: string][] = [
  ["::", 0, "GID :: is that of no host"],
  ["::ffff:0.0.0.0", 0, "GID ::ffff:0.0.0.0 is that of no host"],
  ["::ffff:0.0.0.0", 1, "is that of no host"],
  ["::ffff:224.0.0.0", 0, "GID ::ffff:224.0.0.0 is that of many hosts"],
  ["::ffff:239.255.255.255", 0, "is that of many hosts"],
  ["::ffff:255.255.255.255", 0, "is that of many hosts"],
  ["ff02::1", 0, "is that of many hosts"],
  ["ff0e::1", 5, "is that of many hosts"],
  ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 0, "is that of many hosts"],
  ["::", 0xc000, "LID 49152 is not that of a port"],
  ["2001:db8::1", 0xffff, "LID 65535 is not that of a port"],
];

Deno.test("checkUnicast() refuses multicast, broadcast and what is no address", () => {
  for (const [gid, lid, reason] of NOT_UNICAST) {
    assertThrows(() => checkUnicast(address(gid, lid)), InvalidData, reason, gid);
  }
});

/** What a peer names, the local and the remote address of TCP, and what follows. */
const SPEAKERS: [gid: string, local: string, remote: string, result: "same" | "own" | "no"][] = [
  ["::ffff:10.0.0.2", "10.0.0.1", "10.0.0.2", "same"],
  ["::ffff:10.0.0.2", "::ffff:10.0.0.1", "::ffff:10.0.0.2", "same"],
  ["2001:db8::2", "2001:db8::1", "2001:db8::2", "same"],
  ["fe80::2", "fe80::1%eth0", "fe80::2%eth0", "same"],
  ["fe80::2", "fe80::1", "fe80::2", "same"],
  ["::ffff:10.0.0.3", "10.0.0.1", "10.0.0.2", "no"],
  ["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2", "no"],
  ["2001:db8::2", "10.0.0.1", "10.0.0.2", "no"],
  ["::a00:2", "10.0.0.1", "10.0.0.2", "no"],
  ["fe80::2", "fe80::1%eth0", "fe80::3%eth0", "no"],
  ["::ffff:127.0.0.1", "10.0.0.1", "10.0.0.2", "no"],
  ["::1", "fe80::1", "fe80::2", "no"],
  ["::ffff:127.0.0.1", "127.0.0.1", "127.0.0.1", "own"],
  ["::ffff:10.0.0.3", "127.0.0.1", "127.0.0.1", "own"],
  ["::ffff:10.0.0.3", "127.0.0.1", "127.9.9.9", "own"],
  ["::ffff:10.0.0.3", "::ffff:127.0.0.1", "::ffff:127.0.0.1", "own"],
  ["::ffff:10.0.0.3", "::1", "::1", "own"],
  ["fe80::2", "10.0.0.1", "10.0.0.1", "own"],
  ["fe80::2", "2001:db8::1", "2001:db8::1", "own"],
  ["::ffff:10.0.0.3", "10.0.0.1", "128.0.0.1", "no"],
  ["::ffff:10.0.0.3", "10.0.0.1", "7f00::1", "no"],
];

Deno.test("checkStated() compares what a peer names with where it connects from", () => {
  for (const [gid, local, remote, result] of SPEAKERS) {
    const check = (): boolean => checkStated(address(gid), { local, remote, via: "tcp" });
    const what = `${gid} from ${remote} to ${local}`;
    if (result !== "no") assertEquals(check(), result === "own", what);
    else {assertThrows(
        check,
        InvalidData,
        `it connects from ${remote}, and its GID is ${gid}`,
        what,
      );}
  }
  assertEquals(
    checkStated(address("::", 5), { local: "10.0.0.1", remote: "10.0.0.2", via: "tcp" }),
    false,
  );
});

function entry(gid: string, gidIndex: number, others: Partial<GidEntry> = {}): GidEntry {
  const gidType = GidType.ROCE_V2;
  return { gid: Gid.parse(gid), gidIndex, portNum: 1, gidType, ndevIfindex: 1, ...others };
}

const TABLE = [
  entry("fe80::1", 0),
  entry("10.0.0.1", 1, { gidType: GidType.ROCE_V1 }),
  entry("10.0.0.1", 2, { portNum: 2 }),
  entry("10.0.0.1", 3),
  entry("2001:db8::1", 4),
];

Deno.test("checkOwn() permits the GIDs of this host only", () => {
  const ends = { local: "127.0.0.1", remote: "127.0.0.1", via: "tcp" } as const;
  for (const gid of ["fe80::1", "10.0.0.1", "2001:db8::1"]) {
    checkOwn(address(Gid.parse(gid).toString()), ends, TABLE);
  }
  for (const gid of ["fe80::2", "::ffff:10.0.0.2", "::1"]) {
    assertThrows(() => checkOwn(address(gid), ends, TABLE), InvalidData, `its GID is ${gid}`);
  }
  assertThrows(() => checkOwn(address("fe80::1"), ends, []), InvalidData, 'peerGid: "any"');
});

Deno.test("gidOfTcp() finds the GID of the address that TCP uses", () => {
  const cases: [local: string, index: number | undefined][] = [
    ["10.0.0.1", 3],
    ["::ffff:10.0.0.1", 3],
    ["fe80::1%eth0", 0],
    ["2001:db8::1", 4],
    ["127.0.0.1", undefined],
    ["10.0.0.2", undefined],
  ];
  for (const [local, index] of cases) {
    assertEquals(
      gidOfTcp(TABLE, 1, { local, remote: "10.0.0.9", via: "tcp" })?.gidIndex,
      index,
      local,
    );
  }
});

Deno.test("slotOf() finds a GID again that has another index", () => {
  const v1 = { gidType: GidType.ROCE_V1 };
  const cases: [table: GidEntry[], index: number | undefined][] = [
    [[entry("10.0.0.1", 2)], 2],
    [[entry("10.0.0.1", 1), entry("10.0.0.1", 2)], 2],
    [[entry("10.0.0.2", 2), entry("10.0.0.1", 5)], 5],
    [[entry("10.0.0.1", 3, v1), entry("10.0.0.1", 4)], 4],
    [[entry("10.0.0.1", 2, v1), entry("10.0.0.2", 2)], undefined],
    [[], undefined],
  ];
  const known = entry("10.0.0.1", 2);
  for (const [table, index] of cases) assertEquals(slotOf(table, known)?.gidIndex, index);
});

Deno.test('checkStated() holds peerGid "any" to one port, and loopback addresses to this host', () => {
  const ends = { local: "10.0.0.1", remote: "10.0.0.2", via: "tcp" } as const;
  assertEquals(checkStated(address("::ffff:10.0.0.3"), ends, "any"), false);
  for (const gid of ["::ffff:127.0.0.1", "::1", "::ffff:224.0.0.1", "::"]) {
    assertThrows(() => checkStated(address(gid), ends, "any"), InvalidData, "not permitted");
  }
});

Deno.test("checkStated() compares the GID of a request with the address of its sender, but on InfiniBand", () => {
  const ends = { local: "10.0.0.1", remote: "10.0.0.2", via: "cm" } as const;
  assertEquals(checkStated(address("::ffff:10.0.0.2"), ends), false);
  const { message } = assertThrows(
    () => checkStated(address("::ffff:10.0.0.3"), ends),
    InvalidData,
  );
  assertEquals(message.endsWith("it connects from 10.0.0.2, and its GID is ::ffff:10.0.0.3"), true);
  assertEquals(checkStated(address("fe80::ac:1", 7), ends), false);
  assertThrows(() => checkStated(address("ff0e::1", 7), ends), InvalidData, "many hosts");
});
