/** Waits that a signal or a time ends. */

/** Waits for a promise until the signal aborts. */
export async function orAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return await promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    if (signal.aborted) abort();
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A signal that aborts after some seconds: from the beginning, or from the last `extend()`. */
export class Deadline implements Disposable {
  readonly #abort: AbortController = new AbortController();
  readonly #late: () => void;
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout>;

  /** `what` begins the message: "Nobody answered" becomes "Nobody answered within 10 s". */
  constructor(seconds: number, what: () => string) {
    this.#ms = seconds * 1000;
    this.#late = () => this.#abort.abort(new Error(`${what()} within ${seconds} s`));
    this.#timer = setTimeout(this.#late, this.#ms);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  extend(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#late, this.#ms);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
