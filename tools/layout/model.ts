/** The shape of the table, shared by those who write it and those who check it. */

import type { Field as AnyField, FieldType } from "../../ffi/layout.ts";

export type { FieldType };

/** Place and type of a field in its struct. */
export type Field = AnyField;

/** A struct or union: its size in bytes, and its fields by name; those of nested structs have dots in their names. */
export interface Struct {
  readonly size: number;
  readonly fields: Readonly<Record<string, Field>>;
}

/** An integer as JavaScript holds it exactly. */
export type Integer = number | bigint;

export type Integers = Readonly<Record<string, Integer>>;

/** Everything the header fixes on one architecture. */
export interface Layout {
  readonly structs: Readonly<Record<string, Struct>>;
  readonly enums: Readonly<Record<string, Integers>>;
  /** Members of nameless enums and macros that stand for a number. */
  readonly constants: Integers;
}

/** Everything the header fixes: structs by architecture; enums and constants are the same on both. */
export type Table =
  & Pick<Layout, "enums" | "constants">
  & Readonly<Record<"x86_64" | "aarch64", Layout["structs"]>>;

/** The table that ffi/layout.ts holds. */
export function tableOf(
  { structsOf, enums, constants }: {
    readonly structsOf: (arch: "x86_64" | "aarch64") => object;
    readonly enums: object;
    readonly constants: object;
  },
): Table {
  const [x86_64, aarch64] = [structsOf("x86_64"), structsOf("aarch64")];
  return { x86_64, aarch64, enums, constants } as Table;
}
