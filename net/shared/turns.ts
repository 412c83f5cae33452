/**
 * Counts calls that end without waiting. A loop over such calls would keep timers and other events from running, so now
 * and then one of them has to wait for a turn of the event loop.
 */
export class Turns {
  readonly #max: number;
  #calls = 0;

  /** Lets `max` calls follow each other without a turn of the event loop. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Whether the next call may end without waiting. */
  mayContinue(): boolean {
    if (++this.#calls < this.#max) return true;
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
