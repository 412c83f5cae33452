// The generated matrix.

import { structs } from "../../../ffi/layout.ts";
import * as recorder from "../../provider/recorder.ts";
import type { Callable } from "../registry/api.ts";
import {
  type Call,
  callsOf,
  disposeResult,
  exported,
  invoke,
  isIterator,
  isPlain,
  keyOf,
  type Methods,
  type Path,
  step,
} from "../registry/calls.ts";
import type { Learned, Lessons } from "./lessons.ts";
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
import type { World } from "../registry/world.ts";

/** One misuse. */
export interface Case {
  readonly id: string;
  /** The misuse, whatever it is made of: of these the tests run a part. Without it, it runs each time. */
  readonly what?: string;
  /** Whether objects may be left: those of a Worker that was ended stay until the process ends. */
  readonly leaves?: boolean;
  /** Violations that are the recorder's own, or follow from what is left. */
  readonly excused?: RegExp;
  /** Misuses the objects of a new world. What it returns is waited for. */
  readonly run: (world: World) => unknown;
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
      ...opCases(call, lesson),
    ];
  });
}

/** What the name of a valid call ends with. */
export const VALID = ": valid";

/** The valid calls. */
export function validCases(api: readonly Callable[]): Case[] {
  return callsOf(api).map((call) => ({
    id: `${call.name}${VALID}`,
    run: async (world) => invoke(call, await call.prepare(world)),
  }));
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
    what: `this is ${what}`,
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
    what: `is ${what}`,
    run: async (world) => {
      const prepared = await prepare(world);
      const [place, key] = placeOf(prepared.args, path);
      place[key] = hostile(place[key], world);
      return invoke(call, prepared);
    },
  });
  const foreign = (path: Path): Case => ({
    id: `${name}: ${path.join(".")} is of another context`,
    what: "is of another context",
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
    what: "has an unknown attribute",
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
    what,
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
    what,
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
    what: "after one is disposed",
    run: async (world) => {
      const prepared = await prepare(world);
      world.dispose(resource);
      return invoke(call, prepared);
    },
  }));
  const during = resources.map((resource): Case => ({
    id: `${name}: ${resource} is disposed right after`,
    what: "one is disposed right after",
    run: async (world) => {
      const result = invoke(call, await prepare(world));
      world.dispose(resource);
      return result;
    },
  }));
  const buffers = {
    id: `${name}: all buffers are transferred right after`,
    what: "all buffers are transferred right after",
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
  if (result instanceof Promise) result.then(disposeResult).catch(() => {});
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
  "ibv_ack_async_event",
  "ibv_ack_cq_events",
  "ibv_end_poll",
]);

function verbCases(call: Call, { verbs }: Learned): Case[] {
  const { name, prepare, callable } = call;
  return verbs.filter((verb) => !CANNOT_FAIL.has(verb)).flatMap((verb) =>
    [
      ...FAILURES,
      ...isPointer(verb) ? ODD_POINTERS : [],
      ...isHot(verb) ? ODD_NUMBERS : [],
    ].map((
      [what, errno, result],
    ): Case => ({
      id: `${name}: ${verb} ${what}`,
      what,
      ...hidesObjects(callable) && isDestroyer(verb) && LEFT,
      run: async (world) => {
        const prepared = await prepare(world);
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

/** What a provider may lack: functions of contexts. */
export function contextOps(): string[] {
  const { verbs_context, ibv_context } = structs;
  const functions = Object.keys(verbs_context.fields).filter((name) =>
    /^(?!sz|context|priv|has_comp_mask|ABI|abi_|query_port$)/.test(name)
  );
  const ops = Object.keys(ibv_context.fields).filter((name) =>
    name.startsWith("ops.") && !name.includes("_compat")
  );
  // Objects that cannot be destroyed are left.
  return [...functions, ...ops].filter((op) => !/destroy|dealloc|free|close|dereg|detach/.test(op));
}

/** Whether a call or what it needs calls an op. It is the verb of the name, or one that was added to it later. */
export function reaches({ verbs, needs }: Learned, op: string): boolean {
  const verb = `ibv_${op.replace(/^(ops\.|ibv_)/, "")}`;
  return [...verbs, ...needs].some((name) => name.startsWith(verb));
}

/** A provider that lacks an op: the call works, or fails as the header's inline function does. */
function opCases(call: Call, lesson: Learned): Case[] {
  return contextOps().map((op): Case => ({
    id: `${call.name}: the provider has no ${op}`,
    ...!reaches(lesson, op) && { what: "the provider lacks an op that it does not call" },
    run: async (world) => {
      recorder.lack(op);
      return invoke(call, await call.prepare(world));
    },
  }));
}
