/**
 * Opens libibverbs once, on first use, and gives every verb under its C name: exported ones by symbol, static-inline
 * ones through the thunks, or through `Deno.UnsafeFnPointer` where no thunk can be had.
 *
 * @module
 */

import { openLibrary } from "./discovery.ts";
import { type Inline, inlineVerbs, opPath } from "./inlines.ts";
import { errno, errnoCell, errnoLocation } from "./errno.ts";
import { slowErrnoVerb, slowInline, slowNonblocking } from "./slow.ts";
import { blockingVerbs, errnoSymbols, plainSymbols } from "./symbols.ts";
import { buildImage, openImage, type Thunk, ThunksUnavailable } from "./thunks.ts";
import { environment } from "./environment.ts";

/** The functions of a symbol table. */
export type Functions<S extends Deno.ForeignLibraryInterface> = Deno.DynamicLibrary<S>["symbols"];
/** The prototypes of the static-inline verbs. */
export type InlineDefinitions = {
  readonly [K in keyof typeof inlineVerbs]: (typeof inlineVerbs)[K]["definition"];
};

/** Every verb by its C name and prototype. Verbs that report by errno leave it in {@linkcode errno}. */
export type Verbs =
  & Functions<typeof errnoSymbols>
  & Functions<typeof plainSymbols>
  & Functions<InlineDefinitions>;

/** What a verb that ran on another thread returned, and the errno it left there. */
export interface Outcome<T> {
  /** The verb's result. */
  readonly value: T;
  /** errno after the call; 0 if the verb did not set it. */
  readonly errno: number;
}

/** A verb that may block. */
export type BlockingVerb = typeof blockingVerbs[number];

/** The verbs that may block, each on a thread of its own. */
export type NonblockingVerbs = {
  readonly [K in BlockingVerb]: (
    ...args: Parameters<Functions<typeof errnoSymbols>[K]>
  ) => Promise<Outcome<ReturnType<Functions<typeof errnoSymbols>[K]>>>;
};

/** The opened library. */
export interface Library {
  /** The name or path it was opened by. */
  readonly path: string;
  /** Whether static-inline verbs go through thunks. */
  readonly thunks: boolean;
  /** Every verb. */
  readonly verbs: Verbs;
  /** The verbs that may block, off the event loop. */
  readonly nonblocking: NonblockingVerbs;
}

let opened: Library | undefined;

/** The library, opened on the first call. Throws an Error naming every path tried when there is none. */
export function library(): Library {
  return opened ??= open();
}

/** Every verb by its C name. */
export function verbs(): Verbs {
  return library().verbs;
}

/** The verbs that may block, off the event loop. */
export function nonblocking(): NonblockingVerbs {
  return library().nonblocking;
}

function open(): Library {
  const { path, symbols } = openLibrary({
    ...errnoSymbols,
    ...plainSymbols,
    ...nonblockingInterface((name) => errnoSymbols[name]),
  });
  const mode = environment("IBVERBS_THUNKS") ?? "auto";
  const fast = mode === "off" ? null : openThunks(path, mode === "on");
  const { sync, nonblocking } = fast ?? slowCalls(symbols);
  return {
    path,
    thunks: fast !== null,
    verbs: { ...present(symbols), ...sync } as unknown as Verbs,
    nonblocking: nonblocking as unknown as NonblockingVerbs,
  };
}

// deno-lint-ignore no-explicit-any
type AnyFunction = (...args: any[]) => any;

interface Calls {
  readonly sync: Record<string, AnyFunction>;
  readonly nonblocking: Record<string, AnyFunction>;
}

const inlineEntries: [string, Inline][] = Object.entries(inlineVerbs);

function openThunks(path: string, required: boolean): Calls | null {
  try {
    return thunkCalls(path);
  } catch (error) {
    if (required || !(error instanceof ThunksUnavailable)) throw error;
    return null;
  }
}

function thunkCalls(path: string): Calls {
  const image = buildImage(
    [...errnoThunks(path), ...inlineEntries.map(inlineThunk)],
    Deno.build.arch as "x86_64" | "aarch64",
    errnoLocation(),
  );
  const { symbols } = openImage(image, thunkInterface());
  const sync: Record<string, AnyFunction> = {};
  for (const [name, { parameters }] of errnoDefinitions()) {
    sync[name] = keepErrno(symbols[name] as AnyFunction, parameters.length);
  }
  for (const [name, { errno }] of inlineEntries) {
    if (!errno) sync[name] = symbols[name] as AnyFunction;
  }
  const nonblocking: Record<string, AnyFunction> = {};
  for (const name of blockingVerbs) {
    nonblocking[name] = withOwnErrno(offTheLoop(symbols, name));
  }
  return { sync, nonblocking };
}

