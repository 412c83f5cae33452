import { assertEquals } from "@std/assert";
import { Gid, type GidEntry, GidType } from "../../../mod.ts";
import { slotOf } from "../../../net/shared/chosen_gid.ts";

Deno.test("slotOf() finds a GID again that has another index", () => {
  const { ROCE_V1, ROCE_V2 } = GidType;
  const entry = (gid: string, gidIndex: number, gidType: GidType = ROCE_V2): GidEntry => {
    return { gid: Gid.parse(gid), gidIndex, portNum: 1, gidType, ndevIfindex: 1 };
  };
  const known = entry("10.0.0.1", 2);
  const cases: [table: GidEntry[], index: number | undefined][] = [
    [[entry("10.0.0.1", 2)], 2],
    [[entry("10.0.0.1", 1), entry("10.0.0.1", 2)], 2],
    [[entry("10.0.0.2", 2), entry("10.0.0.1", 5)], 5],
    [[entry("10.0.0.1", 3, ROCE_V1), entry("10.0.0.1", 4)], 4],
    [[entry("10.0.0.1", 2, ROCE_V1), entry("10.0.0.2", 2)], undefined],
    [[], undefined],
  ];
  for (const [table, index] of cases) assertEquals(slotOf(table, known)?.gidIndex, index);
});
