/**
 * The codec of attribute structs: writes an attribute object into a C struct and reads a C struct into an object, both
 * by the layout table. Attributes carry the names of the C fields in camelCase.
 *
 * @module
 */

import { type Field, type FieldType, type Structs, structs } from "../../ffi/layout.ts";
import { handleAddress } from "../../ffi/pointers.ts";
import {
  allocStruct,
  camelCase,
  fieldBytes,
  readField,
  type ValueOf,
  writeField,
} from "../../ffi/struct.ts";
import { boolean, type ClassOf, instance, integer, show, snapshot, uint64 } from "./checks.ts";
import type { NativeResource } from "./native_resource.ts";

/** What all rules share. */
interface Common {
  /** The C field, if it is not the attribute's name in snake_case; `null` if the struct has none. */
  readonly field?: string | null;
  /** The bit of the C mask that says that the attribute is given. */
  readonly mask?: number;
  /** Whether the attribute must be given. */
  readonly required?: true;
  /** The value, from all attributes as they were given. It may throw to refuse a combination. */
  readonly derive?: (given: Readonly<Record<string, unknown>>) => unknown;
}

/** An integer. Its range follows from the type of the C field. */
export interface NumberRule extends Common {
  /** Bits that are used, if fewer than the field has. */
  readonly bits?: 4 | 5 | 20 | 24;
  /** The largest value, if it is not a matter of bits. */
  readonly max?: number;
  /** The enum that the value must be a member of. */
  readonly values?: Readonly<Record<string, number>>;
  /** The value if it is left out; otherwise the field stays 0. */
  readonly fallback?: number;
  /** Whether the field is in network byte order although its C type does not say so. The attribute is in host order. */
  readonly bigEndian?: true;
}

/** A boolean, written as 0 or 1. */
export interface BooleanRule extends Common {
  /** Tells the rule from others. */
  readonly boolean: true;
}

/** A struct within the struct. */
export interface StructRule<T extends object> extends Common {
  /** Its codec. */
  readonly struct: AttributeCodec<T, object>;
}

/** A value that is bytes in C, such as a GID or a MAC address. */
export interface BytesRule<T> extends Common {
  /** Checks the value and returns its bytes, as many as the field has. */
  readonly from: (value: unknown, what: string) => Uint8Array;
  /** The value that has these bytes. */
  readonly to: (bytes: Uint8Array<ArrayBuffer>) => T;
}

/** A verbs object, written as its pointer. */
export interface ResourceRule<T> extends Common {
  /** Its class. */
  readonly resource: ClassOf<T>;
}

/** An attribute that the caller of the codec writes: it is read and handed back, nothing else. */
export interface OtherRule extends Common {
  /** Tells the rule from others. */
  readonly other: true;
}

/** The rule of an attribute by its TypeScript type. */
export type RuleOf<T> =
  | OtherRule
  | (T extends boolean ? BooleanRule
    : T extends number | bigint ? NumberRule
    : T extends NativeResource<infer _> ? ResourceRule<T>
    : T extends string ? BytesRule<T>
    : T extends object ? StructRule<T> | BytesRule<T>
    : never);

/** A rule for each attribute. */
export type Rules<T> = { readonly [K in keyof T]-?: RuleOf<NonNullable<T[K]>> };

type AnyRule =
  & Partial<
    & NumberRule
    & BooleanRule
    & StructRule<object>
    & BytesRule<unknown>
    & ResourceRule<NativeResource>
    & OtherRule
  >
  & Common;

/** An attribute. All entries have the same properties, so that V8 reads those of any of them by one compiled load. */
interface Entry {
  readonly name: string;
  readonly rule: AnyRule;
  readonly field: Field | undefined;
  readonly mask: number;
  readonly required: boolean;
  readonly derive: AnyRule["derive"];
  readonly fallback: number | undefined;
  /** The largest integer. */
  readonly limit: number;
}

/** A struct that was written from an attribute object. */
export interface Written<T> {
  /** The struct. */
  readonly view: DataView<ArrayBuffer>;
  /** The bits of the attributes that were given. */
  readonly mask: number;
  /** The attributes as they were read: the caller's object is not read again. */
  readonly given: T;
  /** Writes the pointers of verbs objects. Call it last, when no code of the caller runs any more. */
  writeHandles(): void;
}

