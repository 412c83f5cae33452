// What the recorder wrote down, as typed objects, and in a form that does not depend on addresses.

import { type Field, readField, type Struct, structs } from "../../ffi/mod.ts";

/** An object by its kind and number, in the order in which they are made: `"qp0"`. */
export type Label = string;

/** A field of a struct: a number, an array or nested struct by its bytes, or the object or memory that it points to. */
export type FieldValue = number | bigint | Uint8Array | Label | null;

/** The fields of a struct under their C names; those of nested structs have a dot in them. */
export type Fields = Readonly<Record<string, FieldValue>>;

/** A struct, or an array of them, as the verb got it. */
export interface RecordedStruct {
  /** The C tag; `"bytes"` for plain memory, `"pointers"` for an array of pointers. */
  readonly tag: string;
  /** Where it was. */
  readonly address: bigint;
  /** All its bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What its 8-byte words point to, by their offset in bytes: an object, or a place in a memory region (`"mr0+16"`). */
  readonly labels: Readonly<Record<number, Label>>;
  /** The fields of each element. */
  readonly elements: readonly Fields[];
  /** The fields of the first element. */
  readonly fields: Fields;
}

/** An argument: a number, an object, an address (the place in a memory region, if it is one), or a struct. */
export type Argument = number | bigint | Label | null | RecordedStruct;

/** One call of a verb. */
export interface Call {
  /** The C name. */
  readonly verb: string;
  /** Arguments by their C names. What structs point to has names such as `"wr[1].sg_list"`. */
  readonly args: Readonly<Record<string, Argument>>;
  /** What it returned: a number, the label of an object, or null for a null pointer or nothing. */
  readonly result: number | Label | null;
  /** The error it failed with, or 0. */
  readonly errno: number;
}

interface RawArgument {
  readonly name: string;
  readonly value?: string;
  readonly object?: Label | null;
  readonly address?: string;
  readonly label?: Label;
  readonly struct?: string;
  readonly at?: string;
  readonly count?: number;
  readonly hex?: string;
  readonly labels?: Record<number, Label>;
}

/** Reads the records of some verbs, or of all, one JSON object a line. */
export function parseCalls(
  text: string,
  isWanted: (verb: string) => boolean = () => true,
): Call[] {
  const calls = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return calls.filter(({ verb }) => isWanted(verb)).map(({ verb, args, result, errno }) => {
    const named = (args as RawArgument[]).map((raw) => [raw.name, argument(raw)]);
    return { verb, args: Object.fromEntries(named), result, errno };
  });
}

function argument(raw: RawArgument): Argument {
  if (raw.value !== undefined) return narrowed(BigInt(raw.value));
  if (raw.object !== undefined) return raw.object;
  if (raw.address !== undefined) return raw.label ?? BigInt(raw.address);
  return raw.hex === undefined ? null : recordedStruct(raw, raw.hex);
}

function narrowed(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function recordedStruct(raw: RawArgument, hex: string): RecordedStruct {
  const bytes = Uint8Array.fromHex(hex);
  const labels = raw.labels ?? {};
  const tag = raw.struct!;
  const elements = Array.from({ length: raw.count! }, (_, i) => decode(tag, bytes, labels, i));
  return { tag, address: BigInt(raw.at!), bytes, labels, elements, fields: elements[0] ?? {} };
}

const layouts: Readonly<Record<string, Struct>> = { ...structs };

function layoutOf(tag: string): Struct | undefined {
  return layouts[tag];
}

/** The fields of one element of an array of structs; none of what has no layout. */
export function decode(
  tag: string,
  bytes: Uint8Array<ArrayBuffer>,
  labels: Readonly<Record<number, Label>>,
  index: number,
): Fields {
  const layout = layoutOf(tag);
  if (layout === undefined) return {};
  const view = new DataView(bytes.buffer);
  const base = index * layout.size;
  const entries = Object.entries(layout.fields)
    // A spec or key may be shorter than the struct that describes it.
    .filter(([, { offset, size }]) => base + offset + size <= bytes.length)
    .map(([name, field]) => [name, fieldValue(view, field, base, labels)]);
  return Object.fromEntries(entries);
}

function fieldValue(
  view: DataView<ArrayBuffer>,
  field: Field,
  base: number,
  labels: Readonly<Record<number, Label>>,
): FieldValue {
  const at = base + field.offset;
  if (field.type === "bytes") return new Uint8Array(view.buffer, at, field.size);
  const label = field.size === 8 ? labels[at] : undefined;
  if (label !== undefined) return label;
  const value = readField(view, field, base);
  return field.type === "ptr" && value === 0n ? null : value;
}

/** A call without what differs between two processes that make the same request: addresses, and text of errors. */
export interface ComparableCall {
  readonly verb: string;
  readonly args: Readonly<Record<string, number | bigint | string | null | ComparableStruct>>;
  readonly result: number | Label | null;
  readonly errno: number;
}

/** Addresses are above this; no length or key is. */
const LOWEST_ADDRESS = 1n << 32n;

/** Values by which the caller knows its own objects; the provider only gives them back. */
const OWN = /_context$/;

/** Stands for the place of a list without elements. */
const EMPTY = "";

/** A struct of which only the bytes are left that are no pointers, and what the pointers lead to, by their offset. */
export interface ComparableStruct {
  readonly tag: string;
  readonly bytes: string;
  readonly pointers: Readonly<Record<number, string>>;
}

/** Brings calls into a form in which those of two processes can be compared byte for byte, padding included. */
export function comparable(calls: readonly Call[]): ComparableCall[] {
  return calls.map(({ args, ...call }) => {
    const places = new Map(
      Object.entries(args).flatMap(([name, value]): [bigint, string][] =>
        isStruct(value) ? [[value.address, value.bytes.length === 0 ? EMPTY : name]] : []
      ),
    );
    const compared = Object.entries(args).filter(([name]) => !OWN.test(name))
      .map(([name, value]) => [name, comparableArgument(value, places)]);
    return { ...call, args: Object.fromEntries(compared) };
  });
}

function isStruct(value: Argument): value is RecordedStruct {
  return typeof value === "object" && value !== null;
}

function comparableArgument(
  value: Argument,
  places: ReadonlyMap<bigint, string>,
): ComparableCall["args"][string] {
  if (!isStruct(value)) {
    return typeof value === "bigint" && value >= LOWEST_ADDRESS ? "address" : value;
  }
  // Where a list without elements is says nothing.
  if (value.bytes.length === 0) return null;
  const bytes = value.bytes.slice();
  const view = new DataView(bytes.buffer);
  const pointers: Record<number, string> = { ...value.labels };
  for (const at of pointerOffsets(value)) {
    const target = view.getBigUint64(at, true);
    if (target !== 0n) pointers[at] ??= places.get(target) ?? "address";
    if (pointers[at] === EMPTY) delete pointers[at];
    view.setBigUint64(at, 0n);
  }
  for (const at of [...Object.keys(pointers), ...pointerOffsets(value, true)]) {
    view.setBigUint64(Number(at), 0n);
  }
  return { tag: value.tag, bytes: bytes.toHex(), pointers };
}

/** Where the pointers of all elements are. */
function pointerOffsets({ tag, elements }: RecordedStruct, own = false): number[] {
  const layout = layoutOf(tag);
  if (layout === undefined) return [];
  const offsets = Object.entries(layout.fields)
    .filter(([name, { type }]) =>
      type === "ptr" && OWN.test(name) === own && name in (elements[0] ?? {})
    )
    .map(([, { offset }]) => offset);
  return elements.flatMap((_, i) => offsets.map((offset) => i * layout.size + offset));
}
