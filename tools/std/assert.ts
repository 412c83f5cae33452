/**
 * Stands in for @std/assert where JSR cannot be reached: an adapter over `node:assert`.
 *
 * What differs between tools/std and the real packages; tests must not depend on it:
 * - There are only the functions that this project uses, with the parameters that it uses.
 * - The wording of messages is that of `node:assert`, and `AssertionError` is its class.
 * - A class that is no error class is checked by `assertThrows()` and `assertRejects()`, which the
 *   real ones ignore.
 * - In typed arrays 0 and -0 differ. Entries of a map are found by equal keys, not by the same ones.
 * - A method that is a spy already can be spied on, and `restore()` can be called twice.
 */

import nodeAssert, { AssertionError } from "node:assert/strict";
import { isDeepStrictEqual, types } from "node:util";

export { AssertionError };

// deno-lint-ignore no-explicit-any
type Class<T> = abstract new (...args: any[]) => T;

export function assert(value: unknown, message = ""): asserts value {
  if (!value) fail(message);
}

export function fail(message = "Failed assertion"): never {
  throw new AssertionError({ message });
}

export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  if (equal(actual, expected, new Map())) return;
  explained(message, () => nodeAssert.deepStrictEqual(actual, expected));
  // node:assert looks at less.
  const [a, b] = [actual, expected].map((value) => Deno.inspect(value, INSPECT));
  fail(`${message ?? ""} Expected ${a} to equal ${b}`);
}

export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  if (!equal(actual, expected, new Map())) return;
  fail(`${message ?? ""} Expected a value that does not equal ${Deno.inspect(expected, INSPECT)}`);
}

export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  explained(message, () => nodeAssert.strictEqual(actual, expected));
}

/** Fails unless the value is an instance of the class. */
// deno-lint-ignore no-explicit-any
export function assertInstanceOf<T extends Class<any>>(
  value: unknown,
  expected: T,
  message?: string,
): asserts value is InstanceType<T> {
  if (!(value instanceof expected)) {
    fail(`${message ?? ""} Expected ${Deno.inspect(value)} to be of class ${expected.name}`);
  }
}

export function assertGreater<T>(actual: T, expected: T, message?: string): void {
  if (!(actual > expected)) fail(`${message ?? ""} Expected ${actual} > ${expected}`);
}

export function assertStringIncludes(actual: string, part: string, message?: string): void {
  if (!actual.includes(part)) {
    fail(`${message ?? ""} Expected ${Deno.inspect(actual)} to include ${Deno.inspect(part)}`);
  }
}

export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  explained(message, () => nodeAssert.match(actual, expected));
}

/** Fails unless `fn` throws; returns what it throws. */
export function assertThrows(fn: () => unknown, message?: string): unknown;
/** Fails unless `fn` throws such an error; returns it. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: Class<E>,
  part?: string,
  message?: string,
): E;
export function assertThrows(fn: () => unknown, ...expected: unknown[]): unknown {
  try {
    fn();
  } catch (error) {
    return checked(error, expected);
  }
  fail(`${label(expected)} Expected the function to throw`);
}

/** Fails unless the promise of `fn` rejects; resolves to the reason. */
export function assertRejects(fn: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
/** Fails unless the promise of `fn` rejects with such an error; resolves to it. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: Class<E>,
  part?: string,
  message?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  ...expected: unknown[]
): Promise<unknown> {
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch {
    fail(`${label(expected)} Expected the function to reject, it throws`);
  }
  if (typeof promise?.then !== "function") {
    fail(`${label(expected)} Expected the function to return a promise`);
  }
  try {
    await promise;
  } catch (error) {
    return checked(error, expected);
  }
  fail(`${label(expected)} Expected the function to reject`);
}

function checked(error: unknown, expected: unknown[]): unknown {
  const [errorClass, part = ""] = expected as [Class<Error>?, string?];
  if (typeof errorClass !== "function") return error;
  assertInstanceOf(error, errorClass, label(expected));
  assertStringIncludes(error.message, part, label(expected));
  return error;
}

function label(expected: unknown[]): string {
  return String(expected[typeof expected[0] === "function" ? 2 : 0] ?? "");
}

function explained(message: string | undefined, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (message !== undefined) (error as Error).message = `${message}: ${(error as Error).message}`;
    throw error;
  }
}

const INSPECT = { getters: true, showHidden: true } as const;

type Compare = (a: unknown, b: unknown) => boolean;

/** Deep equality. `seen` has the pairs that are being compared: objects may hold themselves. */
function equal(a: unknown, b: unknown, seen: Map<object, object>): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (seen.get(a) === b) return true;
  if (prototypeOf(a) !== prototypeOf(b)) return false;
  if (COMPARED_BY_NODE.some((test) => test(a))) return isDeepStrictEqual(a, b);
  if (Object.keys(a).length !== Object.keys(b).length) return false;
  seen.set(a, b);
  const inner: Compare = (c, d) => equal(c, d, seen);
  const isKeyed = a instanceof Set || a instanceof Map;
  return isKeyed ? equalEntries(a, b as typeof a, inner) : equalProperties(a, b, inner);
}

const COMPARED_BY_NODE = [ArrayBuffer.isView, types.isAnyArrayBuffer, types.isDate, types.isRegExp];

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Objects without a prototype count as plain ones. */
function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

type Keyed = Set<unknown> | Map<unknown, unknown>;

/** Each entry of one has an equal entry in the other one. */
function equalEntries(a: Keyed, b: Keyed, inner: Compare): boolean {
  const others = [...b.entries()];
  return a.size === b.size &&
    [...a.entries()].every((entry) => others.some((other) => inner(entry, other)));
}

/** Plain objects and arrays are as their enumerable properties say, others as all that they have and inherit. */
function equalProperties(a: object, b: object, inner: Compare): boolean {
  const isPlain = [Object.prototype, Array.prototype].includes(prototypeOf(a) as never);
  const keys = isPlain ? Reflect.ownKeys({ ...a, ...b }) : new Set([...keysOf(a), ...keysOf(b)]);
  return [...keys].every((key) =>
    (key in a) === (key in b) && inner(Reflect.get(a, key), Reflect.get(b, key))
  );
}

function keysOf(value: object): PropertyKey[] {
  if (value === Object.prototype || value === Array.prototype) return [];
  const above = Object.getPrototypeOf(value);
  return [...Reflect.ownKeys(value), ...above === null ? [] : keysOf(above)];
}
