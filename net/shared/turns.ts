/** How many calls may follow each other without a turn of the event loop. */
const MAX_CALLS = 64;

/**
 * Counts calls that end without waiting. A loop over such calls would keep timers and other events from running, so now
 * and then one of them has to wait for a turn of the event loop.
 */
export class Turns {
  #calls = 0;

  /** Whether the next call may end without waiting. */
  mayContinue(): boolean {
    if (++this.#calls < MAX_CALLS) return true;
    this.#calls = 0;
    return false;
  }
}

/** Lets the event loop run once. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
