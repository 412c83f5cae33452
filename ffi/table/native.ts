/**
 * Native functions as the functions of header.ts get them.
 *
 * @module
 */

import type { AnyFunction } from "../function_pointer.ts";
import type { Handle } from "../handles.ts";

/** What a function of the header is made from. */
export interface Native {
  /** The row's own native function, guarded. */
  readonly call: AnyFunction;
  /** Whether the object that the verb is called on has the op. */
  readonly hasOp: (object: Handle) => boolean;
  /** The other verbs by name. */
  readonly verbs: Readonly<Record<string, AnyFunction>>;
}
