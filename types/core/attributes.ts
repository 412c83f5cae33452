import { type Field, type FieldType, type Structs, structs } from "../../ffi/layout.ts";
import { bufferAddress, handleAddress } from "../../ffi/pointers.ts";
import {
  allocStruct,
  fieldBytes,
  readField,
  structToObject,
  type ValueOf,
  writeField,
} from "../../ffi/struct.ts";
import { cutTo } from "../../internal/caller.ts";
import { boolean, type ClassOf, integer, show, snapshot, uint64 } from "../../internal/checks.ts";
import type { Optional } from "../../internal/optional.ts";
import { instance } from "./checks.ts";
import type { NativeResource } from "./native_resource.ts";

/** What all rules share. */
interface Common {
  /** The C field, if it is not the attribute's name in snake_case. */
  readonly field?: string | undefined;
  /** The bit of the C mask that says that the attribute has a value. */
  readonly mask?: number | undefined;
  /** Whether the attribute must be given. */
  readonly required?: true | undefined;
  /** Whether the library gives the attribute: a caller cannot. */
  readonly own?: true | undefined;
  /** The value if it is left out; otherwise the field stays 0. */
  readonly fallback?: number | boolean | object | undefined;
  /**
   * The value, from the attributes as they were given, or `undefined` for the one that was given, or `null` for none. It
   * may throw to refuse a combination.
   */
  readonly derive?: ((given: Readonly<Record<string, unknown>>) => unknown) | undefined;
}

/** An integer. Its range follows from the type of the C field. */
export interface NumberRule extends Common {
  /** Bits that are used, if fewer than the field has. */
  readonly bits?: 4 | 5 | 20 | 24 | 32 | 53 | undefined;
  /** The smallest value, if it is not 0. */
  readonly min?: number | undefined;
  /** The largest value, if it does not follow from the bits. */
  readonly max?: number | undefined;
  /** The enum that the value must be a member of. */
  readonly values?: Readonly<Record<string, number>> | undefined;
  /** Whether the field is in network byte order although its C type does not say so. The attribute is in host order. */
  readonly bigEndian?: true | undefined;
}

/** A boolean. */
export interface BooleanRule extends Common {
  /** What `true` is in C: 1, or a flag. */
  readonly boolean: number;
}

/** A struct within the struct, or one that the struct points to. */
export interface StructRule<T extends object> extends Common {
  /** Its codec. */
  readonly struct: AttributeCodec<T, object>;
  /** Whether the field is a pointer to it. */
  readonly pointer?: true | undefined;
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

/** Memory, written as its address. It lives as long as the struct. */
export interface PointerRule extends Common {
  /** Distinguishes the rule from others. */
  readonly pointer: true;
}

/** An attribute that is no field of the struct: it is only read and handed back. */
export interface OtherRule extends Common {
  /** Distinguishes the rule from others. */
  readonly other: true;
}

/** The rule of an attribute by its TypeScript type. */
export type RuleOf<T> =
  | OtherRule
  | (T extends boolean ? BooleanRule
    : T extends number | bigint ? NumberRule
    : T extends NativeResource<infer _> ? ResourceRule<T>
    : T extends ArrayBufferView ? PointerRule | BytesRule<T>
    : T extends string ? BytesRule<T>
    : T extends object ? StructRule<T> | BytesRule<T>
    : never);

/** A rule for each attribute. */
export type Rules<T> = { readonly [K in keyof T]-?: RuleOf<NonNullable<T[K]>> };

/** A rule for each attribute that the library gives. */
export type OwnRules<O> = {
  readonly [K in keyof O]-?: RuleOf<NonNullable<O[K]>> & { readonly own: true };
};

type AnyRule =
  & Optional<
    & NumberRule
    & BooleanRule
    & StructRule<object>
    & BytesRule<unknown>
    & ResourceRule<NativeResource>
    & PointerRule
    & OtherRule
  >
  & Common;

/** A rule and its place. */
interface Entry {
  readonly name: string;
  readonly rule: AnyRule;
  /** It is undefined if the struct has no such field. */
  readonly field: Field | undefined;
}

/** A struct that was written from an attribute object. */
export interface Written<T> {
  /** The struct. */
  readonly view: DataView<ArrayBuffer>;
  /** The bits of the attributes that have a value. They are in `comp_mask` or `attr_mask`, if the struct has it. */
  readonly mask: number;
  /** The attributes as they were read: the caller's object is not read again. */
  readonly given: T;
  /** Writes the pointers of verbs objects. Call it last, when no code of the caller runs any more. */
  writeHandles(): void;
}

/** The memory that the pointers of a struct lead to. */
const pointees = new WeakMap<DataView, ArrayBufferView[]>();

/**
 * Writes and reads one kind of struct.
 *
 * `T` is the interface of the attributes to write, `R` that of the attributes that are read back, and `O` that of the
 * attributes that the library gives. Every attribute needs a rule; `{}` is an integer of the field's own range.
 */
export class AttributeCodec<T extends object, R extends object = T, O extends object = object> {
  /** The C struct. */
  readonly layout: keyof Structs;
  readonly #what: string;
  readonly #rules: Readonly<Record<string, AnyRule>>;
  #names: readonly (keyof T & string)[] | undefined;
  #entries: readonly Entry[] | undefined;

