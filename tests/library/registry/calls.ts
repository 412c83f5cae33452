// Everything that can be called, and its valid calls.

import * as cm from "../../../cm.ts";
import * as cli from "../../../cli/mod.ts";
import * as efa from "../../../efa.ts";
import * as ffi from "../../../ffi/mod.ts";
import * as net from "../../../net/mod.ts";
import * as verbs from "../../../mod.ts";
import * as rss from "../../../rss.ts";
// Not testing.ts, which opens libibverbs before the recorder can take its place.
import * as testing from "../../../types/testing/why_no_device.ts";
import { rootOf } from "../../../types/core/resource.ts";
import type { Attributes, Callable, ModuleName } from "./api.ts";
import { RECEIVERS, RECIPES } from "./recipes.ts";
import type { World } from "./world.ts";

const { Resource } = verbs;

const EXPORTS: Readonly<Record<ModuleName, Readonly<Record<string, unknown>>>> = {
  "mod.ts": verbs,
  "rss.ts": rss,
  "cm.ts": cm,
  "efa.ts": efa,
  "testing.ts": testing,
  "net/mod.ts": net,
  "cli/mod.ts": cli,
  "ffi/mod.ts": ffi,
};

/** A call with valid arguments. */
export interface Call {
  readonly name: string;
  readonly callable: Callable;
  /** Whether it is the first valid call of the callable. */
  readonly isFirst: boolean;
  readonly prepare: (world: World) => Promise<Prepared>;
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
  "new Completions",
  "Completions#throw",
  "new VerbsError",
  "new SystemError",
  "new WorkCompletion",
  "new WorkCompletionEx",
  "new EfaWorkCompletion",
  "new ExposedMemory",
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
  const { id, owner, kind, attributes } = callable;
  if (NOT_CALLED.has(id)) return true;
  if (needsReceiver(callable) && !hasReceiver(callable)) return false;
  if (known.has(id) || kind === "inspect") return true;
  if (kind === "constructor" || kind === "static") return false;
  if (attributes.length > 0 && owner !== "WorkCompletionList" && owner !== "WorkCompletionListEx") {
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
    return names.map((name, i) => callOf(name, callable, i === 0));
  });
}

function callOf(name: string, callable: Callable, isFirst = true): Call {
  const prepare = async (world: World): Promise<Prepared> => {
    const self = await receiverOf(name, callable, world);
    const args = await RECIPES[name]?.(world) ?? callable.attributes.map(() => 0);
    world.setPrepared();
    return { self, args };
  };
  return { name, callable, isFirst, prepare };
}

/** The valid call of a name in `mod.ts`, such as `"new QueuePair (srq)"` or `"CompletionQueue#resize"`. */
export function callNamed(name: string): Call {
  const id = callableOf(name);
  const [before, after] = id.replace("new ", "").split(/[.#]/) as [string, string?];
  const kind = kindOf(id, before, after);
  const owner = kind === "function" ? undefined : before;
  return callOf(name, { module: "mod.ts", id, owner, kind, name: after ?? before, attributes: [] });
}

function kindOf(id: string, owner: string, member = ""): Callable["kind"] {
  if (id.startsWith("new ")) return "constructor";
  if (id.includes(".")) return "static";
  if (!id.includes("#")) return "function";
  const { prototype } = exported({ module: "mod.ts" }, owner) as { readonly prototype: object };
  return Object.getOwnPropertyDescriptor(prototype, member)?.get ? "getter" : "method";
}

async function receiverOf(name: string, callable: Callable, world: World): Promise<unknown> {
  if (!needsReceiver(callable)) return undefined;
  const { owner } = callable;
  const receiver = RECEIVERS[name] ?? RECEIVERS[owner!];
  if (receiver !== undefined) return await receiver(world);
  const type = exported(callable, owner!) as new (...args: unknown[]) => object;
  return new type(...await RECIPES[`new ${owner}`]!(world));
}

/** An export of the module that a callable is of. */
export function exported({ module }: Pick<Callable, "module">, name: string): unknown {
  return EXPORTS[module][name];
}

/** Calls it. */
export function invoke({ callable }: Call, { self, args }: Prepared): unknown {
  const { owner, kind, name } = callable;
  if (kind === "function") return (exported(callable, name) as Method)(...args);
  if (kind === "inspect") return Deno.inspect(self);
  const type = owner === undefined ? undefined : exported(callable, owner);
  if (kind === "constructor") return new (type as new (...args: unknown[]) => object)(...args);
  if (kind === "static") return (type as Methods)[name]!(...args);
  if (kind === "getter") return (self as Record<string, unknown>)[name];
  const result = (self as Methods)[keyOf(name)]!(...args);
  // Iterations read their arguments when they are made, and report them at the first step.
  if (isIterator(result)) return step(result, self);
  if (name === "[Symbol.iterator]") return [...result as Iterable<unknown>].length;
  return result;
}

/** What `deno doc` writes as `[Symbol.dispose]` is a symbol. */
export function keyOf(name: string): string {
  const symbol = /^\[Symbol\.(\w+)\]$/.exec(name)?.[1];
  return symbol === undefined ? name : Symbol[symbol as "iterator"] as unknown as string;
}

type Method = (...args: unknown[]) => unknown;

/** The methods of any object. */
export type Methods = Record<string, Method>;

/** Whether it is something to wait for again and again. */
export function isIterator(value: unknown): value is AsyncIterator<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
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

/** The places of arguments whose values can be others: those that are given, and once those that the types allow. */
export function pathsOf({ callable, isFirst }: Call, args: readonly unknown[]): Path[] {
  return args.flatMap((arg, i): Path[] => [
    [i],
    ...keysOf(arg, isFirst ? callable.attributes[i] ?? {} : {}).map((rest): Path => [i, ...rest]),
  ]);
}

function keysOf(value: unknown, known: Attributes): (string | number)[][] {
  if (!isPlain(value)) return [];
  if (Array.isArray(value)) {
    return value.flatMap((one, i) => [[i], ...keysOf(one, known).map((rest) => [i, ...rest])]);
  }
  const names = new Set([...Object.keys(value), ...Object.keys(known)]);
  return [...names].flatMap((key) => [
    [key],
    ...keysOf((value as Record<string, unknown>)[key], known[key] ?? {})
      .map((rest) => [key, ...rest]),
  ]);
}

/** Whether it is an object or list of the caller's own making. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype;
}

/** The names of all attributes that the types of the parameters allow, such as `"1.cap.maxSendWr"`. */
export function attributeNames({ attributes }: Callable): string[] {
  return attributes.flatMap((
    inner,
    i,
  ) => [`${i}`, ...namesIn(inner).map((rest) => `${i}.${rest}`)]);
}

function namesIn(attributes: Attributes): string[] {
  return Object.entries(attributes).flatMap(([name, inner]) => [
    name,
    ...namesIn(inner).map((rest) => `${name}.${rest}`),
  ]);
}

/** The attributes that arguments have a value for, and those within objects that are not of the caller's making. */
export function givenNames({ attributes }: Callable, args: readonly unknown[]): string[] {
  return args.flatMap((arg, i) =>
    arg === undefined ? [] : [`${i}`, ...givenIn(arg, attributes[i] ?? {}).map((r) => `${i}.${r}`)]
  );
}

function givenIn(value: unknown, known: Attributes): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => givenIn(one, known));
  if (!isPlain(value)) return namesIn(known);
  return Object.entries(known).flatMap(([name, inner]) => {
    const own = (value as Record<string, unknown>)[name];
    return own === undefined ? [] : [name, ...givenIn(own, inner).map((rest) => `${name}.${rest}`)];
  });
}
