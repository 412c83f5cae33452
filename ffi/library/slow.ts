/** Native functions without thunks: errno is read from the thread's own cell right after the call. */

import { errno, mappedErrno, setErrno } from "../errno.ts";
import { type AnyFunction, callThrough, type FunctionPointer } from "../function_pointer.ts";
import type { NativeRow } from "../table/row.ts";
import type { AsyncFunction, Calls } from "./bind.ts";
import { callSymbol, type NativeLibrary, openSymbol } from "./discovery.ts";
import { opPath } from "./ops.ts";
import { openedLater } from "../opened_later.ts";

/** Calls of a library that need nothing but `--allow-ffi`. */
export function slowCalls(library: NativeLibrary): Calls {
  return {
    library,
    bind: (name, row) => bind(library, name, row),
    bindNonblocking: (name, row) => bindNonblocking(library, name, row),
  };
}

function bind(library: NativeLibrary, name: string, row: NativeRow): AnyFunction {
  const call = bindPointer(library, name, row);
  if ("op" in row) return call;
  const open = (): AnyFunction => openSymbol(library.path(), row.symbol ?? name, row);
  return openedLater(call, () => keepErrno(open(), row));
}

/** Binds a function that is called through a pointer. */
export function bindPointer(library: NativeLibrary, name: string, row: NativeRow): AnyFunction {
  const call = "op" in row ? opCall(row) : callSymbol(library.path(), row.symbol ?? name, row);
  return keepErrno(call, row);
}

/**
 * The errno of another thread cannot be read: a verb that reports by it and has failed is called once more on this
 * thread, to learn why, or to succeed after all.
 */
export function bindNonblocking(
  library: NativeLibrary,
  name: string,
  row: NativeRow,
): AsyncFunction {
  const symbol = "symbol" in row ? row.symbol ?? name : name;
  const nonblocking = openSymbol(library.path(), symbol, { ...row, nonblocking: true });
  const sync = bind(library, name, row);
  return async (...args) => {
    const value = await nonblocking(...args);
    const isOver = row.fails !== "errno" || value !== null && value !== -1;
    if (isOver) return { value, errno: 0 };
    return { value: sync(...args), errno: errno() };
  };
}

function keepErrno(call: AnyFunction, { fails }: NativeRow): AnyFunction {
  if (fails !== "errno") return call;
  const errno = mappedErrno();
  return (...args) => {
    errno[0] = 0;
    const value = call(...args);
    setErrno(errno[0]!);
    return value;
  };
}

function opCall(row: Extract<NativeRow, { op: unknown }>): AnyFunction {
  const path = opPath(row.op);
  return (...args) => {
    const pointer = path.reduce<FunctionPointer>(
      (at, offset) => new Deno.UnsafePointerView(at).getPointer(offset) as FunctionPointer,
      args[row.object ?? 0],
    );
    return callThrough(pointer, row)(...args);
  };
}
