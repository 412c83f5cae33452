import type { Bell } from "./bell.ts";
import { pendingRound } from "./descriptors.ts";
import { findSync, Loop, type Source } from "./loop.ts";
import { Waiters } from "./waiters.ts";

/** Where events come from. */
export interface EventSource {
  readonly isOpen: () => boolean;
  /** The error of those who wait when it is closed. */
  readonly refusal: () => Error;
  readonly bell: Bell;
  /** Reads one event, and hands it to those who wait. Returns whether there was one. It throws if there is none any more. */
  readonly read: () => boolean;
  /** Whether it reads events that are there although nobody waits for them any more. */
  readonly readsAhead: boolean;
  /** How a wait polls before it sleeps, if it does. */
  readonly busyPoll?: Source["busyPoll"] | undefined;
}

/** Those who wait for events of a source, each for those that its key names. */
export class Events<K, V> {
  readonly #source: EventSource;
  readonly #waiters: Waiters<{ readonly key: K }, V> = new Waiters();
  readonly #loop: Loop;
  #isHeld = true;

  /** Reads nothing yet. */
  constructor(source: EventSource) {
    const { isOpen, bell, read, readsAhead, busyPoll } = this.#source = source;
    this.#loop = new Loop({
      read: () => (readsAhead || this.isAwaited) && isOpen() && read() ? 1 : 0,
      bell,
      busyPoll,
      isOpen,
      isAwaited: () => this.isAwaited,
      isHeld: () => this.#isHeld,
      unawaited: () => "nothing",
      onError: (error) => this.#waiters.rejectAll(error),
    });
  }

  /** Whether anybody waits by the event loop. */
  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  isAwaitedBy(which: (key: K) => boolean): boolean {
    return this.isAwaited && this.#those(which).length > 0;
  }

  /** Says whether waits keep the process alive. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#loop.update();
  }

  /** Waits until somebody resolves or rejects the waiter. */
  async wait(key: K, signal: AbortSignal | undefined): Promise<V> {
    const waiter = { key };
    const waited = this.#waiters.wait(waiter, signal);
    const { isOpen, refusal } = this.#source;
    // Reading the signal runs code of the caller, which may have closed the source.
    if (isOpen()) this.#loop.update();
    else this.#waiters.reject(waiter, refusal());
    try {
      return await waited;
    } finally {
      this.#loop.update();
      // The last one leaves no thread behind.
      const round = pendingRound();
      if (round !== undefined) await round;
    }
  }

  /** Waits on this thread until there is an event, and reads it. Returns `false` if the time is over. */
  readSync(until: number): boolean {
    const { bell, read } = this.#source;
    return findSync({ read: () => Number(read()), bell }, until);
  }

  /** Ends the wait of all waiters for which the condition holds. Returns how many there were. */
  resolve(value: V, which: (key: K) => boolean): number {
    const ended = this.#those(which);
    for (const waiter of ended) this.#waiters.resolve(waiter, value);
    return ended.length;
  }

  /** Ends the wait of the oldest waiter for which the condition holds. Returns whether there was one. */
  resolveOne(value: V, which: (key: K) => boolean): boolean {
    const [oldest] = this.#those(which);
    if (oldest !== undefined) this.#waiters.resolve(oldest, value);
    return oldest !== undefined;
  }

  /** Ends the wait of all waiters for which the condition holds with an error. */
  reject(reason: unknown, which: (key: K) => boolean): void {
    for (const waiter of this.#those(which)) this.#waiters.reject(waiter, reason);
    this.#loop.update();
  }

  /** Has those who wait look for events that the bell does not ring for. */
  wake(): void {
    this.#loop.wake();
  }

  #those(which: (key: K) => boolean): { readonly key: K }[] {
    return this.#waiters.all().filter(({ key }) => which(key));
  }
}
