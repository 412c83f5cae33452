/** Waits of tests: what never comes shows as a failure, and not as a test that hangs. */

/** Only reached by what fails; emulated guests are slow. */
const PATIENCE_MS = 60_000;

/** Calls back with a signal that aborts when a test has waited too long. */
export async function withDeadline<T>(
  late: Error,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(late), PATIENCE_MS);
  try {
    return await use(deadline.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Comes back once the condition holds; throws if it never does. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  await withDeadline(new Error(`Cannot go on: ${what} does not become true`), async (signal) => {
    while (!condition()) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
}
