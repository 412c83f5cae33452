import { cutTo } from "../../internal/caller.ts";
import { type AbortOptions, checkSignal, ignoreAbort } from "../../wait/abort.ts";
import { boolean, snapshot } from "../../internal/checks.ts";
import { forThisCall } from "../../internal/left_open.ts";
import { enter, leave } from "../../wait/call_queues.ts";
import type { Cause } from "../../wait/state.ts";
import { errno } from "../../ffi/errno.ts";
import { type BlockingVerb, nonblocking, verbs } from "../../ffi/library.ts";
import type { Outcome } from "../../ffi/library/bind.ts";
import type { Verbs } from "../../ffi/verbs.ts";
import { isOpen, release, type Resource, retain } from "./resource.ts";

/**
 * Options of a call on another thread that a peer may have caused.
 *
 * @category Objects and lifetimes
 */
export interface PeerOptions extends AbortOptions {
  /**
   * Whether a peer that the program does not know, a stranger, has caused the call. A stranger may name a host that
   * does not answer, for which the kernel waits a second. So such calls do not delay others: they have a queue of their
   * own. At most 3 run at the same time in a thread of JavaScript, the newest first. If more than 256 wait, the oldest
   * rejects with `Deno.errors.Busy`. The default is false.
   */
  readonly untrusted?: boolean | undefined;
}

/** Reads `PeerOptions`. */
export function peerOptions(
  options: PeerOptions,
): { readonly signal: AbortSignal | undefined; readonly untrusted: boolean } {
  const { signal, untrusted = false } = snapshot(options, "options", ["signal", "untrusted"]);
  return { signal: checkSignal(signal), untrusted: boolean(untrusted, "untrusted") };
}

/** A native call on another thread. */
export interface AbortableCall<T, R> {
  /** The object that the call works on, if there is one. Its native handle is kept until the call ends. */
  readonly owner?: Resource | undefined;
  /** Who has caused the call; the program if it is left out. */
  readonly cause?: Cause | undefined;
  /** Ends the wait. A call that has not started is dropped. */
  readonly signal: AbortSignal | undefined;
  /** Starts the call. Take native handles here: the call may start later. */
  readonly start: () => Promise<T>;
  /** Turns the outcome into the result, or throws its error. */
  readonly finish: (outcome: T) => R;
  /** Undoes an outcome that nobody waits for any more. */
  readonly discard?: ((outcome: T) => void) | undefined;
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
  const outcome = { value, errno: errno() };
  return cutTo(callNow, () => finish(outcome));
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
 * Runs a native call that cannot be stopped. If the signal aborts or the owner is disposed in the meantime, what the call
 * makes is destroyed again.
 */
export async function abortable<T, R>(call: AbortableCall<T, R>): Promise<R> {
  const { signal } = call;
  signal?.throwIfAborted();
  const finish = forThisCall(call.finish);
  const turn = enter(call.cause ?? "program", signal);
  if (turn !== undefined) await turn;
  const waiter = Promise.withResolvers<R>();
  const abort = (): void => waiter.reject(signal!.reason);
  run({ ...call, finish }, waiter, abort);
  try {
    return await waiter.promise;
  } finally {
    if (signal !== undefined) ignoreAbort(signal, abort);
  }
}

/**
 * Everything after the outcome happens in one turn: the owner cannot be disposed, and the signal cannot abort, between
 * the outcome and the waiter that gets the object made from it.
 */
async function run<T, R>(
  { owner, cause = "program", signal, start, finish, discard }: AbortableCall<T, R>,
  { resolve, reject }: PromiseWithResolvers<R>,
  abort: () => void,
): Promise<void> {
  try {
    // This may be a method of the caller's, which throws or aborts the signal: the call has a place in its queue already.
    signal?.addEventListener("abort", abort);
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
    leave(cause);
  }
}
