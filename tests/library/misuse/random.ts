// Numbers that are the same in each run.

/** A stream of numbers that follows from its seed (mulberry32). */
export class Random {
  #state: number;

  /** Starts a stream. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An integer from 0 to a limit, which it does not reach. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) % limit;
  }

  /** Puts a list into another order. */
  shuffle(list: unknown[]): void {
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
  }
}
