import { hold, type Resource, unhold } from "./resource.ts";

/** Options of calls that may block and so run on another thread. */
export interface AbortOptions {
  /** Ends the wait. The native call cannot be stopped: what it makes afterwards is destroyed again. */
  readonly signal?: AbortSignal | undefined;
}

/** A native call on another thread that its caller may stop waiting for. */
export interface AbandonableCall<T, R> {
  /** The object it works on; its native handle is kept until the call ends. */
  readonly owner: Resource;
  /** Ends the wait, not the call. */
  readonly signal: AbortSignal | undefined;
  /** Starts the call. */
  readonly start: () => Promise<T>;
  /** Turns the outcome into the result, or throws its error. */
  readonly finish: (outcome: T) => R;
  /** Undoes an outcome that nobody waits for any more. */
  readonly discard: (outcome: T) => void;
}

/**
 * Waits for a native call that cannot be stopped. Whether the signal aborts or the owner is disposed meanwhile, what the
 * call makes is never leaked.
 */
export function abandonable<T, R>(call: AbandonableCall<T, R>): Promise<R> {
  const { owner, signal, start, finish, discard } = call;
  const { promise, resolve, reject } = Promise.withResolvers<R>();
  if (signal?.aborted) {
    reject(signal.reason);
    return promise;
  }
  const abort = (): void => reject(signal!.reason);
  const running = start();
  hold(owner);
  signal?.addEventListener("abort", abort, { once: true });
  // behind the await all happens in one turn: the owner cannot go between the outcome and the object made of it, and
  // who gets that object finds the owner held no longer
  const settle = async (): Promise<void> => {
    try {
      const outcome = await running;
      if (signal?.aborted) return discard(outcome);
      if (owner.disposed) {
        discard(outcome);
        throw new TypeError("Cannot finish call: its owner was disposed meanwhile");
      }
      resolve(finish(outcome));
    } catch (error) {
      reject(error);
    } finally {
      signal?.removeEventListener("abort", abort);
      unhold(owner);
    }
  };
  settle();
  return promise;
}

/** Waits for something that others wait for as well, until the signal aborts. */
export async function orAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await promise;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
