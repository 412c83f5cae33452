/** Waits for a promise until the signal aborts. The promise may be shared, and what it stands for goes on. */
export async function orAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await promise;
  // A signal that throws ends the wait: nobody hears of the promise then.
  promise.catch(() => {});
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    if (signal.aborted) abort();
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
