/**
 * The timers and clocks of the runtime as they are when the library is imported. Tests of programs replace them with
 * others, which stand still until the test moves them, but the library has to go on. Nothing else in the library uses
 * those of `globalThis`, which `deno task check` verifies.
 */

import { IS_DENO } from "../internal/runtime.ts";

const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, queueMicrotask } =
  globalThis;
const { performance } = globalThis;
const { now } = performance;
const { refTimer, unrefTimer } = IS_DENO ? Deno : {} as typeof Deno;

/** The identity of a timer. */
export type Timer = ReturnType<typeof globalThis.setTimeout>;

/** Clocks, which tests of the library stop. */
export const clock: {
  /**
   * The system's clock in whole milliseconds. `clock.precise` costs a microsecond on some hosts and 40 in an
   * emulator, more than what it would measure.
   */
  now: () => number;
  /** `performance.now()` */
  precise: () => number;
} = { now: Date.now, precise: () => now.call(performance) };

/** Timers, each as the function of that name of `globalThis` or of Deno. */
export const timers: {
  readonly setTimeout: (call: () => void, ms: number) => Timer;
  readonly clearTimeout: (timer: Timer | undefined) => void;
  readonly setInterval: (call: () => void, ms: number) => Timer;
  readonly clearInterval: (timer: Timer | undefined) => void;
  readonly setImmediate: (call: () => void) => void;
  readonly queueMicrotask: (call: () => void) => void;
  readonly refTimer: (timer: Timer) => void;
  readonly unrefTimer: (timer: Timer) => void;
} = {
  setTimeout: (call, ms) => setTimeout(call, ms),
  clearTimeout: (timer) => clearTimeout(timer),
  setInterval: (call, ms) => setInterval(call, ms),
  clearInterval: (timer) => clearInterval(timer),
  setImmediate: (call) => void setImmediate(call),
  queueMicrotask: (call) => queueMicrotask(call),
  refTimer: (timer) => refTimer(timer),
  unrefTimer: (timer) => unrefTimer(timer),
};
