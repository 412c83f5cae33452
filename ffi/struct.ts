/**
 * Reading and writing C structs by the tables of layout.ts: those we make, through a DataView, and those the library
 * owns, through a pointer. Attribute objects use the C names in camelCase.
 *
 * @module
 */

import type { Field, FieldType, Struct } from "./layout.ts";

/**
 * The place of a field in its struct, and its type.
 *
 * @category Layouts of structs
 */
export type Place<T extends FieldType = FieldType> = Pick<Field<T>, "offset" | "type">;

/**
 * The JavaScript value of a field type.
 *
 * @category Layouts of structs
 */
export type ValueOf<T extends FieldType> = T extends "u64" | "i64" | "be64" | "ptr" ? bigint
  : T extends "bytes" ? never
  : number;

/**
 * Reads a field of a struct that starts at `base` in `view`.
 *
 * @category Layouts of structs
 */
export function readField<T extends FieldType>(
  view: DataView,
  field: Place<T>,
  base = 0,
): ValueOf<T> {
  return readAt(view, field.type, base + field.offset) as ValueOf<T>;
}

function readAt(view: DataView, type: FieldType, at: number): number | bigint {
  switch (type) {
    case "u8":
      return view.getUint8(at);
    case "u16":
      return view.getUint16(at, true);
    case "u32":
      return view.getUint32(at, true);
    case "i32":
      return view.getInt32(at, true);
    case "be16":
      return view.getUint16(at);
    case "be32":
      return view.getUint32(at);
    case "i64":
      return view.getBigInt64(at, true);
    case "u64":
    case "ptr":
      return view.getBigUint64(at, true);
    case "be64":
      return view.getBigUint64(at);
    case "bytes":
      throw new TypeError("Cannot read field: it is not a number");
  }
}

/**
 * Writes a field of a struct that starts at `base` in `view`; the value must be in the field's range.
 *
 * @category Layouts of structs
 */
export function writeField<T extends FieldType>(
  view: DataView,
  field: Place<T>,
  value: number | bigint,
  base = 0,
): void {
  writeAt(view, field.type, base + field.offset, value);
}

function writeAt(view: DataView, type: FieldType, at: number, value: number | bigint): void {
  switch (type) {
    case "u8":
      return view.setUint8(at, Number(value));
    case "u16":
      return view.setUint16(at, Number(value), true);
    case "u32":
      return view.setUint32(at, Number(value), true);
    case "i32":
      return view.setInt32(at, Number(value), true);
    case "be16":
      return view.setUint16(at, Number(value));
    case "be32":
      return view.setUint32(at, Number(value));
    case "i64":
      return view.setBigInt64(at, BigInt(value), true);
    case "u64":
    case "ptr":
      return view.setBigUint64(at, BigInt(value), true);
    case "be64":
      return view.setBigUint64(at, BigInt(value));
    case "bytes":
      throw new TypeError("Cannot write field: it is not a number");
  }
}

/**
 * The bytes of a field, shared with the struct.
 *
 * @category Layouts of structs
 */
export function fieldBytes(
  view: DataView<ArrayBuffer>,
  field: { readonly offset: number; readonly size: number },
  base = 0,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(view.buffer, view.byteOffset + base + field.offset, field.size);
}

/**
 * Reads a field of a struct that libibverbs owns.
 *
 * @category Layouts of structs
 */
export function readNative<T extends FieldType>(
  object: Deno.PointerObject,
  field: Place<T>,
): ValueOf<T> {
  const view = new Deno.UnsafePointerView(object);
  return readNativeAt(view, field.type, field.offset) as ValueOf<T>;
}

function readNativeAt(
  view: Deno.UnsafePointerView,
  type: FieldType,
  offset: number,
): number | bigint {
  switch (type) {
    case "u8":
      return view.getUint8(offset);
    case "u16":
      return view.getUint16(offset);
    case "u32":
      return view.getUint32(offset);
    case "i32":
      return view.getInt32(offset);
    case "u64":
    case "ptr":
      return view.getBigUint64(offset);
    case "i64":
      return view.getBigInt64(offset);
    default:
      return readAt(copyNative(view, offset), type, 0);
  }
}

function copyNative(view: Deno.UnsafePointerView, offset: number): DataView {
  const bytes = new Uint8Array(8);
  view.copyInto(bytes, offset);
  return new DataView(bytes.buffer);
}

/**
 * A zeroed buffer for one struct, or for `count` of them in a row.
 *
 * @category Layouts of structs
 */
export function allocStruct(layout: Struct, count = 1): DataView<ArrayBuffer> {
  return new DataView(new ArrayBuffer(layout.size * count));
}

/**
 * A name of C in camelCase: `max_send_wr` gives `maxSendWr`. The dots of nested fields stay.
 *
 * @category Layouts of structs
 */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The numeric fields of a struct as an object. Nested structs become nested objects.
 *
 * @category Layouts of structs
 */
export function structToObject(
  view: DataView<ArrayBuffer>,
  layout: Struct,
  base = 0,
): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(layout.fields)) {
    if (field.type !== "bytes") setPath(object, camelCase(name), readField(view, field, base));
  }
  return object;
}

function setPath(object: Record<string, unknown>, path: string, value: unknown): void {
  const [first, ...rest] = path.split(".");
  if (rest.length === 0) object[first!] = value;
  else {
    setPath((object[first!] ??= {}) as Record<string, unknown>, rest.join("."), value);
  }
}
