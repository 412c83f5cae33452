/**
 * Turns debugging information into structs and enums.
 *
 * @module
 */
import type { DebugInfo, Entry } from "./dwarf.ts";
import {
  type Field,
  type FieldType,
  type Integers,
  type Layout,
  type Struct,
  toInteger,
} from "./model.ts";

/** A type without its typedefs and qualifiers. */
interface Resolved {
  readonly entry: Entry;
  /** Names of the typedefs it was reached by. */
  readonly typedefs: readonly string[];
}

/** DWARF's numbers for a signed integer and a signed char. */
const signedEncodings: ReadonlySet<number> = new Set([5, 6]);

/**
 * All structs, unions and enums that the verbs headers define.
 * `publicTags` has the verbs name of a type that the header defines under the kernel's name.
 */
export function readTypes(info: DebugInfo, publicTags: ReadonlyMap<string, string>): Layout {
  const structs: Record<string, Struct> = {};
  const enums: Record<string, Integers> = {};
  const constants: Record<string, Integers[string]> = {};
  for (const entry of info.entries) {
    const file = info.files.get(entry.attributes.get("decl_file") ?? "") ?? "";
    if (!isVerbsHeader(file) || entry.attributes.has("declaration")) continue;
    const tag = entry.attributes.get("name") ?? "";
    const name = publicTags.get(tag) ?? tag;
    if (entry.tag === "enumeration_type" && name) enums[name] = membersOf(entry);
    else if (entry.tag === "enumeration_type") Object.assign(constants, membersOf(entry));
    else if (isAggregate(entry) && name) {
      const fields = Object.fromEntries(fieldsOf(info, entry, "", 0));
      structs[name] = { size: integer(entry, "byte_size"), fields };
    }
  }
  return { structs, enums, constants };
}

/** Whether a file is one of those whose definitions belong in the table. */
export function isVerbsHeader(path: string): boolean {
  return /\/infiniband\/(verbs|verbs_api|ib_user_ioctl_verbs)\.h$/.test(path);
}

function membersOf(enumeration: Entry): Integers {
  return Object.fromEntries(
    enumeration.children.map(({ attributes }) => [
      attributes.get("name"),
      toInteger(BigInt(attributes.get("const_value") ?? "")),
    ]),
  );
}

function* fieldsOf(
  info: DebugInfo,
  struct: Entry,
  prefix: string,
  base: number,
): Generator<[string, Field]> {
  for (const member of struct.children.filter(({ tag }) => tag === "member")) {
    const name = prefix + (member.attributes.get("name") ?? "");
    if (member.attributes.has("bit_size")) {
      throw new Error(`Cannot describe ${name}: it is a bit-field`);
    }
    // Members of a union have no location.
    const offset = base + integer(member, "data_member_location", 0);
    const type = resolve(info, member);
    const isNameless = name === prefix;
    if (!isNameless) yield [name, { offset, size: sizeOf(info, type), type: fieldType(type) }];
    if (isAggregate(type.entry) && !isOpaque(type)) {
      yield* fieldsOf(info, type.entry, isNameless ? prefix : `${name}.`, offset);
    }
  }
}

function resolve(info: DebugInfo, user: Entry): Resolved {
  const entry = info.byOffset.get(user.attributes.get("type") ?? "");
  if (!entry) throw new Error(`Cannot follow the type of a ${user.tag}`);
  if (!["typedef", "const_type", "volatile_type"].includes(entry.tag)) {
    return { entry, typedefs: [] };
  }
  const inner = resolve(info, entry);
  const name = entry.tag === "typedef" ? [entry.attributes.get("name") ?? ""] : [];
  return { entry: inner.entry, typedefs: [...name, ...inner.typedefs] };
}

function sizeOf(info: DebugInfo, { entry }: Resolved): number {
  if (entry.tag !== "array_type") return integer(entry, "byte_size");
  return entry.children
    .map((range) => integer(range, "upper_bound") + 1)
    .reduce((size, length) => size * length, sizeOf(info, resolve(info, entry)));
}

function fieldType({ entry, typedefs }: Resolved): FieldType {
  if (entry.tag === "pointer_type") return "ptr";
  if (isAggregate(entry) || entry.tag === "array_type") return "bytes";
  const bits = integer(entry, "byte_size") * 8;
  // Byte order is only in the typedef's name: to the compiler __be32 is any other unsigned int.
  const isBigEndian = typedefs.includes(`__be${bits}`);
  const isSigned = signedEncodings.has(integer(entry, "encoding"));
  return `${isBigEndian ? "be" : isSigned ? "i" : "u"}${bits}` as FieldType;
}

function isAggregate(entry: Entry): boolean {
  return entry.tag === "structure_type" || entry.tag === "union_type";
}

/** What is inside a lock is libc's business: a binding may zero it but never reads it. */
function isOpaque({ typedefs }: Resolved): boolean {
  return typedefs.some((name) => name.startsWith("pthread_"));
}

function integer(entry: Entry, attribute: string, fallback?: number): number {
  const text = entry.attributes.get(attribute);
  if (text !== undefined) return Number.parseInt(text);
  if (fallback !== undefined) return fallback;
  throw new Error(`Cannot find ${attribute} of a ${entry.tag}`);
}
