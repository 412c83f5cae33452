// The generated matrix. Import the recorder before this.

import { Resource } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import type { Callable } from "./api.ts";
import { RECEIVER_OF, RECEIVERS, RECIPES } from "./recipes.ts";
import { scenarios } from "./scenarios.ts";
import { type Hostile, TRAPS, VALUES } from "./values.ts";
import { idle, World } from "./world.ts";

/** One misuse. */
export interface Case {
  readonly id: string;
  /** Whether it runs each time, and not only now and then. */
  readonly broad?: true;
  /** Misuses the objects of a new world. What it returns is waited for. */
  readonly run: (world: World) => unknown;
}

/** A call with valid arguments. */
interface Call {
  readonly name: string;
  readonly callable: Callable;
  readonly prepare: (world: World) => Prepared;
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
  "new WorkCompletion",
  "new WorkCompletionEx",
]);

function needsReceiver({ kind }: Callable): boolean {
  return kind === "method" || kind === "getter";
}

function isCovered(callable: Callable, known: ReadonlySet<string>): boolean {
  const { id, owner, kind, attributes } = callable;
  if (NOT_CALLED.has(id)) return true;
  if (needsReceiver(callable) && !(owner! in RECEIVERS)) return false;
  if (known.has(id)) return true;
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
  return api.flatMap((callable) => {
    const { id, kind, owner, attributes } = callable;
    if (NOT_CALLED.has(id)) return [];
    if (needsReceiver(callable) && !(owner! in RECEIVERS)) return [];
    const names = Object.keys(RECIPES).filter((name) => callableOf(name) === id);
    if (names.length === 0 && kind !== "constructor" && kind !== "static") names.push(id);
    return names.map((name) => ({
      name,
      callable,
      prepare: (world) => {
        const self = receiverOf(name, callable, world);
        const args = RECIPES[name]?.(world) ?? attributes.map(() => 0);
        return { self, args };
      },
    }));
  });
}

function receiverOf(name: string, callable: Callable, world: World): unknown {
  if (!needsReceiver(callable)) return undefined;
  return (RECEIVER_OF[name] ?? RECEIVERS[callable.owner!]!)(world);
}

let module: Record<string, unknown> = {};

/** Runs calls on the classes of this module. */
export function useModule(exports: Record<string, unknown>): void {
  module = exports;
}

function invoke({ callable: { owner, kind, name } }: Call, { self, args }: Prepared): unknown {
  if (kind === "function") return (module[name] as (...args: unknown[]) => unknown)(...args);
  const type = owner === undefined
    ? undefined
    : module[owner] as new (...args: unknown[]) => object;
  if (kind === "constructor") return new type!(...args);
  if (kind === "static") return (type as unknown as Methods)[name]!(...args);
  if (kind === "getter") return (self as Record<string, unknown>)[name];
  const result = (self as Methods)[name]!(...args);
  // Iterations read their arguments when they are made, and report them at the first step.
  if (isIterator(result)) return step(result, self);
  return result;
}

type Methods = Record<string, (...args: unknown[]) => unknown>;

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
  await next;
}

/** The matrix for an API. It needs the recorder, to learn which verbs a call reaches. */
export async function matrix(api: readonly Callable[], orders = 200): Promise<Case[]> {
  const cases: Case[] = [];
  const valid: Case[] = [];
  for (const call of callsOf(api)) {
    valid.push(...validCases(call));
    const learned = await learn(call);
    cases.push(...valueCases(call, learned), ...trapCases(call, learned));
    cases.push(...disposalCases(call, learned), ...verbCases(call, learned));
  }
  return [...valid, ...cases, ...scenarios(orders, valid)];
}

/** What a valid call shows. */
interface Learned {
  readonly paths: readonly Path[];
  /** The resources that exist when it is called, by name. */
  readonly resources: readonly string[];
  /** The verbs that it calls. */
  readonly verbs: readonly string[];
}

