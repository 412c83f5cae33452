/**
 * Stands in for @std/assert where JSR cannot be reached: an adapter over `node:assert`.
 *
 * What differs between tools/std and the real packages; tests must not depend on it:
 * - There are only the functions that this project uses, with the parameters that it uses.
 * - The wording of messages is that of `node:assert`, and `AssertionError` is its class.
 * - A class that is no error class is checked by `assertThrows()` and `assertRejects()`, which the
 *   real ones ignore.
 * - A method that is a spy already can be spied on, and `restore()` can be called twice.
 */

import nodeAssert, { AssertionError } from "node:assert/strict";

export { AssertionError };

// deno-lint-ignore no-explicit-any
type Class<T> = abstract new (...args: any[]) => T;
type Falsy = false | 0 | 0n | "" | null | undefined;

export function assert(value: unknown, message = ""): asserts value {
  if (!value) fail(message);
}

export function assertFalse(value: unknown, message = ""): asserts value is Falsy {
  if (value) fail(message);
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

export function assertGreater<T>(actual: T, expected: T, message?: string): void {
  if (!(actual > expected)) fail(`${message ?? ""} Expected ${actual} > ${expected}`);
}

export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual >= expected)) fail(`${message ?? ""} Expected ${actual} >= ${expected}`);
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
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime());
  if (seen.get(a) === b) return true;
  if (prototypeOf(a) !== prototypeOf(b)) return false;
  const inner: Compare = (c, d) => equal(c, d, seen);
  if (a instanceof WeakRef) return inner(a.deref(), (b as WeakRef<WeakKey>).deref());
  for (const type of [WeakMap, WeakSet]) {
    if (a instanceof type) throw new TypeError(`Cannot compare ${type.name} instances`);
  }
  if (isText(a)) return String(a) === String(b);
  const [bytes, others] = [elementsOf(a), elementsOf(b)];
  if (bytes && others) return bytes.length === others.length && bytes.every(isIn(others));
  if (Object.keys(a).length !== Object.keys(b).length) return false;
  seen.set(a, b);
  return isKeyed(a) ? equalEntries(a, b as typeof a, inner) : equalProperties(a, b, inner);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Objects without a prototype count as plain ones. */
function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

/** Whether the text of an object tells all of it. */
function isText(value: object): boolean {
  return [RegExp, URL, URLSearchParams, Intl.Locale].some(({ prototype }) =>
    Object.getPrototypeOf(value) === prototype
  );
}

type Elements = ArrayLike<unknown> & {
  every(check: (part: unknown, i: number) => boolean): boolean;
};

/** The elements of a typed array, the bytes of a buffer. */
function elementsOf(value: object): Elements | undefined {
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return new Uint8Array(value);
  }
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? value as never : undefined;
}

function isIn(others: Elements): (part: unknown, i: number) => boolean {
  return (part, i) => part === others[i] || Object.is(part, others[i]);
}

type Keyed = Set<unknown> | Map<unknown, unknown>;

function isKeyed(value: object): value is Keyed {
  return value instanceof Set || value instanceof Map;
}

/** Each entry of one has an equal entry in the other one. */
function equalEntries(a: Keyed, b: Keyed, inner: Compare): boolean {
  if (a.size !== b.size) return false;
  const others = [...b.entries()];
  const valueOf = (key: unknown): unknown => b instanceof Map ? b.get(key) : key;
  return [...a.entries()].every(([key, value]) =>
    !isObject(key)
      ? b.has(key) && inner(value, valueOf(key))
      : others.some(([k, v]) => inner(key, k) && inner(value, v))
  );
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