/** Every verb, exported or inline, that reports by errno. */
function errnoDefinitions(): [string, Deno.ForeignFunction][] {
  return [
    ...Object.entries(errnoSymbols),
    ...inlineEntries.filter(([, inline]) => inline.errno)
      .map(([name, inline]): [string, Deno.ForeignFunction] => [name, inline.definition]),
  ];
}

function errnoThunks(path: string): Thunk[] {
  const statics = Object.fromEntries(
    Object.keys(errnoSymbols).map((name) => [name, { type: "pointer", optional: true }]),
  ) as Record<string, Deno.ForeignStatic>;
  const addresses = Deno.dlopen(path, statics).symbols as Record<string, Deno.PointerValue>;
  return Object.entries(errnoSymbols).flatMap(([name, { parameters }]): Thunk[] => {
    const address = Deno.UnsafePointer.value(addresses[name] ?? null);
    return address === 0n ? [] : [{ name, target: { address }, errnoAfter: parameters.length }];
  });
}

function inlineThunk([name, { op, errno, definition }]: [string, Inline]): Thunk {
  const thunk = { name, target: { path: opPath(op) } };
  return errno ? { ...thunk, errnoAfter: definition.parameters.length } : thunk;
}

function thunkInterface(): Deno.ForeignLibraryInterface {
  const table: Record<string, Deno.ForeignFunction> = {};
  for (const [name, definition] of errnoDefinitions()) {
    table[name] = { ...withCell(definition, "pointer"), optional: true };
  }
  for (const [name, { errno, definition }] of inlineEntries) {
    if (!errno) table[name] = definition;
  }
  return { ...table, ...nonblockingInterface((name) => withCell(errnoSymbols[name], "buffer")) };
}

/** The blocking verbs a second time, under names of their own, to be run on other threads. */
function nonblockingInterface(
  definition: (name: BlockingVerb) => Deno.ForeignFunction,
): Record<string, Deno.ForeignFunction> {
  return Object.fromEntries(
    blockingVerbs.map((name) => [
      `${name}_nonblocking`,
      { ...definition(name), name, nonblocking: true, optional: true },
    ]),
  );
}

function withCell(
  definition: Deno.ForeignFunction,
  cell: "pointer" | "buffer",
): Deno.ForeignFunction {
  return { ...definition, parameters: [...definition.parameters, cell] };
}

/** Hides the errno cell. One arity each: a rest parameter would cost ten times the call. */
function keepErrno(f: AnyFunction | null, parameters: number): AnyFunction {
  if (f === null) return absent;
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

/** Deno has a function even for a nonblocking symbol that the library lacks; only of a blocking one it tells. */
function offTheLoop(symbols: Record<string, unknown>, name: BlockingVerb): AnyFunction | null {
  return symbols[name] === null ? null : symbols[`${name}_nonblocking`] as AnyFunction;
}

function withOwnErrno(f: AnyFunction | null): AnyFunction {
  if (f === null) return absent;
  return async (...args: unknown[]): Promise<Outcome<unknown>> => {
    const cell = new Int32Array(1);
    const value = await f(...args, cell);
    return { value, errno: cell[0]! };
  };
}

function present(symbols: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(symbols).map(([name, f]) => [name, f ?? absent]));
}

function absent(): never {
  throw new Error("Cannot call verb: the installed libibverbs does not have it");
}

function slowCalls(symbols: Record<string, unknown>): Calls {
  const sync: Record<string, AnyFunction> = {};
  for (const name of Object.keys(errnoSymbols)) {
    sync[name] = slowErrnoVerb((symbols[name] ?? absent) as AnyFunction);
  }
  for (const [name, inline] of inlineEntries) sync[name] = slowInline(inline);
  const nonblocking: Record<string, AnyFunction> = {};
  for (const name of blockingVerbs) {
    const verb = offTheLoop(symbols, name) ?? absent;
    nonblocking[name] = slowNonblocking(verb, sync[name]!, errno);
  }
  return { sync, nonblocking };
}
