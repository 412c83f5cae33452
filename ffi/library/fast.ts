/** Native functions through thunks: errno is kept by the machine code of the call itself. */

import { errnoCell, errnoLocation } from "../errno.ts";
import type { AnyFunction } from "../function_pointer.ts";
import type { NativeRow } from "../table/row.ts";
import { buildImage } from "../thunks/image.ts";
import { loadImage } from "../thunks/memfd.ts";
import type { Arch, Thunk } from "../thunks/thunk.ts";
import type { Calls } from "./bind.ts";
import { type NativeLibrary, openRow, openSymbol } from "./discovery.ts";
import { opPath } from "./ops.ts";
import { bindNonblocking } from "./slow.ts";

/**
 * Builds the thunks of all rows of a library and loads them.
 *
 * @throws {ThunksUnavailable} Where the system refuses.
 */
export function fastCalls(
  library: NativeLibrary,
  rows: readonly (readonly [name: string, row: NativeRow])[],
): Calls {
  const thunks = rows.flatMap(([name, row]) => thunkOf(library, name, row) ?? []);
  const path = loadImage(buildImage(thunks, Deno.build.arch as Arch, errnoLocation()));
  return {
    library,
    bind: (name, row) => {
      if (row.fails === "errno") return keepErrno(path, name, row);
      return "op" in row
        ? openRow(path, name, row)
        : openRow(library.path(), row.symbol ?? name, row);
    },
    bindNonblocking: (name, row) => {
      const { parameters, result, fails } = row;
      if (fails !== "errno") return bindNonblocking(library, name, row);
      const definition = {
        parameters: [...parameters, "buffer"],
        result,
        nonblocking: true,
      } as const;
      const call = openSymbol(path, name, definition);
      return async (...args) => {
        const cell = new Int32Array(1);
        const value = await call(...args, cell);
        return { value, errno: cell[0]! };
      };
    },
  };
}

/** Exported functions that do not set errno need no thunk. */
function thunkOf(library: NativeLibrary, name: string, row: NativeRow): Thunk | undefined {
  const keeps = row.fails === "errno" ? { errnoAfter: row.parameters.length } : {};
  if ("op" in row) {
    const argument = row.object ?? 0;
    return { name, target: { path: opPath(row.op), argument }, ...keeps };
  }
  const address = row.fails === "errno" ? library.symbolAddress(row.symbol ?? name) : 0n;
  return address === 0n ? undefined : { name, target: { address }, ...keeps };
}

function keepErrno(path: string, name: string, row: NativeRow): AnyFunction {
  const parameters = [...row.parameters, "pointer"] as const;
  const call = openRow(path, name, { ...row, parameters });
  const cell = errnoCell();
  // A rest parameter costs ten times the call. A reply reads events and may make an address handle: two parameters each.
  if (row.parameters.length === 2) return (a, b) => call(a, b, cell);
  return (...args) => call(...args, cell);
}
