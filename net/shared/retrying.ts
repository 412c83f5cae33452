import { orAborted } from "../../wait/abort.ts";
import { clock, timers } from "../../wait/clock.ts";

/**
 * Tries again while the peer is absent.
 *
 * @param interval The pause between two tries in milliseconds; 0 is one try.
 * @param timeout For how many milliseconds.
 * @param isAbsent Whether the error of a try says that nobody listens yet.
 */
export async function retrying<T>(
  interval: number,
  timeout: number,
  signal: AbortSignal,
  attempt: () => Promise<T>,
  isAbsent: (error: unknown) => boolean,
): Promise<T> {
  const end = clock.precise() + timeout;
  let absent: unknown;
  for (;;) {
    try {
      if (absent !== undefined) await pause(interval, signal);
      return await attempt();
    } catch (error) {
      // The error of a try that the time limit cuts short says less than those before it.
      if (absent !== undefined && error instanceof Deno.errors.TimedOut) throw absent;
      const isLast = interval === 0 || clock.precise() + interval >= end;
      if (isLast || !isAbsent(error)) throw error;
      absent = error;
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = timers.setTimeout(resolve, ms);
  try {
    await orAborted(promise, signal);
  } finally {
    timers.clearTimeout(timer);
  }
}
