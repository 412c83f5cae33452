// The generated matrix.

import { structs } from "../../../ffi/layout.ts";
import * as recorder from "../../provider/recorder.ts";
import type { Callable } from "../registry/api.ts";
import {
  allCalls,
  type Call,
  disposeResult,
  exported,
  invoke,
  isIteration,
  keyOf,
  type Methods,
  type Path,
  placeOf,
  type Prepared,
  putGetter,
  step,
  valueAt,
} from "../registry/calls.ts";
import type { Learned, ValidCalls } from "./valid_calls.ts";
import {
  Boom,
  LATER,
  RECEIVER_VALUES,
  SIGNALS,
  type SignalUse,
  transferAll,
  type Trap,
  TRAPS,
  VALUES,
} from "./values.ts";
import type { ObjectSet } from "../registry/object_set.ts";

/** One misuse. */
export interface Case {
  readonly id: string;
  /** The misuse, whatever it is made of: of these the tests run a part. Without it, it runs each time. */
  readonly what?: string;
  /** Whether objects may be left: those of a Worker that was ended stay until the process ends. */
  readonly leaves?: boolean;
  /** Violations that are the recorder's own, or follow from what is left. */
  readonly excused?: RegExp;
  /** Misuses the objects of a new ObjectSet. What it returns is waited for. */
  readonly run: (set: ObjectSet) => unknown;
}

/** The matrix, from what the valid calls showed. */
export function matrix(learned: ValidCalls): Case[] {
  return allCalls().flatMap((call) => {
    const valid = learned[call.name]!;
    return [
      ...receiverCases(call),
      ...wrongCases(call, [
        ...wrongValues(valid),
        ...wrongGetters(valid),
        ...wrongSignals(valid),
      ]),
      ...disposalCases(call, valid),
      ...verbCases(call, valid),
      ...opCases(call, valid),
    ];
  });
}

/** What the name of a valid call ends with. */
export const VALID = ": valid";

/** The valid calls. */
export function validCases(): Case[] {
  return allCalls().map((call) => ({
    id: `${call.name}${VALID}`,
    run: async (set) => invoke(call, await call.prepare(set)),
  }));
}

/** Does something to a call before it is made; what it returns gets the outcome. */
type Change = (prepared: Prepared, set: ObjectSet) => Promise<After> | After;

type After = ((result: unknown) => unknown) | void;

/** A valid call after a change. */
function changed(call: Call, id: string, what: string, change: Change): Case {
  return {
    id: `${call.name}: ${id}`,
    what,
    run: async (set) => {
      const prepared = await call.prepare(set);
      const after = await change(prepared, set);
      const result = invoke(call, prepared);
      after?.(result);
      return result;
    },
  };
}

/** A wrong value in a place of a valid call. */
export interface Wrong {
  readonly path: Path;
  readonly what: string;
  /** Puts it there. `again` makes the call once more. */
  readonly put: (prepared: Prepared, set: ObjectSet, again: () => unknown) => After;
}

function wrongCases(call: Call, wrongs: readonly Wrong[]): Case[] {
  return wrongs.map(({ path, what, put }) =>
    changed(
      call,
      `${path.join(".")} ${what}`,
      what,
      // The outcome of the inner call is of no interest, unless it is thrown.
      (prepared, set) => put(prepared, set, () => swallow(invoke(call, prepared))),
    )
  );
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
    run: async (set) => {
      const { self, args } = await prepare(set);
      const receiver = hostile(self, set);
      const key = keyOf(callable.name);
      if (callable.kind === "getter") return Reflect.get(type.prototype, key, receiver);
      const result = ((type.prototype as Methods)[key]!).call(receiver, ...args);
      return isIteration(call, result) ? step(result, self) : result;
    },
  }));
}

/** Objects of another context, attributes that there are not and disposed objects are in refusals_test.ts. */
export function wrongValues({ paths }: Pick<Learned, "paths">): Wrong[] {
  return paths.flatMap((path) =>
    Object.entries(VALUES).map(([what, hostile]): Wrong => ({
      path,
      what: `is ${what}`,
      put: ({ args }, set) => {
        const [place, key] = placeOf(args, path);
        place[key] = hostile(place[key], set);
      },
    }))
  );
}

/** Getters that misbehave, in the places of attributes. */
export function wrongGetters({ paths, resources }: Pick<Learned, "paths" | "resources">): Wrong[] {
  const closing = resources.map((resource): [string, Trap] => [
    `closes ${resource}`,
    (value, set) => () => {
      set.dispose(resource);
      return value;
    },
  ]);
  return paths.filter(({ length }) => length > 1).flatMap((path) =>
    [...Object.entries(TRAPS), ...closing].map(([what, trap]): Wrong => ({
      path,
      what,
      put: ({ args }, set, again) =>
        putGetter(args, path, trap(valueAt(args, path), set, again, args)),
    }))
  );
}

/** Callbacks of the caller: what listens to a signal runs within the library's call, or while it waits. */
function wrongSignals({ paths, resources }: Learned): Wrong[] {
  const closing = resources.map((resource): [string, SignalUse] => [
    `closes ${resource} when it aborts`,
    ({ signal }, set) => signal.addEventListener("abort", () => set.dispose(resource)),
  ]);
  const make = (path: Path, what: string, use: SignalUse, isLate: boolean): Wrong => ({
    path,
    what,
    put: ({ args }, set, again) => {
      const abort = new AbortController();
      const [place, key] = placeOf(args, path);
      place[key] = abort.signal;
      // The signal of the inner call has aborted: it does not call again.
      const useIt = (): unknown => use(abort, set, again);
      if (!isLate) useIt();
      return (result) => {
        // What aborts may throw: nobody waits for the call then.
        swallow(result);
        if (isLate) useIt();
        else abort.abort(new Boom());
      };
    },
  });
  return paths.filter((path) => path.at(-1) === "signal").flatMap((path) => [
    ...[...Object.entries(SIGNALS), ...closing].map(([what, use]) => make(path, what, use, false)),
    ...Object.entries(LATER).map(([what, use]) => make(path, what, use, true)),
  ]);
}

function disposalCases(call: Call, { resources }: Learned): Case[] {
  const transferred = "all buffers are transferred right after";
  return [
    ...resources.map((resource) => {
      const id = `${resource} is disposed right after`;
      const dispose = (_: Prepared, set: ObjectSet) => () => set.dispose(resource);
      return changed(call, id, "one is disposed right after", dispose);
    }),
    changed(call, transferred, transferred, ({ args }) => () => transferAll(args)),
  ];
}

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
  return verbs.filter((verb) => !CANNOT_FAIL.has(verb)).flatMap((verb) =>
    [
      ...FAILURES,
      ...isPointer(verb) ? ODD_POINTERS : [],
      ...isHot(verb) ? ODD_NUMBERS : [],
    ].map(([what, errno, result]): Case => ({
      ...changed(call, `${verb} ${what}`, what, () => {
        recorder.fail(verb, errno, { times: 1, ...result !== undefined && { result } });
      }),
      ...hidesObjects(call.callable) && isDestroyer(verb) && LEFT,
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
function opCases(call: Call, valid: Learned): Case[] {
  return contextOps().map((op): Case => ({
    id: `${call.name}: the provider has no ${op}`,
    ...!reaches(valid, op) && { what: "the provider lacks an op that it does not call" },
    run: async (set) => {
      recorder.lack(op);
      return invoke(call, await call.prepare(set));
    },
  }));
}
