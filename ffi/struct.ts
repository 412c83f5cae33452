import type { Field, FieldType, Struct } from "./layout.ts";
import { nativeView } from "./pointers.ts";

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

type Read = (view: DataView, at: number) => number | bigint;
type Write = (view: DataView, at: number, value: never) => void;

/** How the types that are numbers are read and written, and their sizes in bytes. */
const NUMBERS: { readonly [T in FieldType]?: readonly [read: Read, write: Write, size: number] } = {
  u8: [(v, at) => v.getUint8(at), (v, at, n) => v.setUint8(at, n), 1],
  u16: [(v, at) => v.getUint16(at, true), (v, at, n) => v.setUint16(at, n, true), 2],
  u32: [(v, at) => v.getUint32(at, true), (v, at, n) => v.setUint32(at, n, true), 4],
  i32: [(v, at) => v.getInt32(at, true), (v, at, n) => v.setInt32(at, n, true), 4],
  be16: [(v, at) => v.getUint16(at), (v, at, n) => v.setUint16(at, n), 2],
  be32: [(v, at) => v.getUint32(at), (v, at, n) => v.setUint32(at, n), 4],
  i64: [(v, at) => v.getBigInt64(at, true), (v, at, n) => v.setBigInt64(at, n, true), 8],
  u64: [(v, at) => v.getBigUint64(at, true), (v, at, n) => v.setBigUint64(at, n, true), 8],
  ptr: [(v, at) => v.getBigUint64(at, true), (v, at, n) => v.setBigUint64(at, n, true), 8],
  be64: [(v, at) => v.getBigUint64(at), (v, at, n) => v.setBigUint64(at, n), 8],
};

function numberOf(type: FieldType, action: string): readonly [Read, Write, number] {
  const access = NUMBERS[type];
  if (access === undefined) throw new TypeError(`Cannot ${action} field: it is not a number`);
  return access;
}

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
  const [read] = numberOf(field.type, "read");
  return read(view, base + field.offset) as ValueOf<T>;
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
  const [, write, size] = numberOf(field.type, "write");
  write(view, base + field.offset, (size === 8 ? BigInt(value) : Number(value)) as never);
}

/** The fields of a struct that are numbers, as properties with their names in C. */
export type Accessors<Fields> = {
  -readonly [Name in keyof Fields as Fields[Name] extends Place<"bytes"> ? never : Name]:
    Fields[Name] extends Place<infer Type> ? ValueOf<Type> : never;
};

/**
 * Makes the class of a struct in memory: its properties read and write the fields of the struct that starts at `base`
 * in `view`. V8 compiles each to one access to memory, so it is for structs that are written often.
 */
export function accessorsOf<Fields extends Readonly<Record<keyof Fields, Place>>>(
  fields: Fields,
): new (view: DataView, base?: number) => Accessors<Fields> {
  class Struct {
    constructor(readonly view: DataView, readonly base = 0) {}
  }
  for (const [name, { offset, type }] of Object.entries<Place>(fields)) {
    const access = NUMBERS[type];
    if (access === undefined) continue;
    const [read, write] = access;
    Object.defineProperty(Struct.prototype, name, {
      get(this: Struct): number | bigint {
        return read(this.view, this.base + offset);
      },
      set(this: Struct, value: never): void {
        write(this.view, this.base + offset, value);
      },
    });
  }
  return Struct as never;
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
  const { offset, type } = field;
  const [read, , size] = numberOf(type, "read");
  // The view of a pointer has the methods of a DataView, but reads in the machine's own order.
  const view = type.startsWith("be")
    ? nativeView(object, offset + size)
    : new Deno.UnsafePointerView(object) as unknown as DataView;
  return read(view, offset) as ValueOf<T>;
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
