/** Turns debugging information into structs and enums. */

import type { Entry } from "./dwarf.ts";
import type { Field, FieldType, Integer, Integers, Struct } from "./model.ts";

/** DWARF's numbers for a signed integer and a signed char. */
const SIGNED: readonly number[] = [5, 6];

export function membersOf(enumeration: Entry): Integers {
  return Object.fromEntries(
    enumeration.children.map(({ attributes }) => [
      attributes.get("name"),
      toInteger(BigInt(attributes.get("const_value") ?? "")),
    ]),
  );
}

/** Keeps a number a number as long as that loses nothing. */
function toInteger(value: bigint): Integer {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A struct or union; those fields of nested ones that have a name, too. */
export function structOf(entry: Entry): Struct {
  return { size: integer(entry, "byte_size"), fields: Object.fromEntries(fieldsOf(entry, "", 0)) };
}

/** Whether an entry is a struct or union. */
export function isAggregate({ tag }: Entry): boolean {
  return tag === "structure_type" || tag === "union_type";
}

function* fieldsOf(struct: Entry, prefix: string, base: number): Generator<[string, Field]> {
  for (const member of struct.children.filter(({ tag }) => tag === "member")) {
    const name = prefix + (member.attributes.get("name") ?? "");
    if (member.attributes.has("bit_size")) {
      throw new Error(`Cannot describe ${name}: it is a bit-field`);
    }
    // Members of a union have no location.
    const offset = base + integer(member, "data_member_location", 0);
    const type = resolve(member);
    const isNameless = name === prefix;
    if (!isNameless) yield [name, { offset, size: sizeOf(type.entry), type: fieldType(type) }];
    // What is inside a lock is libc's business: a binding may zero it but never reads it.
    const isOpaque = type.typedefs.some((name) => name.startsWith("pthread_"));
    if (isAggregate(type.entry) && !isOpaque) {
      yield* fieldsOf(type.entry, isNameless ? prefix : `${name}.`, offset);
    }
  }
}

/** A type without its typedefs and qualifiers. */
interface Resolved {
  readonly entry: Entry;
  /** Names of the typedefs it was reached by. */
  readonly typedefs: readonly string[];
}

function resolve({ tag, type }: Entry): Resolved {
  if (!type) throw new Error(`Cannot follow the type of a ${tag}`);
  if (!["typedef", "const_type", "volatile_type"].includes(type.tag)) {
    return { entry: type, typedefs: [] };
  }
  const { entry, typedefs } = resolve(type);
  const name = type.tag === "typedef" ? [type.attributes.get("name") ?? ""] : [];
  return { entry, typedefs: [...name, ...typedefs] };
}

function sizeOf(entry: Entry): number {
  if (entry.tag !== "array_type") return integer(entry, "byte_size");
  return entry.children
    .map((range) => integer(range, "upper_bound") + 1)
    .reduce((size, length) => size * length, sizeOf(resolve(entry).entry));
}

function fieldType({ entry, typedefs }: Resolved): FieldType {
  if (entry.tag === "pointer_type") return "ptr";
  if (isAggregate(entry) || entry.tag === "array_type") return "bytes";
  const bits = integer(entry, "byte_size") * 8;
  // Byte order is only in the typedef's name: to the compiler __be32 is any other unsigned int.
  const isBigEndian = typedefs.includes(`__be${bits}`);
  const isSigned = SIGNED.includes(integer(entry, "encoding"));
  return `${isBigEndian ? "be" : isSigned ? "i" : "u"}${bits}` as FieldType;
}

function integer(entry: Entry, attribute: string, fallback?: number): number {
  const text = entry.attributes.get(attribute);
  if (text !== undefined) return Number.parseInt(text);
  if (fallback !== undefined) return fallback;
  throw new Error(`Cannot find ${attribute} of a ${entry.tag}`);
}
