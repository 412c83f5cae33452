/**
 * How long calls that end without waiting may follow each other. While there is always something to do, Deno looks at its
 * timers only once in about 140 turns of the event loop.
 */
const SLICE_MS = 1;
/** The clock is read once in so many calls. */
const UNCHECKED = 4;

/**
 * Counts calls that end without waiting. A loop over such calls would keep timers and other events from running, so now
 * and then one of them has to wait for a turn of the event loop.
 */
export class Turns {
  readonly #max: number;
  #calls = 0;
  #start = 0;

  /** Lets `max` calls, or those of 1 ms, follow each other without a turn of the event loop. */
  constructor(max: number) {
    this.#max = max;
  }

  mayContinue(): boolean {
    const calls = this.#calls++;
    if (calls === 0) this.#start = performance.now();
    const isOver = calls + 1 >= this.#max ||
      calls % UNCHECKED === UNCHECKED - 1 && performance.now() - this.#start >= SLICE_MS;
    if (isOver) this.#calls = 0;
    return !isOver;
  }
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
