// Notes the verbs that classes call with success while a test file runs, and on which device. Not part of ordinary runs:
// `deno test --preload=tests/trace.ts`, or `deno task generate verbs --trace`.

import { bindings, type Row } from "../tools/coverage/bindings.ts";
import { type Place, type Trace, TRACES } from "../tools/coverage/tested.ts";
import { structs } from "../ffi/layout.ts";
import { nonblocking, verbs } from "../ffi/library.ts";

// deno-lint-ignore no-explicit-any
type AnyFunction = (...args: any[]) => any;

const rows = new Map((await bindings()).map(({ verb, row }) => [verb, row]));
const project = new URL("../", import.meta.url).href;

/** What the tests of a file have done. */
interface Seen {
  readonly called: Map<string, Set<Place>>;
  readonly opened: Set<Place>;
}

const files = new Map<string, Seen>();
/** The file whose test runs: one process may load several. */
let seen = seenIn(Deno.mainModule);
/** The device that an object belongs to, by the object's address. */
const places = new Map<bigint, Place>();

function seenIn(url: string): Seen {
  const file = url.replace(project, "");
  if (!files.has(file)) files.set(file, { called: new Map(), opened: new Set() });
  return files.get(file)!;
}

function placeOfDevice(device: Deno.PointerObject): Place {
  const name = new Deno.UnsafePointerView(device).getCString(structs.ibv_device.fields.name.offset);
  if (name.startsWith("recorder")) return "recorder";
  return name.startsWith("rxe") ? "rxe" : "stub";
}

function addressOf(value: unknown): bigint {
  const isPointer = typeof value === "object" && value !== null && !ArrayBuffer.isView(value) &&
    !(value instanceof ArrayBuffer);
  return isPointer ? Deno.UnsafePointer.value(value as Deno.PointerObject) : 0n;
}

function placeOf(args: readonly unknown[]): Place {
  for (const value of args) {
    const place = places.get(addressOf(value));
    if (place !== undefined) return place;
  }
  // An event or a number does not tell its device; a file with one kind of device does.
  return seen.opened.size === 1 ? [...seen.opened][0]! : "library";
}

function succeeded(result: unknown, fails: Row["fails"]): boolean {
  if (fails === "code") return result === 0;
  if (fails === "errno") return result !== null && result !== -1;
  return fails === "negative" ? Number(result) >= 0 : true;
}

function placeOfCall(name: string, args: readonly unknown[]): Place {
  return name === "ibv_open_device" ? placeOfDevice(args[0] as Deno.PointerObject) : placeOf(args);
}

function note(name: string, place: Place, result: unknown, counts: boolean): void {
  if (!succeeded(result, rows.get(name)?.fails)) return;
  if (name === "ibv_open_device") seen.opened.add(place);
  const address = addressOf(result);
  if (address !== 0n) places.set(address, place);
  if (!counts) return;
  if (!seen.called.has(name)) seen.called.set(name, new Set());
  seen.called.get(name)!.add(place);
}

/** Whether a call that succeeds tells anything new. Finding out where it comes from takes long. */
function mayCount(name: string, place: Place): boolean {
  return !seen.called.get(name)?.has(place) && isFromClasses();
}

/** A test that calls a verb itself shows nothing about the classes. */
function isFromClasses(): boolean {
  return new Error().stack!.includes(`${project}types/`);
}

function traced(name: string, call: AnyFunction): AnyFunction {
  return (...args) => {
    const place = placeOfCall(name, args);
    const counts = mayCount(name, place);
    const result = call(...args);
    note(name, place, result, counts);
    return result;
  };
}

function tracedOffLoop(name: string, call: AnyFunction): AnyFunction {
  return async (...args) => {
    const place = placeOfCall(name, args);
    const counts = mayCount(name, place);
    const outcome = await call(...args);
    note(name, place, outcome.value, counts);
    return outcome;
  };
}

/** Verbs are bound when they are first read, several at once: each is wrapped as soon as it is bound. */
function wrap(functions: object, wrapper: (name: string, call: AnyFunction) => AnyFunction): void {
  const wrapped = new Set<string>();
  const wrapBound = (): void => {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(functions))) {
      if (value === undefined || wrapped.has(name)) continue;
      wrapped.add(name);
      Object.defineProperty(functions, name, { value: wrapper(name, value) });
    }
  };
  for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(functions))) {
    if (get === undefined) continue;
    Object.defineProperty(functions, name, {
      get: () => {
        get();
        wrapBound();
        return (functions as Record<string, unknown>)[name];
      },
    });
  }
}

/** The test file that registers a test: functions in other files may do it for the file. */
function registrant(): string {
  const frames = new Error().stack!.matchAll(/file:\/\/[^\s:()]+_test\.ts/g);
  return [...frames].at(-1)?.[0] ?? Deno.mainModule;
}

function tracedTest(body: AnyFunction): AnyFunction {
  const file = registrant();
  return (...args) => {
    seen = seenIn(file);
    return body(...args);
  };
}

function withTrace(argument: unknown): unknown {
  if (typeof argument === "function") return tracedTest(argument as AnyFunction);
  if (typeof argument !== "object" || argument === null || !("fn" in argument)) return argument;
  return { ...argument, fn: tracedTest(argument.fn as AnyFunction) };
}

const register: AnyFunction = Deno.test;
const traceTest = (...args: unknown[]): unknown => register(...args.map(withTrace));
Object.assign(Deno, { test: Object.assign(traceTest, register) });
wrap(verbs(), traced);
wrap(nonblocking(), tracedOffLoop);

addEventListener("unload", () => {
  const mode = Deno.env.get("IBVERBS_THUNKS") ?? "auto";
  // Guests share the tests of a file.
  const share = Deno.args[0]?.replaceAll("/", "of") ?? "all";
  Deno.mkdirSync(TRACES, { recursive: true });
  for (const [file, { called }] of files) {
    const calls = Object.fromEntries([...called].map(([name, found]) => [name, [...found]]));
    const trace: Trace = { file, calls };
    const name = `${file.replaceAll(/[^a-z0-9]+/gi, "_")}-${mode}-${share}.json`;
    Deno.writeTextFileSync(`${TRACES}/${name}`, JSON.stringify(trace));
  }
});
