import { whenAborted } from "./abort.ts";
import { clock, type Timer, timers } from "./clock.ts";

/**
 * A signal that aborts when another one does, or when a time is over: from the beginning, or from the last
 * {@linkcode Deadline.extend}. One timer serves any number of waits. Disposing it ends the time.
 */
export class Deadline implements Disposable {
  readonly #abort: AbortController = new AbortController();
  readonly #over: AbortController = new AbortController();
  readonly #ms: number;
  readonly #late: () => Error;
  #start: number = clock.precise();
  #timer: Timer;

  /** `late` makes the error after so many milliseconds. */
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
