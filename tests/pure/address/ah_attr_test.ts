// Addresses in native layout, field by field.
import { assertEquals, assertThrows } from "@std/assert";
import { type AhAttr, ahAttrCodec, type AhAttrInit } from "../../../types/address/ah_attr.ts";
import { Gid } from "../../../types/address/gid.ts";

/** What a program that reads the struct gets. */
function roundTrip(attr: AhAttrInit): AhAttr {
  return ahAttrCodec.read(ahAttrCodec.write(attr).view);
}

Deno.test("ahAttrCodec.write() zeroes what is left out, and is global if there is a GRH", () => {
  const { grh, isGlobal, dlid } = roundTrip({ portNum: 1 });
  assertEquals([grh.dgid.isZero, grh.sgidIndex, grh.flowLabel], [true, 0, 0]);
  assertEquals([isGlobal, dlid], [false, 0]);
  const global = { portNum: 1, grh: { dgid: Gid.parse("::1"), sgidIndex: 4 } };
  assertEquals(roundTrip(global).isGlobal, true);
  assertEquals(roundTrip({ ...global, isGlobal: false }).isGlobal, false);
});

Deno.test("ahAttrCodec.write() refuses what does not go together", () => {
  const refuse = (attr: unknown, error: typeof TypeError, message: string): void =>
    void assertThrows(() => ahAttrCodec.write(attr as AhAttrInit), error, message);
  refuse({ portNum: 1, isGlobal: true }, TypeError, "grh is missing");
  refuse({ portNum: 1, grh: Gid.parse("::1") }, TypeError, "Cannot use grh");
  refuse({ portNum: 1, sl: 16 }, RangeError, "Cannot use sl 16: it is not within 0 to 15");
});
