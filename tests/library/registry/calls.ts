// Everything that can be called, and its valid calls.

import { Resource } from "../../../mod.ts";
import { rootOf } from "../../../types/core/resource.ts";
import { type Callable, MODULES, readApi } from "./api.ts";
import { RECEIVERS, RECIPES } from "./recipes.ts";
import type { ObjectSet } from "./object_set.ts";

/** A call with valid arguments. */
export interface Call {
  readonly name: string;
  readonly callable: Callable;
  readonly prepare: (set: ObjectSet) => Promise<Prepared>;
}

/** An object and the arguments of one of its methods. */
export interface Prepared {
  readonly self: unknown;
  readonly args: unknown[];
}

/** Everything that can be called without a recipe, or has a recipe and cannot be called. */
export function gaps(api: readonly Callable[]): string[] {
  const known = new Set(Object.keys(RECIPES).map(callableOf));
  const ids = new Set(api.map(({ id }) => id));
  const missing = api.filter((callable) => !isCovered(callable, known));
  return [
    ...missing.map(({ id }) => `${id} has no recipe`),
    ...[...known].filter((id) => !ids.has(id)).map((id) => `${id} is not in the API`),
  ];
}

/** Not for callers, who get these objects from others; and what throws any value it is given. */
const NOT_CALLED: ReadonlySet<string> = new Set([
  "Completions#throw",
  // They read memory at any address that the caller gives; the module says that it does not check.
  "hasContextOp",
  "hasOwnOp",
  "nativeView",
  "readCString",
  "readNative",
  "readPointers",
]);

function needsReceiver({ kind }: Callable): boolean {
  return kind === "method" || kind === "getter" || kind === "inspect";
}

function hasReceiver({ owner }: Callable): boolean {
  return owner! in RECEIVERS || `new ${owner}` in RECIPES;
}

function isCovered(callable: Callable, known: ReadonlySet<string>): boolean {
  const { id, owner, kind, length } = callable;
  // No program calls the constructor of some classes.
  if (NOT_CALLED.has(id) || kind === "constructor") return true;
  if (needsReceiver(callable) && !hasReceiver(callable)) return false;
  if (known.has(id) || kind === "inspect") return true;
  if (kind === "static") return false;
  if (length > 0 && owner !== "WorkCompletionList" && owner !== "WorkCompletionListEx") {
    return kind !== "function" && owner === "Completions";
  }
  return owner === undefined || owner in RECEIVERS;
}

function callableOf(name: string): string {
  return name.replace(/ \(.*\)$/, "");
}

/** The calls by recipe, and those of members without parameters. */
export function callsOf(api: readonly Callable[]): Call[] {
  return api.flatMap((callable) => {
    const { id, kind } = callable;
    if (NOT_CALLED.has(id)) return [];
    if (needsReceiver(callable) && !hasReceiver(callable)) return [];
    const names = Object.keys(RECIPES).filter((name) => callableOf(name) === id);
    if (names.length === 0 && kind !== "constructor" && kind !== "static") names.push(id);
    return names.map((name) => callOf(name, callable));
  });
}

function callOf(name: string, callable: Callable): Call {
  const prepare = async (set: ObjectSet): Promise<Prepared> => {
    const self = await receiverOf(name, callable, set);
    const args = await RECIPES[name]?.(set) ?? Array(callable.length).fill(0);
    set.setPrepared();
    return { self, args };
  };
  return { name, callable, prepare };
}

/** The valid call of a name, such as `"new QueuePair (srq)"` or `"CompletionQueue#resize"`. */
export function callNamed(name: string): Call {
  return allCalls().find((call) => call.name === name)!;
}

/** All calls, which are read once. */
export function allCalls(): readonly Call[] {
  return all ??= callsOf(readApi());
}

let all: readonly Call[] | undefined;

async function receiverOf(name: string, callable: Callable, set: ObjectSet): Promise<unknown> {
  if (!needsReceiver(callable)) return undefined;
  const { owner } = callable;
  const receiver = RECEIVERS[name] ?? RECEIVERS[owner!];
  if (receiver !== undefined) return await receiver(set);
  const type = exported(callable, owner!) as new (...args: unknown[]) => object;
  return new type(...await RECIPES[`new ${owner}`]!(set));
}

