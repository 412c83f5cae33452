// The generated matrix.

import { Context, Resource } from "../../../mod.ts";
import type { Callable, ModuleName } from "./api.ts";
import { currentBed, idle } from "./beds/bed.ts";
import { RECEIVER_OF, RECEIVERS, RECIPES } from "./recipes/recipes.ts";
import {
  Boom,
  type Hostile,
  LATER,
  RECEIVER_VALUES,
  SIGNALS,
  transferAll,
  TRAPS,
  VALUES,
} from "./values.ts";
import { World } from "./world.ts";

/** One misuse. */
export interface Case {
  readonly id: string;
  /** Whether it runs each time, and not only now and then. */
  readonly broad?: true;
  /** Whether objects may be left: those of a Worker that was ended stay until the process ends. */
  readonly leaves?: boolean;
  /** Violations that are the recorder's own, or follow from what is left. */
  readonly excused?: RegExp;
  /** Misuses the objects of a new world. What it returns is waited for. */
  readonly run: (world: World) => unknown;
}

/** A call with valid arguments. */
interface Call {
  readonly name: string;
  readonly callable: Callable;
  readonly prepare: (world: World) => Promise<Prepared>;
}

interface Prepared {
  readonly self: unknown;
  readonly args: unknown[];
}

/** An attribute or argument: the index of the argument, then names. */
type Path = readonly [number, ...(string | number)[]];

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
  "new ExposedMemory",
  // They read memory at any address that the caller gives; the module says that it does not check.
  "hasContextOp",
  "hasOwnOp",
  "nativeView",
  "readCString",
  "readNative",
  "readPointers",
]);

/** Objects that only exist where data moves. */
const MOVING: ReadonlySet<string> = new Set(["RcConn", "ExposedMemory"]);

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
  if (attributes.length > 0 && owner !== "WorkCompletions" && owner !== "WorkCompletionsEx") {
    return kind !== "function" && owner === "Completions";
  }
  return owner === undefined || owner in RECEIVERS;
}

function callableOf(name: string): string {
  return name.replace(/ \(.*\)$/, "");
}

/** The name that a recipe or a member without parameters has in the matrix. */
function callsOf(api: readonly Callable[]): Call[] {
  const { moves } = currentBed();
  return api.flatMap((callable) => {
    const { id, kind, owner, attributes } = callable;
    if (NOT_CALLED.has(id) || !moves && MOVING.has(owner!)) return [];
    if (needsReceiver(callable) && !hasReceiver(callable)) return [];
    const names = Object.keys(RECIPES).filter((name) => callableOf(name) === id);
    if (names.length === 0 && kind !== "constructor" && kind !== "static") names.push(id);
    return names.map((name) => ({
      name,
      callable,
      prepare: async (world) => {
        const self = await receiverOf(name, callable, world);
        const args = await RECIPES[name]?.(world) ?? attributes.map(() => 0);
        return { self, args };
      },
    }));
  });
}

function receiverOf(name: string, callable: Callable, world: World): unknown {
  if (!needsReceiver(callable)) return undefined;
  const { owner } = callable;
  const receiver = RECEIVER_OF[name] ?? RECEIVERS[owner!];
  if (receiver !== undefined) return receiver(world);
  const type = exported(callable, owner!) as new (...args: unknown[]) => object;
  return new type(...RECIPES[`new ${owner}`]!(world) as unknown[]);
}

/** The exports of each module. */
export type Exports = Readonly<Record<ModuleName, Readonly<Record<string, unknown>>>>;

let modules: Exports | undefined;

/** Runs calls on the functions and classes of these modules. */
export function useModules(exports: Exports): void {
  modules = exports;
}

function exported({ module }: Callable, name: string): unknown {
  return modules![module][name];
}