async function learn(call: Call): Promise<Learned> {
  recorder.reset();
  const world = new World();
  const prepared = call.prepare(world);
  const paths = pathsOf(call.callable, prepared.args);
  const resources = world.resources.map(([name]) => name);
  recorder.take();
  try {
    const result = invoke(call, prepared);
    if (result instanceof Promise) {
      result.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  } catch {
    // The case of the valid call reports it.
  }
  const verbs = [...new Set(recorder.take().map(({ verb }) => verb))];
  world.close();
  await idle();
  return { paths, resources, verbs };
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

function validCases(call: Call): Case[] {
  const { name, prepare } = call;
  const run = (world: World): unknown => invoke(call, prepare(world));
  return [{ id: `${name}: valid`, broad: true, run }];
}

function valueCases(call: Call, { paths }: Learned): Case[] {
  const { name, prepare } = call;
  const make = (path: Path, what: string, hostile: Hostile): Case => ({
    id: `${name}: ${path.join(".")} is ${what}`,
    run: (world) => {
      const prepared = prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      place[key] = hostile(place[key], world);
      return invoke(call, prepared);
    },
  });
  const foreign = (path: Path): Case => ({
    id: `${name}: ${path.join(".")} is of another context`,
    run: (world) => {
      const prepared = prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      const [otherPlace, otherKey] = placeOf(prepare(world.other).args, path);
      place[key] = otherPlace[otherKey];
      return invoke(call, prepared);
    },
  });
  const unknown = (path: Path): Case => ({
    id: `${name}: ${path.join(".")} has an unknown attribute`,
    run: (world) => {
      const prepared = prepare(world);
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
    trap: (value: unknown, world: World, again: () => unknown) => () => unknown,
  ): Case => ({
    id: `${name}: ${path.join(".")} ${what}`,
    run: (world) => {
      const prepared = prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      const get = trap(place[key], world, () => swallow(invoke(call, prepared)));
      Object.defineProperty(place, key, { get, enumerable: true, configurable: true });
      return invoke(call, prepared);
    },
  });
  const closes = (resource: string): Parameters<typeof make>[2] => (value, world) => () => {
    (world[resource as keyof World] as unknown as Resource).close();
    return value;
  };
  return paths.filter(({ length }) => length > 1).flatMap((path) => [
    ...Object.entries(TRAPS).map(([what, trap]) => make(path, what, trap)),
    ...resources.map((resource) => make(path, `closes ${resource}`, closes(resource))),
  ]);
}

function disposalCases(call: Call, { resources }: Learned): Case[] {
  const { name, prepare } = call;
  const closed = resources.map((resource): Case => ({
    id: `${name}: after ${resource} is disposed`,
    run: (world) => {
      const prepared = prepare(world);
      (world[resource as keyof World] as unknown as Resource).close();
      return invoke(call, prepared);
    },
  }));
  const during = resources.map((resource): Case => ({
    id: `${name}: ${resource} is disposed right after`,
    run: (world) => {
      const result = invoke(call, prepare(world));
      (world[resource as keyof World] as unknown as Resource).close();
      return result;
    },
  }));
  return [...closed, ...during];
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
  const { name, prepare } = call;
  return verbs.filter((verb) => !CANNOT_FAIL.has(verb)).flatMap((verb) =>
    [
      ...FAILURES,
      ...isPointer(verb) ? ODD_POINTERS : [],
      ...isHot(verb) ? ODD_NUMBERS : [],
    ].map((
      [what, errno, result],
    ): Case => ({
      id: `${name}: ${verb} ${what}`,
      run: (world) => {
        const prepared = prepare(world);
        recorder.fail(verb, errno, { times: 1, ...result !== undefined && { result } });
        return invoke(call, prepared);
      },
    }))
  );
}

/** Verbs that return an object: -1 is no pointer that a provider gives. */
function isPointer(verb: string): boolean {
  return /^ibv_((alloc|create|open|reg|import)_|get_device_list)/.test(verb);
}

/** Verbs of the provider that the module calls without a look at whether the provider has them. */
function isHot(verb: string): boolean {
  return /poll|post/.test(verb);
}
