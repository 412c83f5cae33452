/** Waiting for the events of a descriptor. */

import { errno, errnoName } from "../../ffi/errno.ts";
import { type FdWait, setNonblocking, waitReadable } from "../../ffi/fd_watcher.ts";
import { SystemError } from "../../ffi/system_error.ts";
import { failure, VerbsError } from "../core/errors.ts";
import { assertOpen, isOpen, release, type Resource, retain } from "../core/resource.ts";

/** Somebody who waits for an event. */
interface Waiter<K, V> {
  /** What the waiter waits for. */
  readonly key: K;
  /** Ends the wait. */
  readonly resolve: (value: V) => void;
  /** Ends the wait with an error. */
  readonly reject: (reason: unknown) => void;
}

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
    if (!(error instanceof SystemError)) throw error;
    throw new VerbsError(error.call, "watch descriptor", error.errno);
  }
}

/**
 * Those who wait for events of one descriptor. While there are any, the watcher watches the descriptor, and the owner of
 * the descriptor is not destroyed.
 */
export class EventSource<K, V> {
  readonly #owner: Resource;
  readonly #fd: number;
  readonly #verb: string;
  readonly #read: () => void;
  readonly #waiters: Set<Waiter<K, V>> = new Set();
  #watching = false;
  /** The wait of the watcher, while there is one. */
  #wait: FdWait | undefined;
  /** Resolves when the watcher does not use the descriptor any more. */
  #cancelled: Promise<void> | undefined;

  /**
   * Watches nothing yet.
   *
   * @param owner The resource that the descriptor belongs to.
   * @param fd The descriptor. It must be non-blocking.
   * @param verb The verb that reads events.
   * @param read Calls the verb until it fails, and tells the waiters.
   */
  constructor(owner: Resource, fd: number, verb: string, read: () => void) {
    this.#owner = owner;
    this.#fd = fd;
    this.#verb = verb;
    this.#read = read;
  }

  /** Waits until somebody resolves or rejects the waiter. */
  async wait(key: K, signal: AbortSignal | undefined): Promise<V> {
    assertOpen(this.#owner);
    const { promise, resolve, reject } = Promise.withResolvers<V>();
    const waiter: Waiter<K, V> = { key, resolve, reject };
    // An aborted waiter must not take an event that another one waits for.
    const abort = (): void => {
      this.#waiters.delete(waiter);
      reject(signal!.reason);
    };
    signal?.addEventListener("abort", abort);
    this.#waiters.add(waiter);
    try {
      if (!this.#watching) this.#watch();
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#waiters.delete(waiter);
      await this.#settle();
    }
  }

  /** Ends the wait of all waiters for which the condition holds, oldest first. Returns how many there were. */
  resolve(value: V, which: (key: K) => boolean): number {
    return this.#take(which, Infinity, (waiter) => waiter.resolve(value));
  }

  /** Ends the wait of the oldest waiter for which the condition holds. Returns whether there was one. */
  resolveOne(value: V, which: (key: K) => boolean): boolean {
    return this.#take(which, 1, (waiter) => waiter.resolve(value)) === 1;
  }

  /** Ends the wait of all waiters for which the condition holds with an error. */
  reject(reason: () => unknown, which: (key: K) => boolean): void {
    this.#take(which, Infinity, (waiter) => waiter.reject(reason()));
  }

  #take(which: (key: K) => boolean, most: number, end: (waiter: Waiter<K, V>) => void): number {
    let taken = 0;
    for (const waiter of this.#waiters) {
      if (taken === most) break;
      if (!which(waiter.key)) continue;
      this.#waiters.delete(waiter);
      end(waiter);
      taken++;
    }
    return taken;
  }

  /** The last one to leave ends the watching: what its caller disposes next is idle then. */
  async #settle(): Promise<void> {
    if (this.#waiters.size > 0) return;
    this.#cancelled ??= this.#wait?.cancel();
    await this.#cancelled;
  }

  async #watch(): Promise<void> {
    this.#watching = true;
    retain(this.#owner);
    try {
      do {
        this.#wait = asVerbsError(() => waitReadable(this.#fd));
        await this.#wait.ready;
        await this.#cancelled;
        this.#wait = this.#cancelled = undefined;
        if (isOpen(this.#owner)) this.#readAll();
      } while (this.#waiters.size > 0);
    } catch (error) {
      this.reject(() => error, () => true);
    } finally {
      this.#watching = false;
      release(this.#owner);
    }
  }

  #readAll(): void {
    this.#read();
    const value = errno();
    const code = errnoName(value);
    // Without its device the descriptor is readable for ever, and no event comes.
    if (code !== "EAGAIN" && code !== "EINTR") throw failure(this.#verb, "wait for event", value);
  }
}
