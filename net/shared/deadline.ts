/** A signal that aborts when another one does, or after a time. Disposing it ends the time. */
export class Deadline implements Disposable {
  readonly #abort: AbortController = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #end: () => void;

  /** `late` is the message of the error after so many milliseconds. */
  constructor(ms: number, late: string, signals: readonly (AbortSignal | undefined)[]) {
    const abort = this.#abort;
    this.#timer = setTimeout(() => abort.abort(new Deno.errors.TimedOut(late)), ms);
    const listeners = signals.filter((signal) => signal !== undefined).map((signal) => {
      const listener = (): void => abort.abort(signal.reason);
      if (signal.aborted) listener();
      signal.addEventListener("abort", listener);
      return () => signal.removeEventListener("abort", listener);
    });
    this.#end = () => listeners.forEach((end) => end());
  }

  /** The signal. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Ends the time. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#end();
  }
}
