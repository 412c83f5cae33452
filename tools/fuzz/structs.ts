/** Structs: each field by the layout table, and each attribute by its codec. */

import { type FieldType, type Struct, structs } from "../../ffi/layout.ts";
import { allocStruct, camelCase, readField, structToObject, writeField } from "../../ffi/struct.ts";
import { ahAttrCodec } from "../../types/address/ah_attr.ts";
import { wcCodec } from "../../types/address_handle/packet.ts";
import { cqAttrExCodec } from "../../types/completion/completion_queue_ex.ts";
import type { AttributeCodec } from "../../types/core/attributes.ts";
import { filters } from "../../types/flow/flow_filter.ts";
import { eceCodec, qpAttrCodec, qpAttrReader, qpCapCodec } from "../../types/queue_pair/qp_attr.ts";
import { rateLimitCodec } from "../../types/queue_pair/qp_attr.ts";
import { srqAttrCodec, srqInitCodec } from "../../types/srq/srq_attr.ts";
import { bytes, wrong } from "./inputs.ts";
import { expected, fc, NONE, same, type Target, target } from "./target.ts";

const ALL: readonly [string, Struct][] = Object.entries({ ...structs });

const NUMBERS = ALL.flatMap(([name, struct]) =>
  Object.entries(struct.fields)
    .filter(([, { type }]) => type !== "bytes")
    .map(([field, place]) => ({ name, struct, field, place }))
);

/** The number that bytes are, read without a DataView. */
function numberIn(bytes: Uint8Array, type: FieldType): number | bigint {
  const order = type.startsWith("be") ? [...bytes] : [...bytes].reverse();
  const unsigned = order.reduce((sum, byte) => sum << 8n | BigInt(byte), 0n);
  const bits = 8 * bytes.length;
  const value = type.startsWith("i") ? BigInt.asIntN(bits, unsigned) : unsigned;
  return bits === 64 ? value : Number(value);
}

function checkField(
  { name, struct, field, place }: (typeof NUMBERS)[number],
  junk: Uint8Array<ArrayBuffer>,
  value: Uint8Array<ArrayBuffer>,
  shift: number,
): void {
  const what = `${name}.${field}`;
  const { offset, size, type } = place;
  if (offset + size > struct.size) throw new Error(`${what} ends after its struct`);
  const memory = new Uint8Array(struct.size + 32).map((_, i) => junk[i % junk.length]!);
  const before = memory.slice();
  const view = new DataView(memory.buffer);
  const number = numberIn(value.subarray(0, size), type);
  writeField(view, place, number, shift);
  same(readField(view, place, shift), number, what);
  before.set(value.subarray(0, size), shift + offset);
  same(memory, before, `the bytes around ${what}`);
  const all = structToObject(view, struct, shift);
  const read = camelCase(field).split(".")
    .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], all);
  same(read, number, `${what} of structToObject()`);
}

type AnyCodec = AttributeCodec<object, object>;

/** The codecs of attributes that name no verbs object. */
const CODECS: Readonly<Record<string, AnyCodec>> = {
  ...{ ahAttrCodec, wcCodec, cqAttrExCodec, eceCodec, qpAttrCodec, qpAttrReader, qpCapCodec },
  ...{ rateLimitCodec, srqAttrCodec, srqInitCodec },
  ...Object.fromEntries(filters().values()),
} as unknown as Readonly<Record<string, AnyCodec>>;

/** What a codec reads out of any bytes it writes again, or refuses as out of range. */
function checkCodec(
  name: string,
  junk: Uint8Array<ArrayBuffer>,
  masks: Uint8Array<ArrayBuffer>,
  shift: number,
): void {
  const codec = CODECS[name]!;
  // Many small numbers, so that most attributes are in range.
  const source = new Uint8Array(codec.size + 16)
    .map((_, i) => junk[i % junk.length]! & masks[i % masks.length]!);
  const read = codec.read(new DataView(source.buffer), shift);
  try {
    const target = new DataView(new ArrayBuffer(codec.size + 16));
    codec.write(read, {}, target, shift);
    same(codec.read(target, shift), read, name);
    const around = new Uint8Array(target.buffer).fill(0, shift, shift + codec.size);
    same(around, new Uint8Array(around.length), `the bytes around ${name}`);
  } catch (error) {
    expected(error, RangeError, TypeError);
  }
}

/** A wrong value for any attribute is refused by a message, or written so that it reads back. */
function checkWrong(name: string, which: number, value: unknown): void {
  const codec = CODECS[name]!;
  const attributes = codec.read(allocStruct({ ...structs.ibv_qp_attr, size: codec.size }));
  const names = Object.keys(attributes);
  const chosen = names[which % names.length]!;
  let written: AnyRecord;
  try {
    const { view } = codec.write({ ...attributes, [chosen]: value });
    written = codec.read(view) as AnyRecord;
  } catch (error) {
    expected(error, RangeError, TypeError, SyntaxError);
    return;
  }
  if (typeof value === "number" || typeof value === "bigint") {
    same(BigInt(written[chosen] as number), BigInt(value), `${name}.${chosen}`);
  }
}

type AnyRecord = Record<string, unknown>;

const codecName = fc.constantFrom(...Object.keys(CODECS));
const masks = fc.oneof(bytes(16), fc.constant(new Uint8Array([1, 0, 0, 0, 3])));

const field = [fc.constantFrom(...NUMBERS), bytes(96), bytes(8), fc.nat(24)] as const;
const codec = [codecName, bytes(32), masks, fc.nat(16)] as const;
const attribute = [codecName, fc.nat(), wrong] as const;

export const STRUCTS: readonly Target[] = [
  target("structs", NONE, `${NUMBERS.length} fields of structs, read back`, field, checkField),
  target("codecs", [10, 30], "codecs: what is read is written again", codec, checkCodec),
  target("attributes", [85, 99], "wrong values: refused, or read back", attribute, checkWrong),
];
