/**
 * Binds verbs: each one when it is first used, because opening a symbol costs 0.1 ms.
 *
 * @module
 */

import { EOPNOTSUPP, errno, setErrno } from "../errno.ts";
import type { AnyFunction } from "../function_pointer.ts";
import { SystemError } from "../system_error.ts";
import type { AnyRow, NativeRow } from "../table/row.ts";
import type { Calls, Outcome } from "./calls.ts";
import { hasSymbol } from "./discovery.ts";
import { hasOp } from "./ops.ts";

/** Functions by name. */
export type Functions = Readonly<Record<string, AnyFunction>>;

/** Whether a row has a native function of its own. */
export function isNative(row: AnyRow): row is NativeRow {
  return "parameters" in row;
}

/**
 * Calls of a verb before it is compiled. Compiling takes 0.15 ms and saves 0.6 us a call; most programs call most verbs once
 * or twice. A program that opens a device and answers one datagram takes 2 ms less.
 */
const BRIEF_CALLS = 16;

/**
 * Makes the function of a verb. The library is opened only if the verb has a native function.
 *
 * @param verbs Where the functions are. The function of a verb that is called often is replaced there.
 */
export function bindVerb(
  calls: () => Calls,
  verbs: Functions,
  name: string,
  row: AnyRow,
): AnyFunction {
  if (!isNative(row)) return finished(() => {}, verbs, row);
  const replace = (call: AnyFunction): void => {
    Object.defineProperty(verbs, name, { value: finished(call, verbs, row) });
  };
  return finished(bindNative(calls(), name, row, replace), verbs, row);
}

function finished(call: AnyFunction, verbs: Functions, row: AnyRow): AnyFunction {
  if (!("header" in row)) return call;
  const op = isNative(row) && "op" in row ? row.op : undefined;
  return row.header({ call, hasOp: (object) => hasOp(op!, object), verbs });
}

function bindNative(
  calls: Calls,
  name: string,
  row: NativeRow,
  replace: (call: AnyFunction) => void,
): AnyFunction {
  if (!isInstalled(name, row)) return () => notInstalled(name, row);
  const guard = (call: AnyFunction): AnyFunction =>
    "op" in row && !row.hot ? guarded(call, row) : call;
  const compile = (): AnyFunction => guard(calls.bind(name, row));
  if (row.hot || calls.bindBriefly === undefined) return compile();
  return brief(guard(calls.bindBriefly(name, row)), compile, replace);
}

/** Uses `first` for some calls, and what `compile` makes from then on. */
function brief(
  first: AnyFunction,
  compile: () => AnyFunction,
  replace: (call: AnyFunction) => void,
): AnyFunction {
  let call = first;
  let left = BRIEF_CALLS;
  return (...args) => {
    if (left-- === 0) replace(call = compile());
    return call(...args);
  };
}

/** Makes the function of a verb that runs on another thread. */
export function bindNonblocking(calls: Calls, name: string, row: NativeRow): AnyFunction {
  if (isInstalled(name, row)) return calls.bindNonblocking(name, row);
  return async (): Promise<Outcome<unknown>> => {
    await undefined;
    return { value: notInstalled(name, row), errno: errno() };
  };
}

function isInstalled(name: string, row: NativeRow): boolean {
  const symbol = row.since ?? ("op" in row ? undefined : row.symbol ?? name);
  return symbol === undefined || hasSymbol(symbol);
}

function guarded(call: AnyFunction, row: Extract<NativeRow, { op: unknown }>): AnyFunction {
  const { op, object = 0 } = row;
  return (...args) => hasOp(op, args[object]) ? call(...args) : notSupported(row);
}

function notInstalled(name: string, row: NativeRow): unknown {
  if (row.fails !== "never") return notSupported(row);
  const message = `Cannot call ${name}: not supported by the installed libibverbs`;
  throw new SystemError(message, name, EOPNOTSUPP);
}

/** Fails with EOPNOTSUPP in the way of the verb. */
function notSupported({ fails, result }: NativeRow): unknown {
  if (fails === "code") return EOPNOTSUPP;
  if (fails === "negative") return result === "isize" ? BigInt(-EOPNOTSUPP) : -EOPNOTSUPP;
  setErrno(EOPNOTSUPP);
  if (result === "pointer") return null;
  return result === "u64" ? 0n : -1;
}
