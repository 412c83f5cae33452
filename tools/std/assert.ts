/**
 * The part of @std/assert this project uses, for machines that cannot reach
 * JSR. What passes and what throws is as in the real package; the wording of
 * the messages is not.
 *
 * @module
 */

import { AssertionError as NodeAssertionError } from "node:assert/strict";
import { inspect, stripVTControlCharacters } from "node:util";
import { equal } from "./equal.ts";

export { equal };

// deno-lint-ignore no-explicit-any
type AnyClass<T> = abstract new (...args: any[]) => T;
type Falsy = false | 0 | 0n | "" | null | undefined;

/** What every failed assertion throws. */
export class AssertionError extends Error {
  /** As the constructor of `Error`. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

/** Fails unless `expr` is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Fails unless `expr` is falsy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is Falsy {
  if (expr) throw new AssertionError(msg);
}

/** Fails unless the values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  raise(`Values are not equal\n${difference(actual, expected)}`, msg);
}

/** Fails if the values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) return;
  raise(`Expected a value other than ${inspect(expected)}`, msg);
}

/** Fails unless `Object.is(actual, expected)`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  raise(`Values are not strictly equal\n${difference(actual, expected)}`, msg);
}

/** Fails if `Object.is(actual, expected)`. */
export function assertNotStrictEquals<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  if (!Object.is(actual, expected)) return;
  raise(`Expected a value other than ${inspect(expected)}`, msg);
}

/** Fails if `actual` is null or undefined. */
export function assertExists<T>(
  actual: T,
  msg?: string,
): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) {
    raise(`Expected a value, got ${actual}`, msg);
  }
}

/** Fails unless `actual` is an instance of the class. */
// deno-lint-ignore no-explicit-any
export function assertInstanceOf<T extends AnyClass<any>>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T> {
  if (actual instanceof expectedType) return;
  raise(
    `Expected an instance of ${expectedType.name}, got ${inspect(actual)}`,
    msg,
  );
}

/** Fails unless `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) raiseOrder(actual, ">", expected, msg);
}

/** Fails unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  if (!(actual >= expected)) raiseOrder(actual, ">=", expected, msg);
}

/** Fails unless `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) raiseOrder(actual, "<", expected, msg);
}

/** Fails unless `actual <= expected`. */
export function assertLessOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  if (!(actual <= expected)) raiseOrder(actual, "<=", expected, msg);
}

/** Fails unless the numbers differ by at most `tolerance`, by default a 10⁻⁷th. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance: number = Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  if (Math.abs(expected - actual) <= tolerance) return;
  raise(`Expected ${expected} within ${tolerance}, got ${actual}`, msg);
}

/** Fails unless `actual` contains `expected`. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  msg?: string,
): void {
  if (actual.includes(expected)) return;
  raise(`Expected ${inspect(actual)} to include ${inspect(expected)}`, msg);
}

/** Fails unless the expression matches `actual`. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void {
  if (expected.test(actual)) return;
  raise(`Expected ${inspect(actual)} to match ${expected}`, msg);
}

/** Fails unless each of `expected` is deeply equal to some element of `actual`. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  msg?: string,
): void {
  const elements = Array.from(actual);
  const missing = Array.from(expected)
    .filter((wanted) => !elements.some((element) => equal(wanted, element)));
  if (missing.length === 0) return;
  raise(`Expected ${inspect(actual)} to include ${inspect(missing)}`, msg);
}

/** Fails unless `error` is an error of the class whose message fits. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  ErrorClass?: AnyClass<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) {
    raise(`Expected an Error, got ${inspect(error)}`, msg);
  }
  if (ErrorClass && !(error instanceof ErrorClass)) {
    raise(
      `Expected a ${ErrorClass.name}, got a ${error.constructor?.name}`,
      msg,
    );
  }
  if (msgMatches && !fits(error.message, msgMatches)) {
    raise(
      `Expected ${inspect(error.message)} to fit ${inspect(msgMatches)}`,
      msg,
    );
  }
}

/** Fails unless `fn` throws; returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Fails unless `fn` throws such an error; returns it. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: AnyClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(fn: () => unknown, ...args: unknown[]): unknown {
  const expected = expectation(args);
  try {
    fn();
  } catch (error) {
    return checked(error, expected);
  }
  raise("Expected function to throw", expected.msg);
}

/** Fails unless the promise of `fn` rejects; resolves to the reason. */
export function assertRejects(
  fn: () => PromiseLike<unknown>,
  msg?: string,
): Promise<unknown>;
/** Fails unless the promise of `fn` rejects with such an error; resolves to it. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: AnyClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  ...args: unknown[]
): Promise<unknown> {
  const expected = expectation(args);
  const promise = started(fn, expected);
  try {
    await promise;
  } catch (error) {
    return checked(error, expected);
  }
  raise("Expected function to reject", expected.msg);
}

/** Fails. */
export function fail(msg?: string): never {
  raise("Failed assertion", msg);
}

/** Fails where the code was not meant to come. */
export function unreachable(msg?: string): never {
  raise("Unreachable", msg);
}

interface Expectation {
  ErrorClass?: AnyClass<Error> | undefined;
  msgIncludes?: string | undefined;
  msg?: string | undefined;
}

/** Sorts out the two forms that `assertThrows()` and `assertRejects()` share. */
function expectation(args: unknown[]): Expectation {
  if (typeof args[0] === "string") return { msg: args[0] };
  const [ErrorClass, msgIncludes, msg] = args;
  return { ErrorClass, msgIncludes, msg } as Expectation;
}

function checked(error: unknown, expected: Expectation): unknown {
  const { ErrorClass, msgIncludes, msg } = expected;
  if (ErrorClass) assertIsError(error, ErrorClass, msgIncludes, msg);
  return error;
}

/** A throw before there is a promise is no rejection. */
function started(
  fn: () => PromiseLike<unknown>,
  expected: Expectation,
): PromiseLike<unknown> {
  let result: PromiseLike<unknown> | undefined;
  try {
    result = fn();
  } catch {
    // Falls through to the same failure as a function that returns no promise.
  }
  if (typeof result === "object" && typeof result?.then === "function") {
    return result;
  }
  raise("Expected function to return a promise that rejects", expected.msg);
}

function fits(message: string, wanted: string | RegExp): boolean {
  const plain = stripVTControlCharacters(message);
  return typeof wanted === "string"
    ? plain.includes(stripVTControlCharacters(wanted))
    : wanted.test(plain);
}

/** Only the picture of the difference is Node's; the verdict is ours. */
function difference(actual: unknown, expected: unknown): string {
  const operator = "deepStrictEqual";
  return new NodeAssertionError({ actual, expected, operator }).message;
}

function raiseOrder(
  actual: unknown,
  order: string,
  expected: unknown,
  msg?: string,
): never {
  raise(`Expected ${inspect(actual)} ${order} ${inspect(expected)}`, msg);
}

function raise(reason: string, msg?: string): never {
  throw new AssertionError(msg ? `${reason}: ${msg}` : reason);
}