  /**
   * Makes the codec of a struct.
   *
   * @param layout The C struct.
   * @param what The attributes in messages, such as "queue pair attributes".
   * @param rules The rule of each attribute.
   */
  constructor(layout: keyof Structs, what: string, rules: NoInfer<Rules<T> & OwnRules<O>>) {
    this.layout = layout;
    this.#what = what;
    this.#rules = rules as Record<string, AnyRule>;
  }

  /** The attributes that a caller may give. */
  get names(): readonly (keyof T & string)[] {
    return this.#names ??= Object.keys(this.#rules)
      .filter((name) => !this.#rules[name]!.own) as (keyof T & string)[];
  }

  /** The size of the struct in bytes. */
  get size(): number {
    return structs[this.layout].size;
  }

  /**
   * Reads an attribute object, each property once, checks it and writes it into a struct at a byte offset of a view. The
   * struct must be zeroed; it is a new one if no view is given.
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing, or is unknown.
   * @throws {RangeError} If a number is out of range.
   */
  write(
    attributes: T,
    own?: O,
    view: DataView<ArrayBuffer> = allocStruct(structs[this.layout]),
    base: number = 0,
  ): Written<T> {
    return cutTo(this.write, () => this.#write(attributes, own, view, base));
  }

  #write(
    attributes: T,
    own: O | undefined,
    view: DataView<ArrayBuffer>,
    base: number,
  ): Written<T> {
    const given = snapshot(attributes, this.#what, this.names) as Record<string, unknown>;
    const handles: (() => void)[] = [];
    let mask = 0;
    for (const { name, rule, field } of this.#placed()) {
      const value = this.#valueOf(name, rule, given, own);
      if (value === undefined) continue;
      mask |= rule.mask ?? 0;
      if (rule.other) continue;
      const at = base + field!.offset;
      if (rule.struct) {
        const inner = rule.pointer
          ? rule.struct.write(value)
          : rule.struct.write(value, {}, view, at);
        if (rule.pointer) writePointer(view, at, inner.view);
        given[name] = inner.given;
        handles.push(inner.writeHandles);
      } else if (rule.resource) {
        const resource = instance(value, rule.resource, name);
        const place = { offset: at, type: "ptr" } as const;
        handles.push(() => writeField(view, place, handleAddress(resource.unsafeHandle)));
      } else if (rule.pointer) writePointer(view, at, value as ArrayBufferView);
      else if (rule.from) fieldBytes(view, field!, base).set(rule.from(value, name));
      else writeField(view, field!, checkNumber(field!.type, name, rule, value as number), base);
    }
    const { comp_mask, attr_mask }: Fields = structs[this.layout].fields;
    const field = comp_mask ?? attr_mask;
    if (mask !== 0 && field !== undefined) writeField(view, field, mask, base);
    const writeHandles = (): void => handles.forEach((write) => write());
    return { view, mask, given: given as T, writeHandles };
  }

  /** The value to write; `undefined` for none. */
  #valueOf(
    name: string,
    { own, derive, fallback, required }: AnyRule,
    given: Record<string, unknown>,
    owned: O | undefined,
  ): NonNullable<unknown> | undefined {
    const first = own ? (owned as Record<string, unknown> | undefined)?.[name] : given[name];
    if (first === null) throw new TypeError(`Cannot use ${name} null: leave it out instead`);
    const derived = derive?.(given);
    if (derived === null) {
      delete given[name];
      return undefined;
    }
    if (derived !== undefined && first !== undefined) given[name] = derived;
    const value = derived ?? first ?? fallback;
    if (value === undefined && required) {
      throw new TypeError(`Cannot use ${this.#what}: ${name} is missing`);
    }
    return value;
  }

  /** The rules with their fields. Few programs use all codecs, so the first use of each one finds its fields. */
  #placed(): readonly Entry[] {
    return this.#entries ??= Object.entries(this.#rules).map(([name, rule]) => ({
      name,
      rule,
      field: fieldOf(this.layout, name, rule),
    }));
  }

  /**
   * Reads a struct that starts at a byte offset of a view: all attributes, or those that a mask names. Verbs objects and
   * other pointers are left out.
   */
  read(view: DataView<ArrayBuffer>, base = 0, mask?: number): R {
    const attributes: Record<string, unknown> = {};
    for (const { name, rule, field } of this.#placed()) {
      if (rule.resource || rule.pointer || rule.other) continue;
      if (mask !== undefined && ((rule.mask ?? 0) & mask) === 0) continue;
      if (rule.struct) attributes[name] = rule.struct.read(view, base + field!.offset);
      else if (rule.to) attributes[name] = rule.to(fieldBytes(view, field!, base).slice());
      else {
        const value: ValueOf<FieldType> = readField(view, field!, base);
        attributes[name] = rule.boolean ? value !== 0 : value;
      }
    }
    return attributes as R;
  }
}

