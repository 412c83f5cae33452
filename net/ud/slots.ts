/**
 * The slots of a piece of memory, by their numbers. A slot is free again when its request has ended, in whatever order
 * requests end. The one that has been free longest is taken first: while requests end in order, slots follow each
 * other, and so do their requests in a list.
 */
export class Slots {
  readonly #ring: Uint32Array<ArrayBuffer>;
  #first = 0;
  #free = 0;

  constructor(count: number) {
    this.#ring = new Uint32Array(count);
    this.reset([]);
  }

  /** How many there are. */
  get size(): number {
    return this.#ring.length;
  }

  /** How many are free. */
  get free(): number {
    return this.#free;
  }

  /** The free slot that is taken next. */
  get first(): number {
    return this.#ring[this.#first]!;
  }

  take(): number {
    const slot = this.first;
    this.#first = this.#first + 1 < this.#ring.length ? this.#first + 1 : 0;
    this.#free--;
    return slot;
  }

  /** Takes at most `most` slots that follow each other. Returns how many: the first of them was `Slots.first`. */
  takeRun(most: number): number {
    const { first } = this;
    let count = 0;
    while (count < most && this.#free > 0 && this.first === first + count) {
      this.take();
      count++;
    }
    return count;
  }

  /** A slot that was taken is free again. */
  give(slot: number): void {
    const last = this.#first + this.#free++;
    this.#ring[last < this.#ring.length ? last : last - this.#ring.length] = slot;
  }

  /** All slots are free, except some. */
  reset(taken: readonly number[]): void {
    this.#first = this.#free = 0;
    const isTaken = new Set(taken);
    for (let slot = 0; slot < this.#ring.length; slot++) {
      if (!isTaken.has(slot)) this.give(slot);
    }
  }
}
