/** Binds the functions of a library, each one when it is first used. */

import type { AnyFunction } from "../function_pointer.ts";
import type { AnyRow, NativeRow } from "../table/row.ts";
import { bindNonblocking, bindVerb, type Calls, isNative } from "./bind.ts";
import { environment, type NativeLibrary } from "./discovery.ts";
import { FastCalls } from "./fast.ts";
import { openWaiting } from "../opened_later.ts";
import { slowCalls } from "./slow.ts";

/**
 * The opened library.
 *
 * @category Calls of verbs
 */
export interface Library {
  /** The name or path it was opened by. */
  readonly path: string;
  /** Whether verbs go through thunks. Without thunks a static-inline verb costs about 600 ns more. */
  readonly thunks: boolean;
}

interface Opened extends Library {
  readonly calls: Calls;
}

/** The functions `F` of a library, and those `N` of them that may block, on other threads. */
export class BoundLibrary<F, N> {
  readonly #library: NativeLibrary;
  readonly #table: () => object;
  #opened: Opened | undefined;
  #functions: F | undefined;
  #nonblocking: N | undefined;

  /** Opens nothing yet, and makes no function: programs import libraries that they do not call. */
  constructor(library: NativeLibrary, table: () => object) {
    this.#library = library;
    this.#table = table;
  }

  get #rows(): Readonly<Record<string, AnyRow>> {
    return this.#table() as Readonly<Record<string, AnyRow>>;
  }

  /** All functions by their C names. A function is bound when it is first read. */
  get functions(): F {
    return this.#functions ??= this.#lazyFunctions() as F;
  }

  /** Those that may block, on other threads. */
  get nonblocking(): N {
    return this.#nonblocking ??= lazily(
      Object.fromEntries(this.#nativeRows().filter(([, { blocking }]) => blocking)),
      (name, row) => bindNonblocking(this.opened().calls, name, row),
    ) as N;
  }

  #lazyFunctions(): Readonly<Record<string, AnyFunction>> {
    const calls = (): Calls => this.opened().calls;
    const functions = lazily(
      this.#rows,
      (name, row): AnyFunction => bindVerb(calls, functions, name, row),
    );
    return functions;
  }

  #nativeRows(): [string, NativeRow][] {
    return Object.entries(this.#rows)
      .filter((entry): entry is [string, NativeRow] => isNative(entry[1]));
  }

  /** Opens the library on the first call. */
  opened(): Opened {
    return this.#opened ??= this.#open();
  }

  #open(): Opened {
    const path = this.#library.path();
    const mode = environment("IBVERBS_THUNKS") ?? "auto";
    if (mode === "off") return { path, thunks: false, calls: slowCalls(this.#library) };
    const calls = new FastCalls(this.#library, this.#nativeRows(), mode === "on");
    return {
      path,
      calls,
      get thunks() {
        return calls.image("ops") !== undefined;
      },
    };
  }

  /** Opens the library, and binds and opens every function now. */
  bindAll(): void {
    for (const functions of [this.functions, this.nonblocking] as Record<string, unknown>[]) {
      for (const name in functions) void functions[name];
    }
    openWaiting();
  }
}

/** An object whose properties are made when they are first read, and are plain properties of its own from then on. */
function lazily<R, T>(
  rows: Readonly<Record<string, R>>,
  make: (name: string, row: R) => T,
): Readonly<Record<string, T>> {
  const getters: PropertyDescriptorMap = {};
  for (const [name, row] of Object.entries(rows)) {
    const get = (): T => {
      const value = make(name, row);
      Object.defineProperty(object, name, { value, enumerable: true, configurable: true });
      return value;
    };
    getters[name] = { enumerable: true, get };
  }
  // The getters are inherited: V8 would copy all that it knows of 180 properties for each one that changes.
  const object: Record<string, T> = Object.create(Object.defineProperties({}, getters));
  return object;
}