/** An export of the module that a callable is of. */
export function exported({ module }: Pick<Callable, "module">, name: string): unknown {
  return MODULES[module][name];
}

/** Calls it. Of an iteration the first step is taken. */
export function invoke(call: Call, prepared: Prepared): unknown {
  const result = begin(call, prepared);
  // Iterations read their arguments when they are made, and report them at the first step.
  return isIteration(call, result) ? step(result, prepared.self) : result;
}

/** Calls it. */
export function begin({ callable }: Call, { self, args }: Prepared): unknown {
  const { owner, kind, name } = callable;
  if (kind === "function") return (exported(callable, name) as Method)(...args);
  if (kind === "inspect") return Deno.inspect(self);
  const type = owner === undefined ? undefined : exported(callable, owner);
  if (kind === "constructor") return new (type as new (...args: unknown[]) => object)(...args);
  if (kind === "static") return (type as Methods)[name]!(...args);
  if (kind === "getter") return (self as Record<string, unknown>)[name];
  const result = (self as Methods)[keyOf(name)]!(...args);
  return name === "[Symbol.iterator]" ? [...result as Iterable<unknown>].length : result;
}

/** What `deno doc` writes as `[Symbol.dispose]` is a symbol. */
export function keyOf(name: string): string {
  const symbol = /^\[Symbol\.(\w+)\]$/.exec(name)?.[1];
  return symbol === undefined ? name : Symbol[symbol as "iterator"] as unknown as string;
}

type Method = (...args: unknown[]) => unknown;

/** The methods of any object. */
export type Methods = Record<string, Method>;

/** Whether a method gave something to wait for again and again. */
export function isIteration(
  { callable: { kind } }: Call,
  result: unknown,
): result is AsyncIterableIterator<unknown> {
  return kind === "method" && typeof result === "object" && result !== null &&
    Symbol.asyncIterator in result;
}

/** Takes the first step of an iteration, and disposes its object. */
export async function step(iterator: AsyncIterator<unknown>, self: unknown): Promise<void> {
  const { value } = await iterator.next();
  disposeResult(value);
  if (self instanceof Resource) self.close();
  else (self as Partial<Disposable>)[Symbol.dispose]?.();
}

/** Closes what a call opened and nothing else closes. */
export function disposeResult(result: unknown): void {
  if (result instanceof Resource && rootOf(result) !== result) return;
  const close = (): void =>
    (result as Partial<Disposable> | null | undefined)?.[Symbol.dispose]?.();
  try {
    close();
  } catch {
    // A verb that failed once may fail here.
    close();
  }
}

/** An attribute or argument: the index of the argument, then names. */
export type Path = readonly [number, ...(string | number)[]];

/** The places of arguments whose values can be others: those that are given. */
export function pathsOf(args: readonly unknown[]): Path[] {
  return args.flatMap((arg, i): Path[] => [[i], ...keysOf(arg).map((rest): Path => [i, ...rest])]);
}

function keysOf(value: unknown): (string | number)[][] {
  if (!isPlain(value)) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, inner]) => [[key], ...keysOf(inner).map((rest) => [key, ...rest])]);
}

type Place = Record<string | number, unknown>;

/** The object that a path leads into, and the name there. */
export function placeOf(args: unknown[], path: Path): [place: Place, key: string | number] {
  const place = path.slice(0, -1).reduce<unknown>((at, key) => (at as Place)[key], args);
  return [place as Place, path.at(-1)!];
}

/** What a path leads to. */
export function valueAt(args: unknown[], path: Path): unknown {
  const [place, key] = placeOf(args, path);
  return place[key];
}

/** Puts a getter in a place of arguments. */
export function putGetter(args: unknown[], path: Path, get: () => unknown): void {
  const [place, key] = placeOf(args, path);
  Object.defineProperty(place, key, { get, enumerable: true, configurable: true });
}

/** Whether it is an object or list of the caller's own making. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype;
}
