import { ignoreAbort, whenAborted } from "./abort.ts";

/** The waiters for something, the longest wait first. A wait ends early if its signal aborts. */
export class Waiters<W extends object, T> {
  readonly #waiting: Map<W, PromiseWithResolvers<T>> = new Map();
  readonly #onAbort: () => void;

  /** `onAbort` is called when a wait has ended early. */
  constructor(onAbort: () => void = () => {}) {
    this.#onAbort = onAbort;
  }

  get size(): number {
    return this.#waiting.size;
  }

  get first(): W | undefined {
    return this.#waiting.keys().next().value;
  }

  get last(): W | undefined {
    return this.all().at(-1);
  }

  all(): W[] {
    return [...this.#waiting.keys()];
  }

  has(which: (waiter: W) => boolean): boolean {
    return this.size > 0 && this.all().some(which);
  }

  /** `Waiters.wait`, before all others. */
  waitFirst(waiter: W, signal: AbortSignal | undefined): Promise<T> {
    const waiting = this.wait(waiter, signal);
    // Now: code of the signal has run, which may have ended waits.
    const others = [...this.#waiting].filter(([other]) => other !== waiter);
    for (const [other, resolvers] of others) {
      this.#waiting.delete(other);
      this.#waiting.set(other, resolvers);
    }
    return waiting;
  }

  /** Waits until `Waiters.resolve` or `Waiters.reject` names the waiter. */
  wait(waiter: W, signal: AbortSignal | undefined): Promise<T> {
    const waiting = Promise.withResolvers<T>();
    this.#waiting.set(waiter, waiting);
    if (signal === undefined) return waiting.promise;
    const abort = (): void => {
      this.reject(waiter, signal.reason);
      this.#onAbort();
    };
    try {
      // What it reads of the signal may be the caller's and end all waits: so this wait has begun already.
      if (signal.aborted) this.reject(waiter, signal.reason);
      else whenAborted(signal, abort);
    } catch (error) {
      this.reject(waiter, error);
    }
    return waiting.promise.finally(() => ignoreAbort(signal, abort));
  }

  resolve(waiter: W, value: T): void {
    this.#take(waiter)?.resolve(value);
  }

  reject(waiter: W, reason: unknown): void {
    this.#take(waiter)?.reject(reason);
  }

  /** Resolves all for which the condition holds. Returns how many there were. */
  resolveAll(value: T, which: (waiter: W) => boolean): number {
    const ended = this.all().filter(which);
    for (const waiter of ended) this.resolve(waiter, value);
    return ended.length;
  }

  /** Resolves the oldest one for which the condition holds. Returns whether there was one. */
  resolveOne(value: T, which: (waiter: W) => boolean): boolean {
    const oldest = this.all().find(which);
    if (oldest !== undefined) this.resolve(oldest, value);
    return oldest !== undefined;
  }

  /** Rejects all for which the condition holds. */
  rejectAll(reason: unknown, which: (waiter: W) => boolean = () => true): void {
    for (const waiter of this.all().filter(which)) this.reject(waiter, reason);
  }

  #take(waiter: W): PromiseWithResolvers<T> | undefined {
    const waiting = this.#waiting.get(waiter);
    this.#waiting.delete(waiter);
    return waiting;
  }
}
