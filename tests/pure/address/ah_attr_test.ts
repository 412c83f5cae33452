// Addresses in native layout, field by field.
import { assertEquals } from "@std/assert";
import { structs } from "../../../ffi/layout.ts";
import { fieldBytes, readField } from "../../../ffi/struct.ts";
import { type AhAttr, readAhAttr, writeAhAttr } from "../../../types/address/ah_attr.ts";
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

Deno.test("writeAhAttr() puts each field where verbs.h has it", () => {
  const view = writeAhAttr(ATTR);
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

Deno.test("readAhAttr() gives what writeAhAttr() was given", () => {
  assertEquals(readAhAttr(writeAhAttr(ATTR)), ATTR);
});

Deno.test("writeAhAttr() zeroes what is left out, and is global when there is a GRH", () => {
  const { grh } = readAhAttr(writeAhAttr({ portNum: 1 }));
  assertEquals([grh.dgid.isZero, grh.sgidIndex, grh.flowLabel], [true, 0, 0]);
  assertEquals(readAhAttr(writeAhAttr({ portNum: 1 })).isGlobal, false);
  const global = { portNum: 1, grh: { dgid: Gid.parse("::1"), sgidIndex: 4 } };
  assertEquals(readAhAttr(writeAhAttr(global)).isGlobal, true);
  assertEquals(readAhAttr(writeAhAttr({ ...global, isGlobal: false })).isGlobal, false);
});
