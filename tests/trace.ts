// Notes the verbs that classes call with success while a test file runs, and on which device. Not part of ordinary runs:
// `deno test --preload=tests/trace.ts`, or `deno task coverage:verbs -- --trace`.

import { bindings, type Row } from "../tools/coverage/bindings.ts";
import { type Place, type Trace, TRACES } from "../tools/coverage/tested.ts";
import { structs } from "../ffi/layout.ts";
import { nonblocking, verbs } from "../ffi/library.ts";

// deno-lint-ignore no-explicit-any
type AnyFunction = (...args: any[]) => any;

const rows = new Map((await bindings()).map(({ verb, row }) => [verb, row]));
const project = new URL("../", import.meta.url).href;
const called = new Map<string, Set<Place>>();
/** The device that an object belongs to, by the object's address. */
const places = new Map<bigint, Place>();
const opened = new Set<Place>();

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
  return opened.size === 1 ? [...opened][0]! : "library";
}

function succeeded(result: unknown, fails: Row["fails"]): boolean {
  if (fails === "code") return result === 0;
  if (fails === "errno") return result !== null && result !== -1;
  return fails === "negative" ? Number(result) >= 0 : true;
}

function note(name: string, args: readonly unknown[], result: unknown, counts: boolean): void {
  if (!succeeded(result, rows.get(name)?.fails)) return;
  const place = name === "ibv_open_device"
    ? placeOfDevice(args[0] as Deno.PointerObject)
    : placeOf(args);
  if (name === "ibv_open_device") opened.add(place);
  const address = addressOf(result);
  if (address !== 0n) places.set(address, place);
  if (!counts) return;
  if (!called.has(name)) called.set(name, new Set());
  called.get(name)!.add(place);
}

/** A test that calls a verb itself shows nothing about the classes. */
function isFromClasses(): boolean {
  return new Error().stack!.includes(`${project}types/`);
}

function traced(name: string, call: AnyFunction): AnyFunction {
  return (...args) => {
    const counts = isFromClasses();
    const result = call(...args);
    note(name, args, result, counts);
    return result;
  };
}

function tracedOffLoop(name: string, call: AnyFunction): AnyFunction {
  return async (...args) => {
    const counts = isFromClasses();
    const outcome = await call(...args);
    note(name, args, outcome.value, counts);
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

wrap(verbs(), traced);
wrap(nonblocking(), tracedOffLoop);

addEventListener("unload", () => {
  const file = Deno.mainModule.replace(project, "");
  const calls = Object.fromEntries([...called].map(([name, found]) => [name, [...found]]));
  const trace: Trace = { file, calls };
  const mode = Deno.env.get("IBVERBS_THUNKS") ?? "auto";
  const name = `${file.replaceAll(/[^a-z0-9]+/gi, "_")}-${mode}.json`;
  Deno.mkdirSync(TRACES, { recursive: true });
  Deno.writeTextFileSync(`${TRACES}/${name}`, JSON.stringify(trace));
});
