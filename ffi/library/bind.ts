/** Binds verbs, each one when it is first used: opening a symbol costs 0.1 ms. */

import { errno, setErrno } from "../errno.ts";
import type { AnyFunction } from "../function_pointer.ts";
import { constants } from "../layout.ts";
import { SystemError } from "../system_error.ts";
import type { AnyRow, NativeRow } from "../table/row.ts";
import type { NativeLibrary } from "./discovery.ts";
import { hasOp, mayHaveOp } from "./ops.ts";

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

/** A function that runs on another thread. */
export type AsyncFunction = (...args: unknown[]) => Promise<Outcome<unknown>>;

/** One way to call the native functions of a library: through thunks, or without. */
export interface Calls {
  readonly library: NativeLibrary;
  /** Binds a function that the installed library has, or an op. One that reports by errno leaves it in `errno()`. */
  readonly bind: (name: string, row: NativeRow) => AnyFunction;
  /** Binds an exported function that runs on another thread. */
  readonly bindNonblocking: (name: string, row: NativeRow) => AsyncFunction;
}

/** Whether a row has a native function of its own. */
export function isNative(row: AnyRow): row is NativeRow {
  return "parameters" in row;
}

/**
 * Makes the function of a verb. The library is opened only if the verb has a native function.
 *
 * @param verbs The other verbs.
 */
export function bindVerb(
  calls: () => Calls,
  verbs: Readonly<Record<string, AnyFunction>>,
  name: string,
  row: AnyRow,
): AnyFunction {
  const call = isNative(row) ? bindNative(calls(), name, row) : () => {};
  // Programs that compile the sources may take a property that is there for undefined.
  const header = "header" in row ? row.header : undefined;
  if (header === undefined) return call;
  const op = isNative(row) && "op" in row ? row.op : undefined;
  return header({ call, hasOp: (object) => hasOp(op!, object), verbs });
}

function bindNative(calls: Calls, name: string, row: NativeRow): AnyFunction {
  if (!isInstalled(calls, name, row)) return () => notInstalled(calls, name, row);
  const call = calls.bind(name, row);
  if (!("op" in row) || row.hot) return call;
  const { op, object = 0 } = row;
  return (...args) => hasOp(op, args[object]) ? call(...args) : notSupported(row);
}

/** Makes the function of a verb that runs on another thread. */
export function bindNonblocking(calls: Calls, name: string, row: NativeRow): AsyncFunction {
  if (isInstalled(calls, name, row)) return calls.bindNonblocking(name, row);
  return async () => {
    await undefined;
    return { value: notInstalled(calls, name, row), errno: errno() };
  };
}

function isInstalled({ library }: Calls, name: string, row: NativeRow): boolean {
  return "op" in row ? mayHaveOp(row.op[2]) : library.has(row.symbol ?? name);
}

function notInstalled({ library }: Calls, name: string, row: NativeRow): unknown {
  if (row.fails !== "never") return notSupported(row);
  const message = `Cannot call ${name}: not supported by the installed ${library.name}`;
  throw new SystemError(message, name, constants.EOPNOTSUPP);
}

/** Fails with EOPNOTSUPP as the verb reports failures. */
function notSupported({ fails, result }: NativeRow): unknown {
  if (fails === "code") return constants.EOPNOTSUPP;
  if (fails === "negative") {
    return result === "isize" ? BigInt(-constants.EOPNOTSUPP) : -constants.EOPNOTSUPP;
  }
  setErrno(constants.EOPNOTSUPP);
  if (result === "pointer") return null;
  return result === "u64" ? 0n : -1;
}
