/**
 * Native functions through thunks: errno is kept by the machine code of the call itself, and function pointers are called
 * as fast as exported functions.
 *
 * @module
 */

import { errnoCell, errnoLocation } from "../errno.ts";
import { type AnyFunction, callThrough } from "../function_pointer.ts";
import type { NativeRow } from "../table/row.ts";
import { buildImage, loadImage, type Thunk } from "../thunks/mod.ts";
import type { Calls, Outcome } from "./calls.ts";
import { libraryPath, symbolAddress, symbolOf } from "./discovery.ts";
import { opPath } from "./ops.ts";

/**
 * Builds the thunks of all rows and loads them.
 *
 * @throws {ThunksUnavailable} Where the system refuses.
 */
export function fastCalls(rows: Readonly<Record<string, NativeRow>>): Calls {
  const thunks = Object.entries(rows).flatMap(([name, row]) => thunkOf(name, row) ?? []);
  const arch = Deno.build.arch as "x86_64" | "aarch64";
  const path = loadImage(buildImage(thunks, arch, errnoLocation()));
  return {
    bind: (name, row) => bind(open, path, name, row),
    bindBriefly: (name, row) => bind(point, path, name, row),
    bindNonblocking: (name, row) => bindNonblocking(path, name, row),
  };
}

/** Exported functions that do not set errno need no thunk. */
function thunkOf(name: string, row: NativeRow): Thunk | undefined {
  const keeps = row.fails === "errno" ? { errnoAfter: row.parameters.length } : {};
  if ("op" in row) {
    const argument = row.object ?? 0;
    return { name, target: { path: opPath(row.op), argument }, ...keeps };
  }
  const address = row.fails === "errno" ? symbolAddress(row.symbol ?? name) : 0n;
  return address === 0n ? undefined : { name, target: { address }, ...keeps };
}

/** Makes a function of a symbol of a library. */
type Access = (path: string, symbol: string, definition: Deno.ForeignFunction) => AnyFunction;

function bind(access: Access, path: string, name: string, row: NativeRow): AnyFunction {
  if (row.fails === "errno") {
    return keepErrno(access(path, name, withCell(row, "pointer")), row.parameters.length);
  }
  if ("op" in row) return access(path, name, row);
  return access(libraryPath(), row.symbol ?? name, row);
}

/** By a pointer, which compiles nothing. */
function point(path: string, symbol: string, definition: Deno.ForeignFunction): AnyFunction {
  return callThrough(symbolOf(path, symbol)!, definition);
}

function bindNonblocking(
  path: string,
  name: string,
  row: NativeRow,
): (...args: unknown[]) => Promise<Outcome<unknown>> {
  const call = open(path, name, { ...withCell(row, "buffer"), nonblocking: true });
  return async (...args) => {
    const cell = new Int32Array(1);
    const value = await call(...args, cell);
    return { value, errno: cell[0]! };
  };
}

/** By its name, which compiles it. */
function open(path: string, name: string, definition: Deno.ForeignFunction): AnyFunction {
  const { parameters, result, nonblocking = false } = definition;
  return Deno.dlopen(path, { [name]: { parameters, result, nonblocking } }).symbols[name]!;
}

function withCell(
  { parameters, result }: NativeRow,
  cell: "pointer" | "buffer",
): Deno.ForeignFunction {
  return { parameters: [...parameters, cell], result };
}

/** Passes the errno cell. One arity each: a rest parameter would cost ten times the call. */
function keepErrno(f: AnyFunction, parameters: number): AnyFunction {
  const cell = errnoCell();
  switch (parameters) {
    case 1:
      return (a) => f(a, cell);
    case 2:
      return (a, b) => f(a, b, cell);
    case 3:
      return (a, b, c) => f(a, b, c, cell);
    case 4:
      return (a, b, c, d) => f(a, b, c, d, cell);
    case 5:
      return (a, b, c, d, e) => f(a, b, c, d, e, cell);
    default:
      return (a, b, c, d, e, g) => f(a, b, c, d, e, g, cell);
  }
}
