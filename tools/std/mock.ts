/**
 * Stands in for @std/testing/mock where JSR cannot be reached: an adapter over `node:test`. What
 * differs is listed in assert.ts.
 */

import { type Mock, mock } from "node:test";
import { assertEquals } from "./assert.ts";

// deno-lint-ignore no-explicit-any
type Any = any;
type Fn<Self, Args extends unknown[], Return> = (this: Self, ...args: Args) => Return;
type ArgsOf<T> = T extends (...args: infer Args) => unknown ? Args : unknown[];
type ReturnOf<T> = T extends (...args: Any[]) => infer Return ? Return : unknown;

export interface SpyCall<Self = Any, Args extends unknown[] = Any[], Return = Any> {
  args: Args;
  returned?: Return;
  error?: Error;
  self?: Self;
}

/** A function that records its calls. */
export interface Spy<Self = Any, Args extends unknown[] = Any[], Return = Any> {
  (this: Self, ...args: Args): Return;
  calls: SpyCall<Self, Args, Return>[];
}

/** A method that records its calls, or another function in its place, until it is restored. */
export interface MethodSpy<Self = Any, Args extends unknown[] = Any[], Return = Any>
  extends Spy<Self, Args, Return>, Disposable {
  restore(): void;
}

export type { MethodSpy as Stub };

/** Wraps a function to record its calls. */
export function spy<Self, Args extends unknown[], Return>(
  func: Fn<Self, Args, Return>,
): Spy<Self, Args, Return>;
/** Replaces a method by one that does the same and records its calls. */
export function spy<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
): MethodSpy<Self, ArgsOf<Self[Prop]>, ReturnOf<Self[Prop]>>;
export function spy(target: Any, property?: string): Spy {
  return property === undefined ? recorder(target) : replace(target, property, target[property]);
}

/** Replaces a method, by default with one that does nothing. */
export function stub<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
  func: Fn<Self, ArgsOf<Self[Prop]>, ReturnOf<Self[Prop]>> = () => undefined as Any,
): MethodSpy<Self, ArgsOf<Self[Prop]>, ReturnOf<Self[Prop]>> {
  return replace(self, property, func);
}

/** Fails unless the spy was called so many times. */
export function assertSpyCalls<Self, Args extends unknown[], Return>(
  spy: Spy<Self, Args, Return>,
  expectedCalls: number,
): void {
  assertEquals(spy.calls.length, expectedCalls, "calls of the spy");
}

function replace(object: Any, property: PropertyKey, func: Any): Any {
  const before = Object.getOwnPropertyDescriptor(object, property);
  const restore = (): void => {
    if (before) Object.defineProperty(object, property, before);
    else delete object[property];
  };
  const value = Object.assign(recorder(func), { restore, [Symbol.dispose]: restore });
  Object.defineProperty(object, property, { configurable: true, writable: true, value });
  return value;
}

function recorder(func: Any): Any {
  const mocked: Mock<(...args: Any[]) => Any> = mock.fn(func);
  const calls = (): SpyCall[] =>
    mocked.mock.calls.map(({ arguments: args, result, error, this: self }) =>
      ({ args, returned: result, error, self }) as SpyCall
    );
  return Object.defineProperty(mocked, "calls", { get: calls });
}
