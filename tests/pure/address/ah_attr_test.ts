// Addresses in native layout, field by field.
import { assertEquals, assertThrows } from "@std/assert";
import { structs } from "../../../ffi/layout.ts";
import { fieldBytes, readField } from "../../../ffi/struct.ts";
import { type AhAttr, ahAttrCodec, type AhAttrInit } from "../../../types/address/ah_attr.ts";
import { Gid } from "../../../types/address/gid.ts";

/** A value of its own for each field. */
const ATTR: AhAttr = {
  grh: {
    dgid: Gid.parse("2001:db8::abcd"),
    flowLabel: 0x12345,
    sgidIndex: 201,
    hopLimit: 202,
    trafficClass: 203,
  },
  dlid: 0x4321,
  sl: 13,
  srcPathBits: 101,
  staticRate: 102,
  isGlobal: true,
  portNum: 103,
};

/** What a program that reads the struct gets. */
function roundTrip(attr: AhAttrInit): AhAttr {
  return ahAttrCodec.read(ahAttrCodec.write(attr).view);
}

Deno.test("ahAttrCodec.write() puts each field where verbs.h has it", () => {
  const { view } = ahAttrCodec.write(ATTR);
  const { fields, size } = structs.ibv_ah_attr;
  assertEquals(view.byteLength, size);
  assertEquals(fieldBytes(view, fields["grh.dgid"]), ATTR.grh.dgid.bytes);
  assertEquals(readField(view, fields["grh.flow_label"]), 0x12345);
  assertEquals(readField(view, fields["grh.sgid_index"]), 201);
  assertEquals(readField(view, fields["grh.hop_limit"]), 202);
  assertEquals(readField(view, fields["grh.traffic_class"]), 203);
  assertEquals(readField(view, fields.dlid), 0x4321);
  assertEquals(readField(view, fields.sl), 13);
  assertEquals(readField(view, fields.src_path_bits), 101);
  assertEquals(readField(view, fields.static_rate), 102);
  assertEquals(readField(view, fields.is_global), 1);
  assertEquals(readField(view, fields.port_num), 103);
});

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

Deno.test("ahAttrCodec writes and reads an address that is not at the start of its memory", () => {
  const { size } = structs.ibv_ah_attr;
  const view = new DataView(new ArrayBuffer(2 * size + 8));
  ahAttrCodec.write(ATTR, {}, view, size + 4);
  const alone = new Uint8Array(ahAttrCodec.write(ATTR).view.buffer);
  const bytes = new Uint8Array(view.buffer);
  assertEquals(bytes.slice(size + 4, 2 * size + 4), alone);
  assertEquals(bytes.subarray(0, size + 4).every((byte) => byte === 0), true);
  assertEquals(JSON.stringify(ahAttrCodec.read(view, size + 4)), JSON.stringify(ATTR));
});