/**
 * Writes and reads one kind of struct.
 *
 * `T` is the interface of the attributes to write, `R` that of the attributes that are read back. Every attribute needs a
 * rule; `{}` is an integer of the field's own range.
 */
export class AttributeCodec<T extends object, R extends object = T> {
  readonly #layout: keyof Structs;
  readonly #what: string;
  readonly #rules: Readonly<Record<string, AnyRule>>;
  readonly #names: readonly (keyof T & string)[];
  #entries: readonly Entry[] | undefined;

  /**
   * Makes the codec of a struct.
   *
   * @param layout The C struct.
   * @param what The attributes in messages, such as "queue pair attributes".
   * @param rules The rule of each attribute.
   */
  constructor(layout: keyof Structs, what: string, rules: Rules<T>) {
    this.#layout = layout;
    this.#what = what;
    this.#rules = rules as Record<string, AnyRule>;
    this.#names = Object.keys(rules) as (keyof T & string)[];
  }

  /** The size of the struct in bytes. */
  get size(): number {
    return structs[this.#layout].size;
  }

  /**
   * Reads an attribute object, each property once, checks it and writes it into a new struct.
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing, or is unknown.
   * @throws {RangeError} If a number is out of range.
   */
  write(attributes: T): Written<T> {
    const view = allocStruct(structs[this.#layout]);
    const written = this.writeTo(view, 0, attributes);
    return { view, ...written };
  }

  /** The rules with their fields. Few programs use all codecs, so the first use of each one finds its fields. */
  #placed(): readonly Entry[] {
    if (this.#entries === undefined) {
      const layout = this.#layout;
      const { fields } = structs[layout];
      this.#entries = Object.entries(this.#rules).map(([name, rule]) =>
        entryOf(name, rule, placed(fieldOf(fields, layout, name, rule), rule))
      );
    }
    return this.#entries;
  }

  /** {@linkcode AttributeCodec.write} into a struct at a byte offset of a view. The struct must be zeroed. */
  writeTo(
    view: DataView<ArrayBuffer>,
    base: number,
    attributes: T,
  ): Omit<Written<T>, "view"> {
    const given = snapshot(attributes, this.#what, this.#names) as Record<string, unknown>;
    const resources: [number, NativeResource][] = [];
    let mask = 0;
    for (const entry of this.#placed()) {
      const { name, derive } = entry;
      const own = given[name];
      if (own === null) throw new TypeError(`Cannot use ${name} null: leave it out instead`);
      const value = derive?.(given) ?? own ?? entry.fallback;
      if (value === undefined) {
        if (entry.required) throw new TypeError(`Cannot use ${this.#what}: ${name} is missing`);
        continue;
      }
      if (own !== undefined) mask |= entry.mask;
      const { rule, field } = entry;
      if (rule.struct) {
        given[name] = rule.struct.writeTo(view, base + field!.offset, value as object).given;
      } else if (rule.resource) {
        resources.push([base + field!.offset, instance(value, rule.resource, name)]);
      } else if (!rule.other) writeValue(view, base, entry, value);
    }
    const writeHandles = (): void => {
      for (const [offset, { unsafeHandle }] of resources) {
        writeField(view, { offset, type: "ptr" }, handleAddress(unsafeHandle));
      }
    };
    return { mask, given: given as T, writeHandles };
  }

  /** Reads a struct that starts at a byte offset of a view. Verbs objects and other pointers are left out. */
  read(view: DataView<ArrayBuffer>, base = 0): R {
    const attributes: Record<string, unknown> = {};
    for (const { name, rule, field } of this.#placed()) {
      if (field === undefined || rule.resource || rule.other) continue;
      attributes[name] = readValue(view, base, field, rule);
    }
    return attributes as R;
  }
}

function entryOf(name: string, rule: AnyRule, field: Field | undefined): Entry {
  return {
    name,
    rule,
    field,
    mask: rule.mask ?? 0,
    required: rule.required ?? false,
    derive: rule.derive,
    fallback: rule.fallback,
    limit: limitOf(rule, field),
  };
}

const BITS: Partial<Record<FieldType, number>> = { u8: 8, u16: 16, be16: 16, u32: 32, be32: 32 };

function limitOf({ max, bits }: AnyRule, field: Field | undefined): number {
  if (field?.type === "i32") return max ?? 0x7fff_ffff;
  return max ?? 2 ** (bits ?? BITS[field?.type ?? "u64"] ?? 64) - 1;
}

function fieldOf(
  fields: Readonly<Record<string, Field>>,
  layout: string,
  name: string,
  { field, other }: AnyRule,
): Field | undefined {
  if (field === null || (other && field === undefined)) return undefined;
  const found = field === undefined ? byCamelCase(fields, name) : fields[field];
  if (found === undefined) throw new Error(`Cannot find "${field ?? name}" in struct ${layout}`);
  return found;
}

function placed(field: Field | undefined, { bigEndian }: AnyRule): Field | undefined {
  if (field === undefined || !bigEndian) return field;
  return { ...field, type: field.type.replace(/^u/, "be") as FieldType };
}

function byCamelCase(
  fields: Readonly<Record<string, Field>>,
  name: string,
): Field | undefined {
  const direct = fields[name] ?? fields[name.replace(/[A-Z]/g, (l) => `_${l.toLowerCase()}`)];
  return direct ?? Object.entries(fields).find(([field]) => camelCase(field) === name)?.[1];
}

function writeValue(
  view: DataView<ArrayBuffer>,
  base: number,
  entry: Entry,
  value: unknown,
): void {
  const { name, rule } = entry;
  const field = entry.field!;
  if (rule.from) {
    fieldBytes(view, field, base).set(rule.from(value, name));
  } else if (rule.boolean) {
    writeField(view, field, Number(boolean(value as boolean, name)), base);
  } else {
    writeField(view, field, checkNumber(field.type, entry, value as number), base);
  }
}

function checkNumber(
  type: FieldType,
  { name, rule: { values }, limit }: Entry,
  value: number | bigint,
): number | bigint {
  if (type === "u64" || type === "be64" || type === "ptr") return uint64(value, name);
  if (values !== undefined) return member(value as number, name, values);
  return integer(value as number, name, 0, limit);
}

function member(value: number, name: string, values: Readonly<Record<string, number>>): number {
  for (const key in values) if (values[key] === value) return value;
  const known = Object.entries(values).map(([key, code]) => `${code} (${key})`).join(", ");
  const message = `Cannot use ${name} ${show(value)}: it is none of ${known}`;
  throw typeof value === "number" ? new RangeError(message) : new TypeError(message);
}

function readValue(
  view: DataView<ArrayBuffer>,
  base: number,
  field: Field,
  rule: AnyRule,
): unknown {
  if (rule.struct) return rule.struct.read(view, base + field.offset);
  if (rule.to) return rule.to(fieldBytes(view, field, base).slice());
  const value: ValueOf<FieldType> = readField(view, field, base);
  return rule.boolean ? value !== 0 : value;
}

/** `port_num` -> `portNum`. */
type Camel<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** The JavaScript value of a field of a struct that is only read; nested structs have types of their own. */
type Plain<F> = F extends { readonly type: infer Type extends FieldType }
  ? Type extends "bytes" ? unknown : ValueOf<Type>
  : never;

/** What the layout table says about the attributes of a struct, to check an attribute interface against. */
export type LayoutOf<L extends keyof Structs> = {
  readonly [F in keyof Structs[L]["fields"] as Camel<F>]?: Plain<Structs[L]["fields"][F]>;
};

/**
 * Makes a codec whose attribute names and number types are checked against the layout at compile time: an attribute that
 * the struct does not have, or a number where C has 64 bits, does not compile.
 */
export function codecOf<L extends keyof Structs, T extends object, R extends object = T>(
  layout: L,
  what: string,
  rules:
    & Rules<T>
    & {
      readonly [K in keyof T]: K extends keyof LayoutOf<L>
        ? NonNullable<T[K]> extends number
          ? LayoutOf<L>[K] extends number | undefined ? unknown : OtherRule
        : unknown
        : { readonly field: string | null } | OtherRule;
    },
): AttributeCodec<T, R> {
  return new AttributeCodec<T, R>(layout, what, rules as Rules<T>);
}
