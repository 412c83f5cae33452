/**
 * Binds verbs: each one when it is first used, because opening a symbol costs 0.1 ms.
 *
 * @module
 */

import { EOPNOTSUPP, errno, setErrno } from "../errno.ts";
import { SystemError } from "../system_error.ts";
import type { AnyFunction } from "../table/native.ts";
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

/** Makes the function of a verb. The library is opened only if the verb has a native function. */
export function bindVerb(
  calls: () => Calls,
  verbs: Functions,
  name: string,
  row: AnyRow,
): AnyFunction {
  const native = isNative(row);
  const call = native ? bindNative(calls(), name, row) : () => {};
  if (!("header" in row)) return call;
  const op = native && "op" in row ? row.op : undefined;
  return row.header({ call, hasOp: (object) => hasOp(op!, object), verbs });
}

function bindNative(calls: Calls, name: string, row: NativeRow): AnyFunction {
  if (!isInstalled(name, row)) return () => notInstalled(name, row);
  const call = calls.bind(name, row);
  return "op" in row && !row.hot ? guarded(call, row) : call;
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
