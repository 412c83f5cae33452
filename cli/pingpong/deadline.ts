/**
 * Signals that abort when something takes too long.
 *
 * @module
 */

/**
 * Aborts its signal when nothing happens for a number of seconds: from the beginning, or from the last
 * {@linkcode Deadline.extend}. One timer serves any number of waits.
 */
export class Deadline implements Disposable {
  readonly #controller: AbortController = new AbortController();
  readonly #error: () => Error;
  readonly #milliseconds: number;
  #start: number = performance.now();
  #timer: ReturnType<typeof setTimeout>;

  /** Starts the time. `what` begins the error message: "Nobody answered" becomes "Nobody answered within 10 s". */
  constructor(seconds: number, what: string | (() => string)) {
    this.#error = () =>
      new Error(`${typeof what === "string" ? what : what()} within ${seconds} s`);
    this.#milliseconds = seconds * 1000;
    this.#timer = setTimeout(() => this.#check(), this.#milliseconds);
  }

  /** The signal. Its reason is the error. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time again. */
  extend(): void {
    this.#start = performance.now();
  }

  #check(): void {
    const left = this.#start + this.#milliseconds - performance.now();
    if (left > 0) this.#timer = setTimeout(() => this.#check(), left);
    else this.#controller.abort(this.#error());
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