type Fields = Readonly<Record<string, Field>>;

function fieldOf(layout: keyof Structs, name: string, rule: AnyRule): Field | undefined {
  if (rule.other) return undefined;
  const fields: Fields = structs[layout].fields;
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const field = fields[rule.field ?? snake];
  if (field === undefined) {
    throw new Error(`Cannot find "${rule.field ?? name}" in struct ${layout}`);
  }
  return rule.bigEndian ? { ...field, type: field.type.replace(/^u/, "be") as FieldType } : field;
}

function writePointer(view: DataView<ArrayBuffer>, offset: number, value: ArrayBufferView): void {
  writeField(view, { offset, type: "ptr" }, bufferAddress(value));
  pointees.set(view, [...pointees.get(view) ?? [], value]);
}

const BITS: Partial<Record<FieldType, number>> = { u8: 8, u16: 16, be16: 16, i32: 31 };

function checkNumber(
  type: FieldType,
  name: string,
  { bits, min = 0, max, values, boolean: flag }: AnyRule,
  value: number,
): number | bigint {
  if (flag !== undefined) return boolean(value as unknown as boolean, name) ? flag : 0;
  if (values !== undefined) return member(value, name, values);
  const isWide = type === "u64" || type === "be64" || type === "ptr";
  if (isWide && bits === undefined) return uint64(value, name);
  return integer(value, name, min, max ?? 2 ** (bits ?? BITS[type] ?? 32) - 1);
}

function member(value: number, name: string, values: Readonly<Record<string, number>>): number {
  for (const key in values) if (values[key] === value) return value;
  const known = Object.entries(values).map(([key, code]) => `${code} (${key})`).join(", ");
  const message = `Cannot use ${name} ${show(value)}: it is none of ${known}`;
  if (typeof value === "number") throw new RangeError(message);
  const isName = typeof value === "string" && Object.hasOwn(values, value);
  throw new TypeError(isName ? `${message}; write the number, or the enum's ${value}` : message);
}

/** `port_num` -> `portNum`. */
type Camel<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** The JavaScript value of a field of a struct that is only read; nested structs have types of their own. */
type Plain<F> = F extends { readonly type: infer Type extends FieldType }
  ? Type extends "bytes" ? unknown : ValueOf<Type>
  : never;

/** What the layout table says about the attributes of a struct, to check an attribute interface against. */
export type LayoutOf<L extends keyof Structs> = {
  readonly [F in keyof Structs[L]["fields"] as Camel<F>]?:
    | Plain<Structs[L]["fields"][F]>
    | undefined;
};

/** What the layout requires of the rules of attributes in addition. */
type Matching<T, L extends keyof Structs> = {
  readonly [K in keyof T]: K extends keyof LayoutOf<L>
    ? NonNullable<T[K]> extends number
      ? LayoutOf<L>[K] extends number | undefined ? unknown : OtherRule | { readonly bits: 32 | 53 }
    : unknown
    : { readonly field: string } | OtherRule;
};

/**
 * Makes a codec whose attribute names and number types are checked against the layout at compile time: an attribute that
 * the struct does not have, or a number where C has 64 bits, does not compile.
 */
export function codecOf<
  L extends keyof Structs,
  T extends object,
  R extends object = T,
  O extends object = object,
>(
  layout: L,
  what: string,
  rules: NoInfer<Rules<T> & OwnRules<O> & Matching<T & O, L>>,
): AttributeCodec<T, R, O> {
  return new AttributeCodec<T, R, O>(layout, what, rules as Rules<T> & OwnRules<O>);
}

/** Attributes that a struct has, each with the type of its field. */
type Described<R, L extends keyof Structs> = {
  readonly [K in keyof R]: K extends keyof LayoutOf<L> ? LayoutOf<L>[K] : never;
};

/**
 * Reads all numeric fields of a struct that starts at a byte offset of a view. Attributes have the names of the C fields
 * in camelCase; a nested struct is a nested object. It does not compile if `R` has an attribute that the struct does not
 * have, or has with another type.
 */
export function readStruct<L extends keyof Structs, R extends Described<R, L>>(
  layout: L,
  view: DataView<ArrayBuffer>,
  base: number = 0,
): R {
  return structToObject(view, structs[layout], base) as R;
}
