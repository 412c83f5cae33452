/**
 * How native functions are called.
 *
 * @module
 */

import type { AnyFunction } from "../function_pointer.ts";
import type { NativeRow } from "../table/row.ts";

/**
 * What a verb that ran on another thread returned, and the errno it left there.
 *
 * @category Calls of verbs
 */
export interface Outcome<T> {
  /** The verb's result. */
  readonly value: T;
  /** errno after the call; 0 if the verb did not set it. */
  readonly errno: number;
}

/** One way to call native functions: through thunks, or without. */
export interface Calls {
  /** Binds a function that the installed libibverbs has, or an op. One that reports by errno leaves it in `errno()`. */
  readonly bind: (name: string, row: NativeRow) => AnyFunction;
  /** As `bind`, for a function of which few calls are expected: binding is fast, and each call is slow. */
  readonly bindBriefly?: (name: string, row: NativeRow) => AnyFunction;
  /** Binds an exported function that runs on another thread. */
  readonly bindNonblocking: (
    name: string,
    row: NativeRow,
  ) => (...args: unknown[]) => Promise<Outcome<unknown>>;
}
