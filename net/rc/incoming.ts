import { Waiters } from "../../internal/waiters.ts";

/** Where something of the peer waits to be taken. */
export interface Supply<W extends object, T> {
  readonly size: () => number;
  /** Takes the first one. It may throw what is wrong with the call of the waiter. */
  readonly take: (waiter: W) => T;
  /** Whether the peer sends none any more. It throws what has ended the connection. */
  readonly hasEnded: () => boolean;
  /** Reads completions without waiting. */
  readonly drain: () => void;
  /** The number of those who wait has changed. */
  readonly look: () => void;
}

/** What comes from the peer, and those who wait for it, each for one. */
export class Incoming<W extends object, T> {
  readonly #supply: Supply<W, T>;
  readonly #waiters: Waiters<W, T | null>;

  constructor(supply: Supply<W, T>) {
    this.#supply = supply;
    this.#waiters = new Waiters(supply.look);
  }

  /** Those that were received and not taken. */
  get unread(): number {
    return this.#supply.size();
  }

  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  /** The next one; null if the peer sends none any more. */
  async receive(waiter: W, signal: AbortSignal | undefined): Promise<T | null> {
    signal?.throwIfAborted();
    if (!this.isAwaited) {
      if (this.unread === 0) this.#supply.drain();
      const next = this.#next(waiter);
      if (next !== undefined) return next;
    }
    const received = this.#waiters.wait(waiter, signal);
    this.#supply.look();
    return await received;
  }

  /** The next one; null at the end; undefined if there is none yet. */
  #next(waiter: W): T | null | undefined {
    if (this.unread > 0) return this.#supply.take(waiter);
    return this.#supply.hasEnded() ? null : undefined;
  }

  /** Gives those who wait what there is. */
  serve(): void {
    let waiter: W | undefined;
    while ((waiter = this.#waiters.first) !== undefined) {
      try {
        const next = this.#next(waiter);
        if (next === undefined) return;
        this.#waiters.resolve(waiter, next);
      } catch (error) {
        this.#waiters.reject(waiter, error);
      }
    }
  }

  rejectAll(reason: unknown): void {
    this.#waiters.rejectAll(reason);
  }
}
