import { toCaller } from "../internal/caller.ts";
import { mayContinue, mayRead, nextTurn } from "./turns.ts";
import { Waiters } from "./waiters.ts";

/** Where messages of the peer wait to be taken. */
export interface Supply<W extends object, T> {
  readonly size: () => number;
  /** Takes the first one. It may throw an error of the waiter's call. */
  readonly take: (waiter: W) => T;
  /** Whether the peer sends no more. It throws what has ended the connection. */
  readonly hasEnded: () => boolean;
  /** Reads completions without waiting. */
  readonly drain: () => void;
  /** Reads completions for a while, in place of a wait that sleeps. */
  readonly spin: () => void;
  /** The number of waiters has changed. */
  readonly update: () => void;
}

/** What comes from the peer, and the waiters for it, each for one. */
export class Incoming<W extends object, T> {
  readonly #supply: Supply<W, T>;
  readonly #waiters: Waiters<W, T | null>;
  /** Whether a call polls instead of waiting. Calls that come meanwhile queue behind it. */
  #isPolled = false;
  /** What has ended that call meanwhile. */
  #ended: { readonly reason: unknown } | undefined;

  constructor(supply: Supply<W, T>) {
    this.#supply = supply;
    this.#waiters = new Waiters(supply.update);
  }

  /** How many were received and not taken. */
  get unread(): number {
    return this.#supply.size();
  }

  get isAwaited(): boolean {
    return this.#isPolled || this.isWaiting;
  }

  /** Whether a call sleeps until something comes. */
  get isWaiting(): boolean {
    return this.#waiters.size > 0;
  }

  /**
   * The next one; null if the peer sends no more. Earlier waiters come first. It is the most frequent call of a
   * program, so it is one function: each further async function would cost a promise.
   */
  async receive(waiter: W, signal: AbortSignal | undefined): Promise<T | null> {
    try {
      signal?.throwIfAborted();
      if (this.isAwaited) return await this.#looking(this.#waiters.wait(waiter, signal));
      if (this.unread === 0) this.#supply.drain();
      const there = this.#next(waiter);
      if (there !== undefined) return there;
      this.#isPolled = true;
      // What the caller begins next goes out before this polls for the answer.
      await undefined;
      const next = this.#poll(waiter, signal);
      if (next !== undefined) return next;
      return await this.#looking(this.#waiters.waitFirst(waiter, signal));
    } catch (error) {
      throw toCaller(error, this.receive);
    } finally {
      const isLate = this.unread > 0;
      if (!(isLate ? mayRead() : mayContinue())) await nextTurn(isLate);
    }
  }

  #poll(waiter: W, signal: AbortSignal | undefined): T | null | undefined {
    let isOver = true;
    try {
      signal?.throwIfAborted();
      if (this.unread === 0 && this.#ended === undefined) this.#supply.spin();
      const next = this.#next(waiter);
      if (next === undefined && this.#ended !== undefined) throw this.#ended.reason;
      isOver = next !== undefined;
      return next;
    } finally {
      this.#isPolled = false;
      this.#ended = undefined;
      if (isOver && this.#waiters.size > 0) this.#serveOthers();
    }
  }

  #looking(received: Promise<T | null>): Promise<T | null> {
    this.#supply.update();
    return received;
  }

  #serveOthers(): void {
    this.serve();
    this.#supply.update();
  }

  /** The next one; null at the end; undefined if there is none yet. */
  #next(waiter: W): T | null | undefined {
    if (this.unread > 0) return this.#supply.take(waiter);
    return this.#supply.hasEnded() ? null : undefined;
  }

  /** Hands the waiters what has arrived. */
  serve(): void {
    if (this.#isPolled) return;
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

  /** Ends all calls that wait, unless there is something for the one that polls. */
  rejectAll(reason: unknown): void {
    if (this.#isPolled) this.#ended = { reason };
    this.#waiters.rejectAll(reason);
  }
}
