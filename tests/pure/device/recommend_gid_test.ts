import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Gid, type GidEntry, GidType } from "../../../types/address/gid.ts";
import { TransportType } from "../../../types/device/device.ts";
import "../../../types/providers.ts";
import { onlyReason, recommendGid } from "../../../types/device/recommend_gid.ts";

const { IB, ROCE_V1, ROCE_V2 } = GidType;

/** A table whose slots have these GIDs. */
function table(...gids: [string, GidType][]): GidEntry[] {
  return gids.map(([text, gidType], gidIndex) => ({
    gid: Gid.parse(text),
    gidType,
    gidIndex,
    portNum: 1,
    ndevIfindex: 2,
  }));
}

/** How the reason begins, by the kind of GID that is chosen. */
const REASONS = ["RoCE v1 or", "RoCE v2 with a link-local", "RoCE v2 with a gl", "RoCE v2 with an"];

function chosen(...gids: [string, GidType][]): number {
  return recommendGid(table(...gids), 1).gidIndex;
}

Deno.test("recommendGid() prefers IPv4, then global IPv6, then link-local, then RoCE v1", () => {
  const gids: [string, GidType][] = [
    ["10.0.0.1", ROCE_V1],
    ["fe80::1", ROCE_V2],
    ["2001:db8::1", ROCE_V2],
    ["10.0.0.1", ROCE_V2],
  ];
  assertEquals(chosen(...gids), 3);
  assertEquals(chosen(...gids.slice(0, 3)), 2);
  assertEquals(chosen(...gids.slice(0, 2)), 1);
  assertEquals(chosen(...gids.slice(0, 1)), 0);
  for (const [kind, start] of REASONS.entries()) {
    const { reason } = recommendGid(table(...gids.slice(0, kind + 1)), 1);
    assertEquals(reason.slice(0, start.length), start);
  }
  assertEquals(chosen(["fe80::1", IB], ["fec0::1", IB]), 0);
});

Deno.test("recommendGid() takes the first slot of the best kind, whatever the order of the list", () => {
  const entries = table(["fe80::1", ROCE_V2], ["10.0.0.1", ROCE_V2], ["10.0.0.2", ROCE_V2]);
  assertEquals(recommendGid(entries.reverse(), 1).gidIndex, 1);
});

Deno.test("recommendGid() passes over zero GIDs, and takes self-assigned IPv4 addresses last", () => {
  for (const gid of ["169.254.3.4", "0.0.0.0", "::"]) {
    assertEquals(chosen([gid, ROCE_V2], ["fe80::1", ROCE_V2]), 1, gid);
    assertEquals(chosen([gid, ROCE_V1], ["fe80::1", ROCE_V1]), 1, gid);
  }
  assertEquals(chosen(["169.253.0.1", ROCE_V2], ["fe80::1", ROCE_V2]), 0);
  const { reason, reach } = recommendGid(table(["169.254.3.4", ROCE_V2]), 1);
  assertEquals([reason.includes("same link only"), reach], [true, "link"]);
});

Deno.test("recommendGid() knows that the loopback interface reaches this host only, by its index as by its addresses", () => {
  const lo = table(["fe80::200:ff:fe00:0", ROCE_V2], ["127.0.0.1", ROCE_V2], ["::1", ROCE_V2]);
  const onLo = lo.map((entry) => ({ ...entry, ndevIfindex: 1 }));
  const expected = "RoCE v2 on the loopback interface: it reaches this host only";
  for (const entries of [onLo, onLo.slice(0, 1), lo.slice(1), lo.slice(2)]) {
    const { reason, reach } = recommendGid(entries, 1);
    assertEquals([reason, reach], [expected, "host"]);
  }
  assertEquals(recommendGid(onLo, 1).gidIndex, 1);
  // Other addresses of that interface reach no further.
  const more = table(["10.0.0.1", ROCE_V2], ["fe80::1", ROCE_V2]);
  const [first, second] = more as [GidEntry, GidEntry];
  const { gidIndex, reach } = recommendGid([{ ...first, ndevIfindex: 1 }, second], 1);
  assertEquals([gidIndex, reach], [1, "link"]);
});

Deno.test("recommendGid() prefers GIDs of network interfaces that are here", () => {
  const [first, second, third] = table(
    ["10.0.0.1", ROCE_V2],
    ["2001:db8::1", ROCE_V2],
    ["fe80::1", ROCE_V2],
  ).map((entry, i) => ({ ...entry, ndevIfindex: [7, 3, 0][i]! })) as [GidEntry, GidEntry, GidEntry];
  const index = (entries: readonly GidEntry[], ...here: number[]): number =>
    recommendGid(entries, 1, undefined, (ifindex) => here.includes(ifindex)).gidIndex;
  assertEquals(index([first, second, third], 3), 1);
  assertEquals(index([first, second, third], 3, 7), 0);
  // A GID without an interface is everywhere, and any GID is better than none.
  assertEquals(index([first, second, third]), 2);
  assertEquals(index([first, second]), 0);
});

Deno.test("recommendGid() gives the entry with the reason", () => {
  const [entry] = table(["10.0.0.1", ROCE_V2]);
  const { reason, reach, ...rest } = recommendGid([entry!], 1);
  assertEquals([rest, reach], [entry!, "networks"]);
  assertStringIncludes(reason, "IPv4");
  const kinds: [string, GidType][] = [
    ["10.0.0.1", ROCE_V2],
    ["2001:db8::1", ROCE_V2],
    ["fe80::1", ROCE_V2],
    ["fe80::1", ROCE_V1],
  ];
  const reasons = kinds.map((gid) => recommendGid(table(gid), 1).reason);
  assertEquals(new Set(reasons).size, 4);
  const reasonOn = (transportType: TransportType): string | undefined =>
    onlyReason({ name: "rdma0", transportType });
  const { IWARP, UNSPECIFIED } = TransportType;
  assertEquals(reasonOn(TransportType.IB), undefined);
  assertStringIncludes(reasonOn(IWARP)!, "iWARP: connections use IP");
  assertStringIncludes(reasonOn(UNSPECIFIED)!, "Adapter has one GID");
  const other = recommendGid([entry!], 1, "it has one");
  assertEquals([other.reason, other.reach], ["it has one", undefined]);
  assertEquals(recommendGid(table(["10.0.0.1", ROCE_V1]), 1).reach, "link");
});

Deno.test("recommendGid() throws when the port has no usable GID", () => {
  for (const entries of [table(), table(["::", ROCE_V2], ["0.0.0.0", ROCE_V2])]) {
    const error = assertThrows(() => recommendGid(entries, 3), Deno.errors.NotFound);
    assert(error.message.includes(`none of the ${entries.length} GIDs of port 3`), error.message);
  }
});
