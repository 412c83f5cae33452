import { errno, errnoName } from "../../ffi/errno.ts";
import { blockUntilReadable } from "../../ffi/fd_block.ts";
import { type FdWait, type OnReady, setNonblocking, waitReadable } from "../../ffi/fd_watcher.ts";
import { SystemError } from "../../ffi/system_error.ts";
import type { BusyPoll } from "../../internal/busy_poll.ts";
import { SELDOM_MS } from "../../internal/glance.ts";
import { mayContinue, nextTurn } from "../../internal/turns.ts";
import { Waiters } from "../../internal/waiters.ts";
import { failure } from "../core/errors.ts";
import {
  assertOpen,
  beginWait,
  disposedError,
  endWait,
  isOpen,
  type Resource,
} from "../core/resource.ts";

/**
 * Makes reading a descriptor fail with EAGAIN while there is nothing to read.
 *
 * @throws {VerbsError} If the system refuses.
 */
export function makeNonblocking(fd: number): void {
  asVerbsError(() => setNonblocking(fd));
}

/** Runs a function of the watcher, whose errors have errno but are not ours. */
function asVerbsError<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw toVerbsError(error);
  }
}

function toVerbsError(error: unknown): unknown {
  if (!(error instanceof SystemError)) return error;
  return failure(error.call, "watch descriptor", error.errno);
}

/**
 * Those who wait for events of one descriptor. While there are any, the watcher watches the descriptor, and the owner of
 * the descriptor is not destroyed.
 */
export class EventSource<K, V> {
  readonly #owner: Resource;
  readonly #fd: number;
  readonly #verb: string;
  readonly #read: () => boolean;
  readonly #readsAhead: boolean;
  readonly #longestMs: number | undefined;
  readonly #waiters: Waiters<{ readonly key: K }, V> = new Waiters();
  #watching = false;
  #isHeld = true;
  /** The wait of the watcher, while there is one. */
  #wait: FdWait | undefined;
  /** The turn of the event loop that reading waits for. */
  #resting: Promise<void> | undefined;
  /** Resolves when the watcher does not use the descriptor any more. */
  #cancelled: Promise<void> | undefined;

  /**
   * Watches nothing yet.
   *
   * @param owner The resource that the descriptor belongs to.
   * @param fd The descriptor. It must be non-blocking.
   * @param verb The verb that reads events.
   * @param read Calls the verb once, and tells the waiters. Returns whether there was an event; if not, `errno()` is that
   * of the verb.
   * @param readsAhead Whether it reads events that are there although nobody waits for them any more.
   * @param longestMs The longest time between two looks at the descriptor while no wait keeps the process alive.
   */
  constructor(
    owner: Resource,
    fd: number,
    verb: string,
    read: () => boolean,
    readsAhead: boolean = true,
    longestMs?: number,
  ) {
    this.#owner = owner;
    this.#fd = fd;
    this.#verb = verb;
    this.#read = read;
    this.#readsAhead = readsAhead;
    this.#longestMs = longestMs;
  }

  /** Whether anybody waits by the event loop. */
  get isWaitedFor(): boolean {
    return this.#waiters.size > 0;
  }

  /** Says whether waits keep the process alive. */
  hold(isHeld: boolean): void {
    assertOpen(this.#owner);
    this.#isHeld = isHeld;
    this.#wait?.hold(isHeld);
  }

  /** Waits until somebody resolves or rejects the waiter. With `busyPoll` it reads for a while before it sleeps. */
  async wait(key: K, signal: AbortSignal | undefined, busyPoll?: BusyPoll): Promise<V> {
    const waiter = { key };
    const waited = this.#waiters.wait(waiter, signal);
    // Reading the signal runs code of the caller, which may have disposed the owner.
    if (!isOpen(this.#owner)) this.#waiters.reject(waiter, disposedError(this.#owner));
    else if (!this.#watching) this.#watch(busyPoll);
    try {
      return await waited;
    } finally {
      await this.#settle();
    }
  }

  /** Waits for the descriptor, beside those who wait for events. Its owner must stay. */
  watch(isHeld: boolean, onReady: (error?: unknown) => void): FdWait {
    const ready: OnReady = (error) => onReady(toVerbsError(error));
    return asVerbsError(() => waitReadable(this.#fd, isHeld, ready, SELDOM_MS));
  }

  /**
   * Waits on this thread until there is an event, and reads it. Returns `false` if the time is over.
   */
  readSync(until: number): boolean {
    if (!asVerbsError(() => blockUntilReadable(this.#fd, until))) return false;
    this.readOnce();
    return true;
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
  }

  #those(which: (key: K) => boolean): { readonly key: K }[] {
    return this.#waiters.all().filter(({ key }) => which(key));
  }

  /** Has those who wait look for events that the descriptor does not tell a wait of that has begun. */
  wake(): void {
    this.#cancelled ??= this.#wait?.cancel();
  }

  /** The last one to leave ends the watching: what its caller disposes next is idle then. */
  async #settle(): Promise<void> {
    if (this.#waiters.size > 0) return;
    this.wake();
    await (this.#resting ?? this.#cancelled);
  }

  async #watch(busyPoll: BusyPoll | undefined): Promise<void> {
    this.#watching = true;
    beginWait(this.#owner);
    try {
      // What the caller does next, such as another wait or an abort, comes first.
      await undefined;
      let hasRead = this.#waiters.size > 0 && busyPoll?.finds(() => this.readOnce());
      for (; hasRead || this.#waiters.size > 0; hasRead = false) {
        if (!hasRead) {
          this.#wait = asVerbsError(() =>
            waitReadable(this.#fd, this.#isHeld, undefined, this.#longestMs)
          );
          await this.#wait.ready;
          await this.#cancelled;
          this.#wait = this.#cancelled = undefined;
        }
        // In portions: a peer can make events faster than they are read.
        while (isOpen(this.#owner) && this.#wantsMore && this.readOnce()) {
          if (mayContinue()) continue;
          await (this.#resting = nextTurn());
          this.#resting = undefined;
          // Those who have got an event wait again by now, if they want another one.
          if (this.#waiters.size === 0) break;
        }
      }
    } catch (error) {
      this.#waiters.rejectAll(error);
    } finally {
      this.#watching = false;
      endWait(this.#owner);
    }
  }

  get #wantsMore(): boolean {
    return this.#readsAhead || this.#waiters.size > 0;
  }

  /** Reads an event. Returns whether there was one. */
  readOnce(): boolean {
    if (this.#read()) return true;
    const value = errno();
    const code = errnoName(value);
    // Without its device the descriptor is readable for ever, and no event comes.
    if (code !== "EAGAIN" && code !== "EINTR") throw failure(this.#verb, "wait for event", value);
    return false;
  }
}
