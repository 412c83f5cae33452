/**
 * The shape of the table, shared by those who write it and those who check it.
 *
 * @module
 */

/** How the bytes of a field are to be read. */
export const fieldTypes = [
  "u8",
  "u16",
  "u32",
  "u64",
  "i32",
  "i64",
  "be16",
  "be32",
  "be64",
  "ptr",
  "bytes",
] as const;

/** One of {@linkcode fieldTypes}. */
export type FieldType = typeof fieldTypes[number];

/** Place and type of a field in its struct. */
export interface Field {
  /** Bytes from the struct's start. */
  readonly offset: number;
  /** Bytes it takes. */
  readonly size: number;
  /** How to read them. */
  readonly type: FieldType;
}

/** A struct or union. */
export interface Struct {
  /** Bytes it takes. */
  readonly size: number;
  /** Fields by name; those of nested structs have dots in their names. */
  readonly fields: Readonly<Record<string, Field>>;
}

/** An integer as JavaScript holds it exactly. */
export type Integer = number | bigint;

/** Values by name. */
export type Integers = Readonly<Record<string, Integer>>;

/** Everything the header fixes on one architecture. */
export interface Layout {
  /** Structs and unions by tag. */
  readonly structs: Readonly<Record<string, Struct>>;
  /** Named enums: values by member. */
  readonly enums: Readonly<Record<string, Integers>>;
  /** Members of nameless enums and macros that stand for a number. */
  readonly constants: Integers;
}

/** Everything the header fixes; enums and constants are the same on both architectures. */
export interface Table extends Pick<Layout, "enums" | "constants"> {
  /** Structs on x86-64. */
  readonly x86_64: Layout["structs"];
  /** Structs on aarch64. */
  readonly aarch64: Layout["structs"];
}

/** What ffi/layout.ts exports of the table. */
export interface LayoutModule {
  /** Structs on an architecture. */
  readonly structsOf: (arch: "x86_64" | "aarch64") => object;
  /** Named enums. */
  readonly enums: object;
  /** Other constants. */
  readonly constants: object;
}

/** The table that ffi/layout.ts holds. */
export function tableOf({ structsOf, enums, constants }: LayoutModule): Table {
  const [x86_64, aarch64] = [structsOf("x86_64"), structsOf("aarch64")];
  return { x86_64, aarch64, enums, constants } as Table;
}

/** The files that hold the table. */
export interface Texts {
  /** The text of ffi/layout.ts. */
  readonly values: string;
  /** The text of ffi/layout_types.ts. */
  readonly types: string;
}

/** Keeps a number a number as long as that loses nothing. */
export function toInteger(value: bigint): Integer {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
