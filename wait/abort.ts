import { cutTo } from "../internal/caller.ts";
import { instanceOf, snapshot } from "../internal/checks.ts";

/**
 * Options of calls that wait.
 *
 * @category Objects and lifetimes
 */
export interface AbortOptions {
  /**
   * Ends the wait: the call rejects with the signal's reason. A native call that has started cannot be stopped: the
   * object that it makes is destroyed again.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the signal of options.
 *
 * @throws {TypeError} If the options are not an object, or the signal is not an AbortSignal.
 */
export function signalOf(options: AbortOptions | undefined): AbortSignal | undefined {
  if (options === undefined) return undefined;
  return cutTo(signalOf, () => checkSignal(snapshot(options, "options", ["signal"]).signal));
}

/** Checks that a signal, if there is one, is an AbortSignal. */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  return signal === undefined ? undefined : instanceOf(signal, AbortSignal, "signal");
}

/** Calls back when a signal aborts: at once if it has, be it by its own `addEventListener()`. */
export function whenAborted(
  signal: AbortSignal,
  call: () => void,
  options?: AddEventListenerOptions,
): void {
  signal.addEventListener("abort", call, options);
  if (signal.aborted) call();
}

/** Ends `whenAborted`. An own `removeEventListener()` of the signal that throws does not change how a wait has ended. */
export function ignoreAbort(signal: AbortSignal, call: () => void): void {
  try {
    signal.removeEventListener("abort", call);
  } catch {
    // A call back after the end does nothing.
  }
}

/** Waits for a promise that others may wait for as well, until the signal aborts. */
export async function orAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await promise;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  whenAborted(signal, abort);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    ignoreAbort(signal, abort);
  }
}

/** Closes an object when the signal aborts. The other signal, if there is one, says that it was closed before. */
export function closeOnAbort(
  object: { close(): void },
  signal: AbortSignal | undefined,
  closed?: AbortSignal,
): void {
  const close = (): void => {
    try {
      object.close();
    } catch {
      // It is closed, or the owner closes it again and gets the error.
    }
  };
  signal?.addEventListener("abort", close, { once: true, ...closed && { signal: closed } });
}
