// The codec of attribute structs, on structs of verbs.h.
import { assertEquals, assertThrows } from "@std/assert";
import type { Handle } from "../../../ffi/handles.ts";
import { structs } from "../../../ffi/layout.ts";
import { readField } from "../../../ffi/struct.ts";
import { ahAttrCodec, type AhAttrInit } from "../../../types/address/ah_attr.ts";
import { Gid } from "../../../types/address/gid.ts";
import { type AttributeCodec, codecOf } from "../../../types/core/attributes.ts";
import { NativeResource } from "../../../types/core/native_resource.ts";

interface Path {
  qkey?: number;
  pathMtu?: number;
  minRnrTimer?: number;
  rqPsn?: number;
  portNum?: number;
  ahAttr?: AhAttrInit;
}

const MTUS = { "1024": 3, "2048": 4 };

const path: AttributeCodec<Path> = codecOf<"ibv_qp_attr", Path>("ibv_qp_attr", "path", {
  qkey: { mask: 1 },
  pathMtu: { mask: 2, values: MTUS },
  minRnrTimer: { mask: 4, bits: 5 },
  rqPsn: { mask: 8, bits: 24 },
  portNum: { fallback: 7, mask: 16 },
  ahAttr: { struct: ahAttrCodec, mask: 32 },
});

const { fields } = structs.ibv_qp_attr;

Deno.test("AttributeCodec.write() writes what is given, and returns the mask of it", () => {
  const { view, mask, given } = path.write({ qkey: 0xffff_ffff, rqPsn: 0xff_ffff });
  assertEquals(view.byteLength, structs.ibv_qp_attr.size);
  assertEquals(readField(view, fields.qkey), 0xffff_ffff);
  assertEquals(readField(view, fields.rq_psn), 0xff_ffff);
  assertEquals(mask, 1 | 8);
  assertEquals({ ...given }, { qkey: 0xffff_ffff, rqPsn: 0xff_ffff });
});

Deno.test("AttributeCodec.write() uses the fallback without its mask bit", () => {
  const { view, mask } = path.write({});
  assertEquals([readField(view, fields.port_num), mask], [7, 0]);
  const given = path.write({ portNum: 0 });
  assertEquals([readField(given.view, fields.port_num), given.mask], [0, 16]);
});

const WRONG: [string, Path, new (message: string) => Error, string][] = [
  ["a number beyond its field", { qkey: 2 ** 32 }, RangeError, "Cannot use qkey 4294967296"],
  ["a negative number", { qkey: -1 }, RangeError, "Cannot use qkey -1"],
  ["a fraction", { qkey: 1.5 }, TypeError, "Cannot use qkey 1.5: it is not an integer"],
  ["a number beyond its bits", { minRnrTimer: 32 }, RangeError, "not within 0 to 31"],
  ["a value the enum lacks", { pathMtu: 1024 }, RangeError, "it is none of 3 (1024), 4 (2048)"],
  ["a string", { pathMtu: "1024" as never }, TypeError, 'Cannot use pathMtu "1024"'],
  ["null", { qkey: null as never }, TypeError, "Cannot use qkey null: leave it out instead"],
  ["an unknown name", { qKey: 1 } as never, TypeError, 'there is no attribute "qKey"'],
  ["a number in place of a struct", { ahAttr: 1 as never }, TypeError, "address 1"],
];

for (const [what, attributes, type, message] of WRONG) {
  Deno.test(`AttributeCodec.write() refuses ${what}`, () => {
    assertThrows(() => path.write(attributes), type, message);
  });
}

Deno.test("AttributeCodec.write() reads every property once, nested ones too", () => {
  const reads: number[] = [];
  const counted = <T extends object>(object: T): T => {
    const counts: Record<PropertyKey, number> = {};
    return new Proxy(object, {
      get: (target, name) => {
        reads.push(counts[name] = (counts[name] ?? 0) + 1);
        return Reflect.get(target, name);
      },
    });
  };
  const grh = counted({ dgid: Gid.parse("fe80::1"), sgidIndex: 3 });
  const { given } = path.write(counted({ qkey: 1, ahAttr: counted({ portNum: 1, grh }) }));
  assertEquals(reads.filter((count) => count > 1), []);
  assertEquals(given.ahAttr?.grh?.sgidIndex, 3);
});

class Pd extends NativeResource {
  constructor(address: bigint) {
    const pointer = Deno.UnsafePointer.create(address) as Handle;
    super({ name: "pd", destroy: () => {} }, pointer, []);
  }
}

const wq: AttributeCodec<{ pd?: Pd; maxWr?: number }> = codecOf<
  "ibv_wq_init_attr",
  { pd?: Pd; maxWr?: number }
>("ibv_wq_init_attr", "work queue", { pd: { resource: Pd, required: true }, maxWr: {} });

Deno.test("AttributeCodec.write() takes handles last, and only of open objects of the class", () => {
  const pd = new Pd(0x1234n);
  const { view, writeHandles } = wq.write({ pd, maxWr: 3 });
  const field = structs.ibv_wq_init_attr.fields.pd;
  assertEquals(readField(view, field), 0n);
  writeHandles();
  assertEquals(readField(view, field), 0x1234n);
  const closing = wq.write({
    pd,
    get maxWr() {
      pd.close();
      return 1;
    },
  });
  assertThrows(() => closing.writeHandles(), TypeError, "Cannot use pd: it is disposed");
  assertThrows(
    () => wq.write({ pd: {} as Pd }),
    TypeError,
    "Cannot use pd an object: it is not a Pd",
  );
  assertThrows(() => wq.write({}), TypeError, "Cannot use work queue: pd is missing");
});

Deno.test("AttributeCodec says which struct lacks a field", () => {
  const wrong = { nothing: {} } as never;
  const codec = codecOf("ibv_wq_init_attr", "x", wrong);
  assertThrows(() => codec.write({}), Error, '"nothing" in struct ibv_wq');
});
