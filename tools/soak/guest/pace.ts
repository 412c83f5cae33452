/** Work at a given rate. */

/** Waits; comes back early if the signal aborts. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, milliseconds);
    if (signal?.aborted) over();
    else signal?.addEventListener("abort", over);
  });
}

/** How long an activity that is late goes on before others have their turn. */
const SLICE_MS = 50;

/**
 * Calls a step at that rate until the signal aborts. Steps that come too late are made up for.
 *
 * @param rate Operations in a second; 0 for none.
 * @param burst Operations of a step.
 * @param slice Milliseconds that it goes on for while it is late, before others have their turn.
 */
export async function paced(
  rate: number,
  burst: number,
  stop: AbortSignal,
  step: (count: number) => Promise<void> | void,
  slice: number = SLICE_MS,
): Promise<void> {
  if (rate === 0) return;
  const start = performance.now();
  let done = 0;
  const due = (): number => start + (done + burst) / rate * 1000;
  while (!stop.aborted) {
    // Even a late step lets timers and other activities run first.
    await pause(Math.max(0, due() - performance.now()), stop);
    const end = performance.now() + slice;
    do {
      if (stop.aborted) return;
      await step(burst);
      done += burst;
    } while (due() <= performance.now() && performance.now() < end);
  }
}
