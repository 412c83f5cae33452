import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type Context, Gid, type GidEntry, GidType } from "../../../mod.ts";
import { chooseGid } from "../../../examples/support/choose_gid.ts";

const { IB, ROCE_V1, ROCE_V2 } = GidType;

/** A context with that table and nothing else. */
function contextWith(table: readonly (readonly [gid: string, gidType: GidType])[]): Context {
  const entries = table.map(([gid, gidType], gidIndex): GidEntry => ({
    gid: Gid.parse(gid),
    gidIndex,
    gidType,
    portNum: 1,
    ndevIfindex: 0,
  }));
  return {
    device: { name: "fake0" },
    gidTable: () => entries,
    queryGidEx: (_port: number, index: number) => entries[index],
  } as unknown as Context;
}

Deno.test("chooseGid() prefers what reaches most peers", () => {
  const worstFirst: [string, GidType][] = [
    ["fe80::1", ROCE_V1],
    ["fe80::1", ROCE_V2],
    ["fd00::1", ROCE_V2],
    ["10.0.0.1", ROCE_V2],
  ];
  for (let count = 1; count <= worstFirst.length; count++) {
    const { entry } = chooseGid(contextWith(worstFirst.slice(0, count)), 1);
    assertEquals(entry.gidIndex, count - 1);
  }
});

Deno.test("chooseGid() takes self-assigned IPv4 addresses for link-local", () => {
  const table = [["169.254.7.7", ROCE_V2], ["fd00::1", ROCE_V2]] as const;
  assertEquals(chooseGid(contextWith(table), 1).entry.gidIndex, 1);
  const { reason } = chooseGid(contextWith(table.slice(0, 1)), 1);
  assertStringIncludes(reason, "link-local");
});

Deno.test("chooseGid() takes the first GID on InfiniBand", () => {
  const table = [["fe80::2:c903", IB], ["fec0::2:c903", IB]] as const;
  assertEquals(chooseGid(contextWith(table), 1).entry.gidIndex, 0);
});

Deno.test("chooseGid() takes the index asked for, however bad", () => {
  const table = [["10.0.0.1", ROCE_V2], ["fe80::1", ROCE_V1]] as const;
  const { entry, reason } = chooseGid(contextWith(table), 1, 1);
  assertEquals([entry.gidIndex, reason], [1, "given"]);
});

Deno.test("chooseGid() throws when the table is empty", () => {
  assertThrows(() => chooseGid(contextWith([]), 1), RangeError, 'port 1 of "fake0" is empty');
});
