interface Waiting<W, T> extends PromiseWithResolvers<T> {
  readonly waiter: W;
}

/** Those who wait for something, the longest wait first. A wait ends early if its signal aborts. */
export class Waiters<W extends object, T> {
  readonly #waiting: Waiting<W, T>[] = [];

  /** How many wait. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Who waits longest. */
  get first(): W | undefined {
    return this.#waiting[0]?.waiter;
  }

  /** All who wait now. */
  all(): W[] {
    return this.#waiting.map(({ waiter }) => waiter);
  }

  /** Waits until {@linkcode Waiters.resolve} or {@linkcode Waiters.reject} names the waiter. */
  wait(waiter: W, signal: AbortSignal | undefined): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ waiter, promise, resolve, reject });
    if (signal === undefined) return promise;
    const abort = (): void => this.reject(waiter, signal.reason);
    signal.addEventListener("abort", abort);
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }

  /** Ends the wait of one. */
  resolve(waiter: W, value: T): void {
    this.#take(waiter)?.resolve(value);
  }

  /** Ends the wait of one with an error. */
  reject(waiter: W, reason: unknown): void {
    this.#take(waiter)?.reject(reason);
  }

  /** Ends all waits with an error. */
  rejectAll(reason: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
  }

  #take(waiter: W): Waiting<W, T> | undefined {
    const waiting = this.#waiting;
    if (waiting[0]?.waiter === waiter) return waiting.shift();
    const index = waiting.findIndex((entry) => entry.waiter === waiter);
    return index < 0 ? undefined : waiting.splice(index, 1)[0];
  }
}
