/**
 * Notes the verbs that classes call with success while a test file runs, and appends their names to a file at its end. It
 * is loaded before each test file: `deno test --preload=tools/coverage/trace.ts`.
 */

import type { AnyFunction } from "../../ffi/function_pointer.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import type { AnyRow } from "../../ffi/table/row.ts";
import { rows, type Verbs } from "../../ffi/verbs.ts";

const TYPES = new URL("../../types/", import.meta.url).href;
const called = new Set<string>();

type Functions = Record<string, AnyFunction>;

/** A test that calls a verb itself shows nothing about the classes. */
function isFromClasses(): boolean {
  return new Error().stack!.includes(TYPES);
}

function succeeded(name: string, result: unknown): boolean {
  const row: AnyRow = rows()[name as keyof Verbs];
  const fails = "fails" in row ? row.fails : "never";
  if (fails === "code") return result === 0;
  if (fails === "errno") return result !== null && result !== -1;
  return fails === "negative" ? Number(result) >= 0 : true;
}

/** Makes a function that calls another one, and reports what it returned. */
type Watcher = (name: string, call: AnyFunction, note: (value: unknown) => void) => AnyFunction;

const watched: Watcher = (name, call, note) => (...args) => {
  // Objects keep the functions that they had when they were made.
  if (called.has(name)) return call(...args);
  const value = call(...args);
  if (isFromClasses()) note(value);
  return value;
};

const watchedOffLoop: Watcher = (name, call, note) => async (...args) => {
  const isNoted = !called.has(name) && isFromClasses();
  const outcome = await call(...args);
  if (isNoted) note(outcome.value);
  return outcome;
};

/** Verbs are bound when they are first read. Each is watched until it has been called with success. */
function watch(functions: Functions, watcher: Watcher): void {
  const getters = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(functions));
  for (const [name, { get }] of Object.entries(getters)) {
    const bind = (): AnyFunction => {
      const call: AnyFunction = get!();
      const watching = watcher(name, call, (value) => {
        if (!succeeded(name, value)) return;
        called.add(name);
        // The function may have been replaced meanwhile.
        if (functions[name] === watching) Object.defineProperty(functions, name, { value: call });
      });
      Object.defineProperty(functions, name, { value: watching });
      return watching;
    };
    Object.defineProperty(functions, name, { configurable: true, enumerable: true, get: bind });
  }
}

watch(verbs() as unknown as Functions, watched);
watch(nonblocking() as unknown as Functions, watchedOffLoop);

addEventListener("unload", () => {
  const names = [...called].map((name) => `${name}\n`).join("");
  Deno.writeTextFileSync(Deno.env.get("IBVERBS_TRACE")!, names, { append: true });
});