function invoke({ callable }: Call, { self, args }: Prepared): unknown {
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
function keyOf(name: string): string {
  const symbol = /^\[Symbol\.(\w+)\]$/.exec(name)?.[1];
  return symbol === undefined ? name : Symbol[symbol as "iterator"] as unknown as string;
}

type Method = (...args: unknown[]) => unknown;
type Methods = Record<string, Method>;

function isIterator(value: unknown): value is AsyncIterator<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Takes the first step of an iteration, which the disposal of its object ends. */
async function step(iterator: AsyncIterator<unknown>, self: unknown): Promise<void> {
  const next = iterator.next();
  // It is looked at below.
  next.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (self instanceof Resource) self.close();
  else (self as Partial<Disposable>)[Symbol.dispose]?.();
  await next;
}

/** The matrix, from what the valid calls showed. */
export function matrix(api: readonly Callable[], learned: Lessons): Case[] {
  return callsOf(api).flatMap((call) => {
    const lesson = learned[call.name]!;
    return [
      ...receiverCases(call),
      ...valueCases(call, lesson),
      ...trapCases(call, lesson),
      ...signalCases(call, lesson),
      ...disposalCases(call, lesson),
      ...verbCases(call, lesson),
    ];
  });
}

/** The valid calls. */
export function validCases(api: readonly Callable[]): Case[] {
  return callsOf(api).map((call) => ({
    id: `${call.name}: valid`,
    broad: true,
    run: async (world) => invoke(call, await call.prepare(world)),
  }));
}

/** What each valid call shows. */
export type Lessons = Readonly<Record<string, Learned>>;

/** What a valid call shows. */
interface Learned {
  readonly paths: readonly Path[];
  /** The resources that exist when it is called, by name. */
  readonly resources: readonly string[];
  /** The verbs that it calls. */
  readonly verbs: readonly string[];
}

/** Makes each valid call once. */
export async function learnAll(api: readonly Callable[]): Promise<Lessons> {
  const learned: Record<string, Learned> = {};
  for (const call of callsOf(api)) learned[call.name] = await learn(call);
  return learned;
}

/** Only calls that wait for events take longer. */
const PATIENCE_MS = 200;

async function learn(call: Call): Promise<Learned> {
  const bed = currentBed();
  bed.reset();
  const world = new World();
  try {
    const prepared = await call.prepare(world);
    const paths = pathsOf(call.callable, prepared.args);
    const resources = world.resources.map(([name]) => name);
    bed.verbs();
    // The case of the valid call reports what it throws.
    const called = (async () => await invoke(call, prepared))().then(disposeResult, () => {});
    await Promise.race([called, new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
    return { paths, resources, verbs: bed.verbs() };
  } catch {
    // The bed has no such objects.
    return { paths: [], resources: [], verbs: [] };
  } finally {
    world.close();
    await idle();
  }
}

/** Closes what a call opened and nothing else closes. */
export function disposeResult(result: unknown): void {
  const isRoot = !(result instanceof Resource) || result instanceof Context;
  if (!isRoot) return;
  const close = (): void =>
    (result as Partial<Disposable> | null | undefined)?.[Symbol.dispose]?.();
  try {
    close();
  } catch {
    // A verb that failed once may fail here.
    close();
  }
}

function pathsOf({ attributes }: Callable, args: readonly unknown[]): Path[] {
  return args.flatMap((arg, i): Path[] => [
    [i],
    ...keysOf(arg, attributes[i] ?? []).map((rest): Path => [i, ...rest]),
  ]);
}

function keysOf(value: unknown, known: readonly string[]): (string | number)[][] {
  if (!isPlain(value)) return [];
  const own = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value);
  return [...new Set([...own, ...(Array.isArray(value) ? [] : known)])].flatMap((key) => [
    [key],
    ...keysOf((value as Record<string | number, unknown>)[key], []).map((rest) => [key, ...rest]),
  ]);
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype;
}

type Attributes = Record<string | number, unknown>;

/** The object that a path leads into, and the name there. */
function placeOf(args: unknown[], path: Path): [Attributes, string | number] {
  let place = args as unknown as Attributes;
  for (const key of path.slice(0, -1)) place = place[key] as Attributes;
  return [place, path.at(-1)!];
}

/** Methods of one object called on another value. */
function receiverCases(call: Call): Case[] {
  const { name, prepare, callable } = call;
  if (callable.kind !== "method" && callable.kind !== "getter") return [];
  const type = exported(callable, callable.owner!) as { prototype: object } | undefined;
  if (type === undefined) return [];
  return Object.entries(RECEIVER_VALUES).map(([what, hostile]): Case => ({
    id: `${name}: this is ${what}`,
    run: async (world) => {
      const { self, args } = await prepare(world);
      const receiver = hostile(self, world);
      const key = keyOf(callable.name);
      if (callable.kind === "getter") return Reflect.get(type.prototype, key, receiver);
      const result = ((type.prototype as Methods)[key]!).call(receiver, ...args);
      return isIterator(result) ? step(result, self) : result;
    },
  }));
}

function valueCases(call: Call, { paths }: Learned): Case[] {
  const { name, prepare } = call;
  const make = (path: Path, what: string, hostile: Hostile): Case => ({
    id: `${name}: ${path.join(".")} is ${what}`,
    run: async (world) => {
      const prepared = await prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      place[key] = hostile(place[key], world);
      return invoke(call, prepared);
    },
  });
  const foreign = (path: Path): Case => ({
    id: `${name}: ${path.join(".")} is of another context`,
    run: async (world) => {
      const prepared = await prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      const [otherPlace, otherKey] = placeOf((await prepare(world.other)).args, path);
      place[key] = otherPlace[otherKey];
      return invoke(call, prepared);
    },
  });
  const unknown = (path: Path): Case => ({
    id: `${name}: ${path.join(".")} has an unknown attribute`,
    run: async (world) => {
      const prepared = await prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      if (isPlain(place[key])) (place[key] as Attributes).maxSendWR = 1;
      return invoke(call, prepared);
    },
  });
  return paths.flatMap((path) => [
    ...Object.entries(VALUES).map(([what, hostile]) => make(path, what, hostile)),
    foreign(path),
    unknown(path),
  ]);
}

function trapCases(call: Call, { paths, resources }: Learned): Case[] {
  const { name, prepare } = call;
  const make = (
    path: Path,
    what: string,
    trap: (value: unknown, world: World, again: () => unknown, args: unknown[]) => () => unknown,
  ): Case => ({
    id: `${name}: ${path.join(".")} ${what}`,
    run: async (world) => {
      const prepared = await prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      const again = (): void => swallow(invoke(call, prepared));
      const get = trap(place[key], world, again, prepared.args);
      Object.defineProperty(place, key, { get, enumerable: true, configurable: true });
      return invoke(call, prepared);
    },
  });
  const closes = (resource: string): Parameters<typeof make>[2] => (value, world) => () => {
    world.dispose(resource);
    return value;
  };
  return paths.filter(({ length }) => length > 1).flatMap((path) => [
    ...Object.entries(TRAPS).map(([what, trap]) => make(path, what, trap)),
    ...resources.map((resource) => make(path, `closes ${resource}`, closes(resource))),
  ]);
}

/** Callbacks of the caller: what listens to a signal runs within the library's call, or while it waits. */
function signalCases(call: Call, { paths, resources }: Learned): Case[] {
  const { name, prepare } = call;
  const make = (
    path: Path,
    what: string,
    use: (abort: AbortController, world: World, again: () => unknown) => unknown,
    isLate = false,
  ): Case => ({
    id: `${name}: ${path.join(".")} ${what}`,
    run: async (world) => {
      const prepared = await prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      const abort = new AbortController();
      place[key] = abort.signal;
      // The signal of the inner call has aborted: it does not call again.
      const again = (): void => swallow(invoke(call, prepared));
      if (!isLate) use(abort, world, again);
      const result = invoke(call, prepared);
      // What aborts may throw: nobody waits for the call then.
      if (result instanceof Promise) result.then(disposeResult).catch(() => {});
      if (isLate) use(abort, world, again);
      else abort.abort(new Boom());
      return result;
    },
  });
  return paths.filter((path) => path.at(-1) === "signal").flatMap((path) => [
    ...Object.entries(SIGNALS).map(([what, use]) => make(path, what, use)),
    ...Object.entries(LATER).map(([what, use]) => make(path, what, use, true)),
    ...resources.map((resource) =>
      make(path, `closes ${resource} when it aborts`, ({ signal }, world) => {
        signal.addEventListener("abort", () => world.dispose(resource));
      })
    ),
  ]);
}

function disposalCases(call: Call, { resources }: Learned): Case[] {
  const { name, prepare } = call;
  const closed = resources.map((resource): Case => ({
    id: `${name}: after ${resource} is disposed`,
    run: async (world) => {
      const prepared = await prepare(world);
      world.dispose(resource);
      return invoke(call, prepared);
    },
  }));
  const during = resources.map((resource): Case => ({
    id: `${name}: ${resource} is disposed right after`,
    run: async (world) => {
      const result = invoke(call, await prepare(world));
      world.dispose(resource);
      return result;
    },
  }));
  const buffers = {
    id: `${name}: all buffers are transferred right after`,
    run: async (world: World) => {
      const prepared = await prepare(world);
      const result = invoke(call, prepared);
      transferAll(prepared.args);
      return result;
    },
  };
  return [...closed, ...during, buffers];
}

/** The outcome of the inner call is of no interest, unless it is thrown. */
function swallow(result: unknown): void {
  if (result instanceof Promise) result.catch(() => {});
}

const FAILURES: readonly [string, number, bigint?][] = [
  ["fails with EINVAL", 22],
  ["fails with ENOMEM", 12],
  ["fails with EOPNOTSUPP", 95],
];

/** What a provider does beside the manual. */
const ODD_POINTERS: typeof FAILURES = [["gives NULL without errno", 0, 0n]];
const ODD_NUMBERS: typeof FAILURES = [["gives -1", 5, -1n], ["gives 95", 0, 95n]];

/** Verbs that return nothing, or what every device has. */
const CANNOT_FAIL: ReadonlySet<string> = new Set([
  "ibv_free_device_list",
  "ibv_get_device_name",
  "ibv_get_device_guid",
  "ibv_get_device_index",
  "ibv_unimport_pd",
  "ibv_unimport_mr",
  "ibv_unimport_dm",
]);

function verbCases(call: Call, { verbs }: Learned): Case[] {
  const { name, prepare, callable } = call;
  const { fail } = currentBed();
  if (fail === undefined) return [];
  return verbs.filter((verb) => !CANNOT_FAIL.has(verb)).flatMap((verb) =>
    [
      ...FAILURES,
      ...isPointer(verb) ? ODD_POINTERS : [],
      ...isHot(verb) ? ODD_NUMBERS : [],
    ].map((
      [what, errno, result],
    ): Case => ({
      id: `${name}: ${verb} ${what}`,
      ...hidesObjects(callable) && isDestroyer(verb) && LEFT,
      run: async (world) => {
        const prepared = await prepare(world);
        fail(verb, errno, result);
        return invoke(call, prepared);
      },
    }))
  );
}

/** Verbs that return an object: -1 is no pointer that a provider gives. */
function isPointer(verb: string): boolean {
  return /^ibv_((alloc|create|open|reg|import)_|get_device_list)/.test(verb);
}

/** The caller has nothing to close again: the end of the process does it. */
const LEFT = { leaves: true, excused: / ends while \d+ others use it$/ };

function hidesObjects({ kind, module }: Callable): boolean {
  return kind === "function" && module !== "mod.ts";
}

function isDestroyer(verb: string): boolean {
  return /^ibv_(close|dealloc|dereg|destroy|free)_/.test(verb);
}

/** Verbs of the provider that the module calls without a look at whether the provider has them. */
function isHot(verb: string): boolean {
  return /poll|post/.test(verb);
}
