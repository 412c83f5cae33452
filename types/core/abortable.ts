import { cutTo } from "../../internal/caller.ts";
import { type AbortOptions, checkSignal } from "../../wait/abort.ts";
import { boolean, snapshot } from "../../internal/checks.ts";
import { forThisCall } from "../../internal/left_open.ts";
import { Waiters } from "../../wait/waiters.ts";
import { errno } from "../../ffi/errno.ts";
import { type BlockingVerb, nonblocking, verbs } from "../../ffi/library.ts";
import type { Outcome } from "../../ffi/library/bind.ts";
import type { Verbs } from "../../ffi/verbs.ts";
import { isOpen, release, type Resource, retain } from "./resource.ts";

/**
 * Options of a call on another thread that a peer may be the reason for.
 *
 * @category Objects and lifetimes
 */
export interface PeerOptions extends AbortOptions {
  /**
   * Whether a peer that nobody has vouched for is the reason for the call. It may name a host that does not answer, for
   * which the kernel waits for a second. Such calls wait in a queue of their own, and other calls pass them: at most 3 run
   * at the same time in a thread of JavaScript, and the newest one goes first. Of more than 256 that wait, the oldest one
   * rejects with `Deno.errors.Busy`. The default is false.
   */
  readonly forStranger?: boolean | undefined;
}

/** Reads {@linkcode PeerOptions}. */
export function peerOptions(
  options: PeerOptions,
): { readonly signal: AbortSignal | undefined; readonly forStranger: boolean } {
  const { signal, forStranger = false } = snapshot(options, "options", ["signal", "forStranger"]);
  return { signal: checkSignal(signal), forStranger: boolean(forStranger, "forStranger") };
}

/** Who is the reason for a call: the program, a stranger who asks for a connection, or one who has sent a datagram. */
export type Cause = "program" | "connection" | "datagram";

/** A native call on another thread. */
export interface AbortableCall<T, R> {
  /** The object that the call works on, if there is one. Its native handle is kept until the call ends. */
  readonly owner?: Resource | undefined;
  /** The reason for the call; the program if it is left out. */
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
 * How many calls run at the same time. Deno has 32 threads for native calls and files together, so calls that wait for
 * peers that do not answer must leave some of them free.
 */
const MAX_RUNNING = 8;
/** How many of them strangers of one kind can have: the program keeps some, whatever strangers ask for. */
const MAX_STRANGERS = 3;
/** How many calls for strangers of one kind wait. */
const MAX_WAITING = 256;

/** Calls with one cause. */
class Lane {
  /** Whether they are calls for strangers. */
  readonly #isStrange: boolean;
  readonly #waiting: Waiters<object, void> = new Waiters();
  running = 0;

  constructor(isStrange: boolean) {
    this.#isStrange = isStrange;
  }

  get mayRun(): boolean {
    return total() < MAX_RUNNING && (!this.#isStrange || this.running < MAX_STRANGERS);
  }

  /** Lets a call run, or returns what to wait for. */
  enter(signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.mayRun) {
      this.running++;
      return undefined;
    }
    if (this.#isStrange && this.#waiting.size >= MAX_WAITING) {
      this.#waiting.reject(this.#waiting.first!, tooMany());
    }
    return this.#waiting.wait({}, signal);
  }

  /** Lets one that waits run. Among strangers the newest one goes first: who has waited long may not be there any more. */
  startNext(): boolean {
    const next = this.#isStrange ? this.#waiting.all().at(-1) : this.#waiting.first;
    if (next === undefined || !this.mayRun) return false;
    this.running++;
    this.#waiting.resolve(next, undefined);
    return true;
  }
}

/** In the order in which they may run. */
const LANES: Readonly<Record<Cause, Lane>> = {
  program: new Lane(false),
  connection: new Lane(true),
  datagram: new Lane(true),
};

function total(): number {
  return Object.values(LANES).reduce((sum, { running }) => sum + running, 0);
}

function tooMany(): Error {
  return new Deno.errors.Busy(
    `Cannot start call for a stranger: more than ${MAX_WAITING} others wait`,
  );
}

/**
 * Runs a native call that cannot be stopped. If the signal aborts or the owner is disposed in the meantime, what the call
 * makes is destroyed again.
 */
export async function abortable<T, R>(call: AbortableCall<T, R>): Promise<R> {
  const { signal } = call;
  signal?.throwIfAborted();
  const finish = forThisCall(call.finish);
  const turn = LANES[call.cause ?? "program"].enter(signal);
  if (turn !== undefined) await turn;
  const waiter = Promise.withResolvers<R>();
  const abort = (): void => waiter.reject(signal!.reason);
  run({ ...call, finish }, waiter, abort);
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
  { owner, cause = "program", signal, start, finish, discard }: AbortableCall<T, R>,
  { resolve, reject }: PromiseWithResolvers<R>,
  abort: () => void,
): Promise<void> {
  try {
    // This may be a method of the caller's, which throws or aborts the signal: the call has a place in its lane already.
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
    LANES[cause].running--;
    Object.values(LANES).some((lane) => lane.startNext());
  }
}
