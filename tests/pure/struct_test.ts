import { assertEquals, assertThrows } from "@std/assert";
import { structs } from "../../ffi/layout.ts";
import {
  accessorsOf,
  allocStruct,
  fieldBytes,
  type Place,
  readField,
  readNative,
  structToObject,
  writeField,
} from "../../ffi/struct.ts";

const CASES: [Place, number | bigint, string][] = [
  [{ offset: 2, type: "u8" }, 0xfe, "fe"],
  [{ offset: 2, type: "u16" }, 0x0102, "0201"],
  [{ offset: 2, type: "be16" }, 0x0102, "0102"],
  [{ offset: 2, type: "u32" }, 0xf102_0304, "040302f1"],
  [{ offset: 2, type: "be32" }, 0xf102_0304, "f1020304"],
  [{ offset: 2, type: "i32" }, -2, "feffffff"],
  [{ offset: 2, type: "u64" }, 0xf102_0304_0506_0708n, "08070605040302f1"],
  [{ offset: 2, type: "be64" }, 0xf102_0304_0506_0708n, "f102030405060708"],
  [{ offset: 2, type: "i64" }, -3n, "fdffffffffffffff"],
  [{ offset: 2, type: "ptr" }, 0x7fff_1234_5678_9abcn, "bc9a78563412ff7f"],
];

for (const [place, value, hex] of CASES) {
  Deno.test(`writeField() and readField() keep a ${place.type} in its byte order`, () => {
    const view = new DataView(new ArrayBuffer(16), 1);
    writeField(view, place, value, 3);
    const bytes = new Uint8Array(view.buffer);
    assertEquals(bytes.slice(6, 6 + hex.length / 2).toHex(), hex);
    assertEquals(bytes.toHex().replaceAll("0", "").length, hex.replaceAll("0", "").length);
    assertEquals(readField(view, place, 3), value);
  });

  Deno.test(`accessorsOf() reads and writes a ${place.type} as readField() and writeField() do`, () => {
    const Struct = accessorsOf({ other: { ...place, offset: 0 }, field: place });
    const [view, expected] = [17, 17].map((size) => new DataView(new ArrayBuffer(size), 1)) as [
      DataView,
      DataView,
    ];
    writeField(expected, place, value, 3);
    new Struct(view, 3).field = value;
    assertEquals(view, expected);
    assertEquals(new Struct(view, 3).field, value);
    assertEquals(new Struct(new DataView(view.buffer, 4)).field, value);
  });

  Deno.test(`readNative() reads a ${place.type} as readField() does`, () => {
    const bytes = new Uint8Array(16).fill(0x55);
    writeField(new DataView(bytes.buffer), place, value);
    assertEquals(readNative(Deno.UnsafePointer.of(bytes)!, place), value);
  });
}

Deno.test("readField() and writeField() refuse what is no number", () => {
  const view = new DataView(new ArrayBuffer(16));
  const place = { offset: 0, type: "bytes" } as const;
  assertThrows(() => readField(view, place), TypeError, "Cannot read field: it is not a number");
  assertThrows(
    () => writeField(view, place, 0),
    TypeError,
    "Cannot write field: it is not a number",
  );
});

Deno.test("accessorsOf() leaves out what is no number", () => {
  const { prototype } = accessorsOf(structs.ibv_ah_attr.fields);
  assertEquals(["grh", "grh.dgid", "dlid"].map((name) => name in prototype), [false, false, true]);
});

Deno.test("fieldBytes() shares its bytes with the struct", () => {
  const view = new DataView(new ArrayBuffer(32), 4);
  fieldBytes(view, { offset: 8, size: 4 }, 2).set([1, 2, 3, 4]);
  assertEquals([13, 14, 17, 18].map((at) => new Uint8Array(view.buffer)[at]), [0, 1, 4, 0]);
});

Deno.test("structToObject() nests the fields of members, and leaves out what is no number", () => {
  const { ibv_ah_attr } = structs;
  const view = allocStruct(ibv_ah_attr, 2);
  const base = ibv_ah_attr.size;
  writeField(view, ibv_ah_attr.fields["grh.sgid_index"], 7, base);
  writeField(view, ibv_ah_attr.fields.dlid, 9, base);
  const object = structToObject(view, ibv_ah_attr, base);
  const { grh, dlid } = object as { grh: Record<string, unknown>; dlid: number };
  assertEquals([grh["sgidIndex"], grh["hopLimit"], dlid], [7, 0, 9]);
});
