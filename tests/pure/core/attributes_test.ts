// The codec of attribute structs, on structs of verbs.h.
import { assertEquals, assertThrows } from "@std/assert";
import type { Handle } from "../../../ffi/handles.ts";
import { structs } from "../../../ffi/layout.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
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

const path: AttributeCodec<Path> = codecOf("ibv_qp_attr", "path", {
  qkey: { mask: 1 },
  pathMtu: { mask: 2, values: MTUS },
  minRnrTimer: { mask: 4, bits: 5 },
  rqPsn: { mask: 8, bits: 24 },
  portNum: { fallback: 7, mask: 16 },
  ahAttr: { struct: ahAttrCodec, mask: 32 },
});

const WRONG: [string, Path, new (message: string) => Error, string][] = [
  ["a number beyond its field", { qkey: 2 ** 32 }, RangeError, "Cannot use qkey 4294967296"],
  ["a number beyond its bits", { minRnrTimer: 32 }, RangeError, "not within 0 to 31"],
  ["a value the enum lacks", { pathMtu: 1024 }, RangeError, "it is none of 3 (1024), 4 (2048)"],
  ["a string", { pathMtu: "2K" as never }, TypeError, 'Cannot use pathMtu "2K"'],
  ["a name", { pathMtu: "1024" as never }, TypeError, "; write the number, or the enum's 1024"],
  ["null", { qkey: null as never }, TypeError, "Cannot use qkey null: leave it out instead"],
  [
    "an unknown name",
    { qKey: 1 } as never,
    TypeError,
    'there is no attribute "qKey"; it is "qkey"',
  ],
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

interface Domain {
  pdContext?: bigint;
}

const domain: AttributeCodec<Domain, Domain, { pd: Pd; alloc?: Uint8Array }> = codecOf(
  "ibv_parent_domain_init_attr",
  "domain",
  {
    pd: { resource: Pd, own: true, required: true },
    alloc: { pointer: true, own: true, mask: 1 },
    pdContext: { mask: 2, derive: ({ pdContext }) => pdContext === 0n ? null : undefined },
  },
);
const DOMAIN = structs.ibv_parent_domain_init_attr.fields;

Deno.test("AttributeCodec.write() writes what the library gives, and the mask", () => {
  const pd = new Pd(0x1234n);
  const alloc = new Uint8Array(8);
  const { view, given, writeHandles } = domain.write({ pdContext: 5n }, { pd, alloc });
  writeHandles();
  assertEquals({ ...given }, { pdContext: 5n });
  assertEquals(readField(view, DOMAIN.comp_mask), 1 | 2);
  assertEquals(readField(view, DOMAIN.pd), 0x1234n);
  assertEquals(readField(view, DOMAIN.alloc), bufferAddress(alloc));
  assertThrows(
    () => domain.write({ pd } as never, { pd }),
    TypeError,
    'Cannot use domain: there is no attribute "pd"',
  );
  assertThrows(() => domain.write({}), TypeError, "Cannot use domain: pd is missing");
});

Deno.test("AttributeCodec.write() writes the handles of nested structs", () => {
  const inner: AttributeCodec<{ mr?: Pd }> = codecOf("ibv_mw_bind_info", "bindInfo", {
    mr: { resource: Pd },
  });
  const outer: AttributeCodec<{ bindInfo?: { mr?: Pd } }> = codecOf("ibv_mw_bind", "binding", {
    bindInfo: { struct: inner },
  });
  const { view, writeHandles } = outer.write({ bindInfo: { mr: new Pd(0x77n) } });
  const field = structs.ibv_mw_bind.fields["bind_info.mr"];
  assertEquals(readField(view, field), 0n);
  writeHandles();
  assertEquals(readField(view, field), 0x77n);
});

Deno.test("AttributeCodec.write() writes a flag for true, and a negative number where it may be", () => {
  const codec: AttributeCodec<{ signaled?: boolean }> = codecOf("ibv_mw_bind", "binding", {
    signaled: { field: "send_flags", boolean: 2, fallback: true },
  });
  const flags = (signaled?: boolean): number =>
    readField(
      codec.write(signaled === undefined ? {} : { signaled }).view,
      structs.ibv_mw_bind.fields.send_flags,
    );
  assertEquals([flags(true), flags(false), flags()], [2, 0, 2]);
  const file: AttributeCodec<{ fd?: number }> = codecOf("ibv_xrcd_init_attr", "domain", {
    fd: { min: -1, fallback: -1 },
  });
  const fd = (given: { fd?: number }): number =>
    readField(file.write(given).view, structs.ibv_xrcd_init_attr.fields.fd);
  assertEquals([fd({}), fd({ fd: 2 ** 31 - 1 })], [-1, 2 ** 31 - 1]);
  assertThrows(() => fd({ fd: -2 }), RangeError, "Cannot use fd -2: it is not within -1 to");
  assertThrows(() => fd({ fd: 2 ** 31 }), RangeError, "it is not within -1 to 2147483647");
});

Deno.test("AttributeCodec says which struct lacks a field", () => {
  const wrong = { nothing: {} } as never;
  const codec = codecOf("ibv_wq_init_attr", "x", wrong);
  assertThrows(() => codec.write({}), Error, '"nothing" in struct ibv_wq');
});
