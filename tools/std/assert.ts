/**
 * Stands in for @std/assert where JSR cannot be reached: an adapter over `node:assert`.
 *
 * What differs between tools/std and the real packages; tests must not depend on it:
 * - There are only the functions that this project uses, with the parameters that it uses.
 * - The wording of messages is that of `node:assert`, and `AssertionError` is its class.
 * - `assertEquals()` takes an array with a hole for one with `undefined`, and objects of two classes
 *   for different even if all their properties are equal.
 * - `parseArgs()` is `parseArgs()` of `node:util`: an option without a declaration takes no value
 *   except after "=", a flag never takes the word after it, and only text comes out, no numbers.
 *
 * @module
 */

import nodeAssert, { AssertionError } from "node:assert/strict";

export { AssertionError };

// deno-lint-ignore no-explicit-any
type Class<T> = abstract new (...args: any[]) => T;
type Falsy = false | 0 | 0n | "" | null | undefined;

/** Fails unless the value is truthy. */
export function assert(value: unknown, message = ""): asserts value {
  if (!value) fail(message);
}

/** Fails unless the value is falsy. */
export function assertFalse(value: unknown, message = ""): asserts value is Falsy {
  if (value) fail(message);
}

/** Fails always. */
export function fail(message = "Failed assertion"): never {
  throw new AssertionError({ message });
}

/** Fails unless the values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  const seen = new Map<object, object>();
  const both = [comparable(actual, seen), comparable(expected, seen)];
  explained(message, () => nodeAssert.deepStrictEqual(both[0], both[1]));
}

/** Fails if the values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  const seen = new Map<object, object>();
  const both = [comparable(actual, seen), comparable(expected, seen)];
  explained(message, () => nodeAssert.notDeepStrictEqual(both[0], both[1]));
}

/** Fails unless `Object.is(actual, expected)`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  explained(message, () => nodeAssert.strictEqual(actual, expected));
}

/** Fails if `Object.is(actual, expected)`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, message?: string): void {
  explained(message, () => nodeAssert.notStrictEqual(actual, expected));
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

/** Fails unless `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, message?: string): void {
  if (!(actual > expected)) fail(`${message ?? ""} Expected ${actual} > ${expected}`);
}

/** Fails unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual >= expected)) fail(`${message ?? ""} Expected ${actual} >= ${expected}`);
}

/** Fails unless the text contains the part. */
export function assertStringIncludes(actual: string, part: string, message?: string): void {
  if (!actual.includes(part)) {
    fail(`${message ?? ""} Expected ${Deno.inspect(actual)} to include ${Deno.inspect(part)}`);
  }
}

/** Fails unless the expression matches the text. */
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

const COMPARED_BY_NODE = [Date, RegExp, Error, Promise, ArrayBuffer, SharedArrayBuffer];

/**
 * What `node:assert` compares as @std/assert does: 0 and -0 are equal, so are objects with and
 * without a prototype, and objects of a class are as their getters say, which `node:assert` would
 * leave out.
 */
function comparable(value: unknown, seen: Map<object, object>): unknown {
  if (value === 0) return 0;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (COMPARED_BY_NODE.some((type) => value instanceof type)) return value;
  const inner = (part: unknown): unknown => comparable(part, seen);
  if (seen.has(value)) return seen.get(value);
  if (value instanceof Set) return new Set([...value].map(inner));
  if (value instanceof Map) return new Map([...value].map(([key, of]) => [inner(key), inner(of)]));
  const prototype = Object.getPrototypeOf(value) ?? Object.prototype;
  const copy: object = Array.isArray(value) ? [] : Object.create(prototype);
  seen.set(value, copy);
  for (const key of [...Object.keys(value), ...gettersOf(prototype)]) {
    const part = inner(Reflect.get(value, key));
    Object.defineProperty(copy, key, { value: part, enumerable: true });
  }
  return copy;
}

function gettersOf(prototype: object): string[] {
  if (prototype === Object.prototype || prototype === Array.prototype) return [];
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  const names = own.filter(([, { get }]) => get !== undefined).map(([name]) => name);
  const above = Object.getPrototypeOf(prototype);
  return above === null ? names : [...names, ...gettersOf(above)];
}
