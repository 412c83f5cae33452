/** Native functions through thunks: the machine code of the call saves errno. */

import { errnoCell, errnoLocation } from "../errno.ts";
import type { AnyFunction } from "../function_pointer.ts";
import type { NativeRow, Op } from "../table/row.ts";
import { buildImage } from "../thunks/image.ts";
import { loadImage, ThunksUnavailable } from "../thunks/memfd.ts";
import type { Arch, Thunk } from "../thunks/thunk.ts";
import type { AsyncFunction, Calls } from "./bind.ts";
import { type NativeLibrary, openSymbol } from "./discovery.ts";
import { opPath } from "./ops.ts";
import { openedLater } from "../opened_later.ts";
import { bindPointer, slowCalls } from "./slow.ts";

type Rows = readonly (readonly [name: string, row: NativeRow])[];

/** Which image has the thunk of a row: most programs need only the first one. */
type Kind = Op[1] | "errno";

/** Calls through thunks where the system lets them run, and without them elsewhere. */
export class FastCalls implements Calls {
  readonly library: NativeLibrary;
  readonly #rows: Rows;
  readonly #isRequired: boolean;
  readonly #slow: Calls;
  readonly #images: Map<Kind, string | undefined> = new Map();

  constructor(library: NativeLibrary, rows: Rows, isRequired: boolean) {
    this.library = library;
    this.#rows = rows;
    this.#isRequired = isRequired;
    this.#slow = slowCalls(library);
  }

  bind(name: string, row: NativeRow): AnyFunction {
    if ("op" in row && row.hot) return this.#bindThunk(name, row);
    if (!("op" in row) && row.fails !== "errno") return this.#slow.bind(name, row);
    return openedLater(
      bindPointer(this.library, name, row),
      () => this.#bindThunk(name, row),
    );
  }

  bindNonblocking(name: string, row: NativeRow): AsyncFunction {
    const { parameters, result, fails } = row;
    const image = fails === "errno" ? this.image("errno") : undefined;
    if (image === undefined) return this.#slow.bindNonblocking(name, row);
    const definition = {
      parameters: [...parameters, "buffer"],
      result,
      nonblocking: true,
    } as const;
    const call = openSymbol(image, name, definition);
    return async (...args) => {
      const cell = new Int32Array(1);
      const value = await call(...args, cell);
      return { value, errno: cell[0]! };
    };
  }

  #bindThunk(name: string, row: NativeRow): AnyFunction {
    const image = this.image(kindOf(row));
    if (image === undefined) return this.#slow.bind(name, row);
    return row.fails === "errno" ? keepErrno(image, name, row) : openSymbol(image, name, row);
  }

  /** The image of one kind of thunks, built and loaded on first use. It is undefined if the system refuses. */
  image(kind: Kind): string | undefined {
    if (!this.#images.has(kind)) this.#images.set(kind, this.#load(kind));
    return this.#images.get(kind);
  }

  #load(kind: Kind): string | undefined {
    const thunks = this.#rows.filter(([, row]) => kindOf(row) === kind)
      .flatMap(([name, row]) => thunkOf(this.library, name, row) ?? []);
    try {
      return loadImage(buildImage(thunks, Deno.build.arch as Arch, errnoLocation()));
    } catch (error) {
      if (this.#isRequired || !(error instanceof ThunksUnavailable)) throw error;
      return undefined;
    }
  }
}

function kindOf(row: NativeRow): Kind {
  return "op" in row ? row.op[1] : "errno";
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
  const call = openSymbol(path, name, { ...row, parameters });
  const cell = errnoCell();
  return (...args) => call(...args, cell);
}
