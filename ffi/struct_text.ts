/**
 * Reads the texts of structs in layout.ts. Texts are loaded in a third of the time of objects, and programs read few of
 * them.
 *
 * @module
 */

import type { Field, FieldType, Struct } from "./layout_types.ts";

const SIZES: Readonly<Record<Exclude<FieldType, "bytes">, number>> = {
  u8: 1,
  u16: 2,
  u32: 4,
  u64: 8,
  i32: 4,
  i64: 8,
  be16: 2,
  be32: 4,
  be64: 8,
  ptr: 8,
};

/**
 * The struct that a text describes.
 *
 * @param text The size of the struct in bytes. Then a line for each field: name, type, offset, and the size of bytes.
 * @param change The size and the fields that differ on this architecture, if any do.
 */
export function parseStruct(text: string, change?: string): Struct {
  const fields: Record<string, Field> = {};
  const size = readFields(text, fields);
  return { size: change === undefined ? size : readFields(change, fields), fields };
}

/** Returns the size of the struct. */
function readFields(text: string, fields: Record<string, Field>): number {
  const [size, ...lines] = text.split("\n");
  for (const line of lines) {
    const [name, type, offset, length] = line.trimStart().split(" ") as [
      string,
      FieldType,
      string,
      string,
    ];
    const size = type === "bytes" ? Number(length) : SIZES[type];
    fields[name] = { offset: Number(offset), size, type };
  }
  return Number(size);
}
