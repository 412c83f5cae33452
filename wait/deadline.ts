import { integer, snapshot } from "../internal/checks.ts";
import { whenAborted } from "./abort.ts";
import { clock, type Timer, timers } from "./clock.ts";

/**
 * A signal that aborts when another one does, or when a time is over: from the beginning, or from the last
 * `Deadline.extend`. One timer serves any number of waits. Disposing it ends the time.
 */
export class Deadline implements Disposable {
  readonly #abort: AbortController = new AbortController();
  readonly #over: AbortController = new AbortController();
  readonly #ms: number;
  readonly #late: () => Error;
  #start: number = clock.precise();
  #timer: Timer;

  /** `late` makes the error after `ms` milliseconds. */
  constructor(ms: number, late: () => Error, signals: readonly (AbortSignal | undefined)[] = []) {
    this.#ms = ms;
    this.#late = late;
    for (const signal of signals) {
      if (signal === undefined) continue;
      const follow = (): void => this.#abort.abort(signal.reason);
      whenAborted(signal, follow, { signal: this.#over.signal });
    }
    // Last: an own method of a signal may have thrown.
    this.#timer = timers.setTimeout(() => this.#check(), ms);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  extend(): void {
    this.#start = clock.precise();
  }

  #check(): void {
    const left = this.#start + this.#ms - clock.precise();
    if (left > 0) this.#timer = timers.setTimeout(() => this.#check(), left);
    else this.#abort.abort(this.#late());
  }

  [Symbol.dispose](): void {
    timers.clearTimeout(this.#timer);
    this.#over.abort();
  }
}

/**
 * Options of calls that block the thread.
 *
 * @category Objects and lifetimes
 */
export interface TimeoutOptions {
  /**
   * The longest wait in milliseconds, from 0 to 2^31 - 1. 0 looks once and does not wait. The default is `Infinity`,
   * which is no limit.
   */
  readonly timeout?: number | undefined;
}

/** Reads the time limit of options: see `checkTimeout`. */
export function timeoutOf(options: TimeoutOptions = {}): number {
  return checkTimeout(snapshot(options, "options", ["timeout"]).timeout);
}

/**
 * Checks a time limit.
 *
 * @throws {TypeError} If it is neither an integer nor `Infinity`.
 * @throws {RangeError} If it is out of range.
 */
export function checkTimeout(timeout: number = Infinity): number {
  return timeout === Infinity ? timeout : integer(timeout, "timeout", 0, 0x7fff_ffff);
}

/** The end of a wait that begins now, in the time of `clock.precise`. */
export function endOf(timeout: number): number {
  return timeout === Infinity ? timeout : clock.precise() + timeout;
}
