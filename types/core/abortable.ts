import { Waiters } from "../../internal/waiters.ts";
import { errno } from "../../ffi/errno.ts";
import { type BlockingVerb, nonblocking, verbs } from "../../ffi/library.ts";
import type { Outcome } from "../../ffi/library/bind.ts";
import type { Verbs } from "../../ffi/verbs.ts";
import { isOpen, release, type Resource, retain } from "./resource.ts";

/** A native call on another thread. */
export interface AbortableCall<T, R> {
  /** The object that the call works on, if there is one. Its native handle is kept until the call ends. */
  readonly owner?: Resource;
  /** Ends the wait. A call that has not started is dropped. */
  readonly signal: AbortSignal | undefined;
  /** Starts the call. Take native handles here: the call may start later. */
  readonly start: () => Promise<T>;
  /** Turns the outcome into the result, or throws its error. */
  readonly finish: (outcome: T) => R;
  /** Undoes an outcome that nobody waits for any more. */
  readonly discard?: (outcome: T) => void;
}

/** A call of a verb that may block, for a method and for its form on another thread. */
export interface BlockingCall<V extends BlockingVerb, R>
  extends Omit<AbortableCall<Outcome<ReturnType<Verbs[V]>>, R>, "signal" | "start"> {
  readonly verb: V;
  /** The arguments. Native handles are taken when the call starts. */
  readonly args: () => Parameters<Verbs[V]>;
}

/** Runs a call on this thread. */
export function callNow<V extends BlockingVerb, R>({ verb, args, finish }: BlockingCall<V, R>): R {
  const call = verbs()[verb] as (...args: Parameters<Verbs[V]>) => ReturnType<Verbs[V]>;
  const value = call(...args());
  return finish({ value, errno: errno() });
}

/** Runs a call on another thread. */
export async function callLater<V extends BlockingVerb, R>(
  call: BlockingCall<V, R>,
  signal: AbortSignal | undefined,
): Promise<R> {
  const { verb, args } = call;
  return await abortable({ ...call, signal, start: () => nonblocking()[verb](...args()) });
}

/**
 * How many calls run at the same time. Deno has 32 threads for native calls and files together, so calls that wait for
 * peers that do not answer must leave some of them free.
 */
const MAX_RUNNING = 8;

let running = 0;
const queue: Waiters<object, void> = new Waiters();

/**
 * Runs a native call that cannot be stopped. If the signal aborts or the owner is disposed in the meantime, what the call
 * makes is destroyed again.
 */
export async function abortable<T, R>(call: AbortableCall<T, R>): Promise<R> {
  const { signal } = call;
  signal?.throwIfAborted();
  if (running === MAX_RUNNING) await queue.wait({}, signal);
  else running++;
  const waiter = Promise.withResolvers<R>();
  const abort = (): void => waiter.reject(signal!.reason);
  signal?.addEventListener("abort", abort);
  run(call, waiter);
  try {
    return await waiter.promise;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/**
 * Everything after the outcome happens in one turn: the owner cannot be disposed, and the signal cannot abort, between
 * the outcome and the waiter that gets the object made from it.
 */
async function run<T, R>(
  { owner, signal, start, finish, discard }: AbortableCall<T, R>,
  { resolve, reject }: PromiseWithResolvers<R>,
): Promise<void> {
  try {
    signal?.throwIfAborted();
    if (owner) retain(owner);
    try {
      const outcome = await start();
      if (!signal?.aborted && (!owner || isOpen(owner))) {
        resolve(finish(outcome));
      } else {
        discard?.(outcome);
        reject(new TypeError("Cannot finish call: the object it works on was disposed"));
      }
    } finally {
      if (owner) release(owner);
    }
  } catch (error) {
    reject(error);
  } finally {
    const next = queue.first;
    if (next === undefined) running--;
    else queue.resolve(next, undefined);
  }
}
