/** Reads C structs whose attributes a device reports, by the layout table. */

import { type FieldType, type Structs, structs } from "../../ffi/layout.ts";
import { structToObject, type ValueOf } from "../../ffi/struct.ts";

/** `port_num` -> `portNum`. */
type Camel<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** The attribute of an object at the dotted path of a C field; `undefined` if there is none. */
type At<T, Path> = Path extends `${infer Head}.${infer Rest}` ? At<At<T, Head>, Rest>
  : Camel<Path> extends keyof T ? T[Camel<Path>]
  : undefined;

/** The numeric fields of a struct. */
type Numbers<Fields> = {
  [F in keyof Fields]: Fields[F] extends { readonly type: infer T } ? T extends "bytes" ? never : F
    : never;
}[keyof Fields];

/** The JavaScript type of a numeric field. */
type NumberOf<F> = F extends { readonly type: infer T extends FieldType } ? ValueOf<T> : never;

/** The numeric fields that an attribute interface lacks, or has with another type. */
type Wrong<R, Fields> = {
  [F in Numbers<Fields>]: [At<R, F>] extends [NumberOf<Fields[F]>] ? never : F;
}[Numbers<Fields>];

/** The first parts of the fields' names in camelCase. */
type Known<Fields> = Camel<
  keyof Fields extends infer F ? F extends `${string}.${string}` ? never : F : never
>;

/** The attributes of an interface that the struct does not have. */
type Unknown<R, Fields> = Exclude<keyof R, Known<Fields>>;

/** The name of a struct, if an attribute interface describes it; otherwise the names that do not match. */
export type Describing<L extends keyof Structs, R> = [
  Wrong<R, Structs[L]["fields"]> | Unknown<R, Structs[L]["fields"]>,
] extends [never] ? L
  : Wrong<R, Structs[L]["fields"]> | Unknown<R, Structs[L]["fields"]>;

/**
 * Reads all numeric fields of a struct that starts at a byte offset of a view. Attributes have the names of the C fields
 * in camelCase; a nested struct is a nested object. It does not compile unless the interface `R` has each numeric field
 * of the struct with the field's type, and nothing else.
 *
 * @param layout The C struct.
 * @param view The memory that holds it.
 * @param base Where it starts.
 */
export function readStruct<L extends keyof Structs, R extends object>(
  layout: Describing<L, R>,
  view: DataView<ArrayBuffer>,
  base: number = 0,
): R {
  return structToObject(view, structs[layout as keyof Structs], base) as R;
}
