/** Something that is closed when a signal aborts. */
interface Closable {
  /** Closes it. */
  close(): void;
}

/** Closes an object when the signal aborts. The other signal says that it was closed before. */
export function closeOnAbort(
  object: Closable,
  signal: AbortSignal | undefined,
  closed: AbortSignal,
): void {
  const close = (): void => {
    try {
      object.close();
    } catch {
      // The owner closes it again, and gets the error.
    }
  };
  signal?.addEventListener("abort", close, { once: true, signal: closed });
}
