/**
 * The part of @std/testing/mock this project uses, for machines that cannot
 * reach JSR.
 *
 * @module
 */

import { assertEquals, AssertionError, assertIsError } from "./assert.ts";

// deno-lint-ignore no-explicit-any
type Any = any;
type Fn<Self, Args extends unknown[], Return> = (
  this: Self,
  ...args: Args
) => Return;
type ArgsOf<T> = T extends (...args: infer Args) => unknown ? Args : unknown[];
type ReturnOf<T> = T extends (...args: Any[]) => infer Return ? Return
  : unknown;

/** A spy was misused. */
export class MockError extends Error {
  /** As the constructor of `Error`. */
  constructor(message: string) {
    super(message);
    this.name = "MockError";
  }
}

/** One call of a spy. */
export interface SpyCall<
  Self = Any,
  Args extends unknown[] = Any[],
  Return = Any,
> {
  /** What it was called with. */
  args: Args;
  /** What it returned. */
  returned?: Return;
  /** What it threw. */
  error?: Error;
  /** What it was called on. */
  self?: Self;
}

/** A function that records its calls. */
export interface Spy<Self = Any, Args extends unknown[] = Any[], Return = Any> {
  (this: Self, ...args: Args): Return;
  /** The function spied on. */
  original: Fn<Self, Args, Return>;
  /** The calls so far. */
  calls: SpyCall<Self, Args, Return>[];
  /** Whether the method is back in its place. */
  restored: boolean;
  /** Puts the method back in its place. */
  restore(): void;
}

/** A method that records its calls until disposed of. */
export interface MethodSpy<
  Self = Any,
  Args extends unknown[] = Any[],
  Return = Any,
> extends Spy<Self, Args, Return>, Disposable {}

/** A method replaced by another until disposed of. */
export interface Stub<
  Self = Any,
  Args extends unknown[] = Any[],
  Return = Any,
> extends MethodSpy<Self, Args, Return> {
  /** The function called instead. */
  fake: Fn<Self, Args, Return>;
}

/** What `assertSpyCall()` looks for. */
export interface ExpectedSpyCall<
  Self = Any,
  Args extends unknown[] = Any[],
  Return = Any,
> {
  /** Arguments, all of them. */
  args?: [...Args, ...unknown[]];
  /** What it was called on. */
  self?: Self;
  /** What it returned. */
  returned?: Return;
  /** What it threw. */
  error?: { Class?: new (...args: Any[]) => Error; msgIncludes?: string };
}

/** Makes a function that does nothing but record its calls. */
export function spy<
  Self = Any,
  Args extends unknown[] = Any[],
  Return = undefined,
>(): Spy<Self, Args, Return>;
/** Wraps a function to record its calls. */
export function spy<Self, Args extends unknown[], Return>(
  func: Fn<Self, Args, Return>,
): Spy<Self, Args, Return>;
/** Replaces a method by one that does the same and records its calls. */
export function spy<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
): MethodSpy<Self, ArgsOf<Self[Prop]>, ReturnOf<Self[Prop]>>;
export function spy(target: Any = () => undefined, property?: string): Spy {
  if (property === undefined) return recording(target, target, irremovable);
  requireFunction(target[property]);
  return replaceMethod(target, property, target[property]);
}

/** Replaces a method, by default with one that does nothing. */
export function stub<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
  func?: Fn<Self, ArgsOf<Self[Prop]>, ReturnOf<Self[Prop]>>,
): Stub<Self, ArgsOf<Self[Prop]>, ReturnOf<Self[Prop]>> {
  const target: Any = self;
  if (target[property] !== undefined) requireFunction(target[property]);
  const fake: Any = func ?? (() => undefined);
  return Object.assign(replaceMethod(target, property, fake), { fake }) as Any;
}

/** Fails unless the spy was called so many times. */
export function assertSpyCalls<Self, Args extends unknown[], Return>(
  spy: Spy<Self, Args, Return>,
  expectedCalls: number,
): void {
  assertEquals(spy.calls.length, expectedCalls, "calls of the spy");
}

/** Fails unless that call of the spy was as expected. */
export function assertSpyCall<Self, Args extends unknown[], Return>(
  spy: Spy<Self, Args, Return>,
  callIndex: number,
  expected: ExpectedSpyCall<Self, Args, Return> = {},
): void {
  const call = spy.calls[callIndex];
  if (!call) {
    throw new AssertionError(`Spy was not called ${callIndex + 1} times`);
  }
  if (expected.args) assertEquals<unknown>(call.args, expected.args);
  if ("self" in expected) assertEquals<unknown>(call.self, expected.self);
  if ("returned" in expected) assertReturned(call, expected);
  if ("error" in expected) {
    assertIsError(call.error, expected.error?.Class, expected.error?.msgIncludes);
  }
}

function assertReturned(call: SpyCall, expected: ExpectedSpyCall): void {
  if ("error" in expected) {
    throw new TypeError("Cannot expect a call both to return and to throw");
  }
  if (call.error) {
    throw new AssertionError("Spy call threw instead of returning");
  }
  assertEquals(call.returned, expected.returned);
}

type AnyFn = Fn<Any, Any[], Any>;

const spies = new WeakSet<AnyFn>();

function requireFunction(value: unknown): void {
  if (typeof value !== "function") {
    throw new MockError("Cannot spy: property is not a method");
  }
}

function irremovable(): never {
  throw new MockError("Cannot restore a function that replaced no method");
}

/** Makes `act` a recorder; `original` is only kept for the user to see. */
function recording(original: AnyFn, act: AnyFn, restore: () => void): Spy {
  const calls: SpyCall[] = [];
  function recorder(this: unknown, ...args: unknown[]): unknown {
    const call: SpyCall = { args };
    if (this) call.self = this;
    try {
      return call.returned = act.apply(this, args);
    } catch (error) {
      call.error = error as Error;
      throw error;
    } finally {
      calls.push(call);
    }
  }
  spies.add(recorder);
  return Object.assign(recorder, { original, calls, restored: false, restore });
}

function replaceMethod(
  target: Any,
  property: PropertyKey,
  act: AnyFn,
): MethodSpy {
  if (spies.has(target[property])) {
    throw new MockError("Cannot spy: somebody is spying on the method already");
  }
  const before = Object.getOwnPropertyDescriptor(target, property);
  if (before?.configurable === false) {
    throw new MockError("Cannot spy: method is not configurable");
  }
  function restore(): void {
    if (method.restored) {
      throw new MockError("Cannot restore: restored already");
    }
    if (before) Object.defineProperty(target, property, before);
    else delete target[property];
    method.restored = true;
  }
  const recorder = recording(target[property], act, restore);
  const method = Object.assign(recorder, { [Symbol.dispose]: restore });
  const enumerable = before?.enumerable ?? false;
  const writable = before?.writable ?? false;
  const value = method;
  Object.defineProperty(target, property, {
    configurable: true,
    enumerable,
    writable,
    value,
  });
  return method;
}
