/**
 * Native functions as the functions of header.ts get them.
 *
 * @module
 */

import type { Handle } from "../handles.ts";

/** A function of any prototype. */
// deno-lint-ignore no-explicit-any
export type AnyFunction = (...args: any[]) => any;

/** What a function of the header is made from. */
export interface Native {
  /** The row's own native function, guarded. */
  readonly call: AnyFunction;
  /** Whether the object that the verb is called on has the op. */
  readonly hasOp: (object: Handle) => boolean;
  /** The other verbs by name. */
  readonly verbs: Readonly<Record<string, AnyFunction>>;
}
