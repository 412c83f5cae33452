import type { AnyFunction } from "./function_pointer.ts";
import { libc } from "./libc.ts";
import { bindNonblocking, bindVerb, type Calls, isNative, type Outcome } from "./library/bind.ts";
import { environment, libraryPath } from "./library/discovery.ts";
import { fastCalls } from "./library/fast.ts";
import { slowCalls } from "./library/slow.ts";
import type { AnyRow, NativeRow } from "./table/row.ts";
import { ThunksUnavailable } from "./thunks/memfd.ts";
import { rows, type Verbs } from "./verbs.ts";

/**
 * A verb that may block.
 *
 * @category Calls of verbs
 */
export type BlockingVerb =
  | "ibv_create_ah"
  | "ibv_create_ah_from_wc"
  | "ibv_init_ah_from_wc"
  | "ibv_reg_mr_iova2"
  | "ibv_resolve_eth_l2_from_gid";

/**
 * The verbs that may block, each on a thread of its own. The buffers they get must not change until they return.
 *
 * @category Calls of verbs
 */
export type NonblockingVerbs = {
  readonly [K in BlockingVerb]: (
    ...args: Parameters<Verbs[K]>
  ) => Promise<Outcome<ReturnType<Verbs[K]>>>;
};

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

let opened: Opened | undefined;

/**
 * The library, opened on the first call.
 *
 * @throws {Deno.errors.NotFound} If there is no libibverbs. The message names every path tried.
 * @throws {Deno.errors.NotSupported} If the system is not supported, or Deno is older than 2.7.12.
 * @category Calls of verbs
 */
export function library(): Library {
  return opened ??= open();
}

function calls(): Calls {
  return (opened ??= open()).calls;
}

const functions = lazily(
  rows as Readonly<Record<string, AnyRow>>,
  (name, row): AnyFunction => bindVerb(calls, functions, name, row),
);

const asyncFunctions = lazily(
  Object.fromEntries(nativeRows().filter(([, { blocking }]) => blocking)),
  (name, row) => bindNonblocking(calls(), name, row),
);

/**
 * All verbs, by their C names. Reading a verb for the first time binds it. It throws if libibverbs cannot be opened.
 *
 * @category Calls of verbs
 */
export function verbs(): Verbs {
  return functions as unknown as Verbs;
}

/**
 * The verbs that may block, on other threads.
 *
 * @category Calls of verbs
 */
export function nonblocking(): NonblockingVerbs {
  return asyncFunctions as unknown as NonblockingVerbs;
}

/**
 * Opens the library and the C library and binds every verb now, where it must not happen later: in tests that look for
 * resources left open, or before code that must not wait.
 */
export function bindAll(): void {
  libc();
  Object.values(verbs());
  Object.values(nonblocking());
}

function nativeRows(): [string, NativeRow][] {
  return Object.entries<AnyRow>(rows)
    .filter((entry): entry is [string, NativeRow] => isNative(entry[1]));
}

function open(): Opened {
  const path = libraryPath();
  const mode = environment("IBVERBS_THUNKS") ?? "auto";
  const fast = mode === "off" ? null : openThunks(mode === "on");
  return { path, thunks: fast !== null, calls: fast ?? slowCalls };
}

function openThunks(required: boolean): Calls | null {
  try {
    return fastCalls(nativeRows());
  } catch (error) {
    if (required || !(error instanceof ThunksUnavailable)) throw error;
    return null;
  }
}

/**
 * The verbs whose names match, in an object of their own: reading them is faster than from that of all verbs.
 */
export function someVerbs<K extends keyof Verbs>(names: RegExp): Pick<Verbs, K> {
  const all = Object.keys(verbs()) as K[];
  return Object.fromEntries(
    all.filter((name) => names.test(name)).map((name) => [name, verbs()[name]]),
  ) as Pick<Verbs, K>;
}

/** An object whose properties are made when they are first read, and are plain properties from then on. */
function lazily<R, T>(
  rows: Readonly<Record<string, R>>,
  make: (name: string, row: R) => T,
): Readonly<Record<string, T>> {
  const object: Record<string, T> = {};
  for (const [name, row] of Object.entries(rows)) {
    const get = (): T => {
      const value = make(name, row);
      Object.defineProperty(object, name, { value });
      return value;
    };
    Object.defineProperty(object, name, { configurable: true, enumerable: true, get });
  }
  return object;
}
