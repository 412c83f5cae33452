/** Aborts what waits for its signal after that many seconds, unless it is disposed before. */
export class Deadline implements Disposable {
  readonly #controller: AbortController = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;

  /** Starts at once; `what` reads "Nobody answered" and becomes the error. */
  constructor(seconds: number, what: string) {
    const error = new Error(`${what} within ${seconds} s`);
    this.#timer = setTimeout(() => this.#controller.abort(error), seconds * 1000);
  }

  /** Ends the waits. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
