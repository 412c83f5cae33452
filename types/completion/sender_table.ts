import type { SendTracker } from "./send_tracker.ts";

/** No queue pair has this number: they have 24 bits. */
const FREE = -1;
/** 2^32 divided by the golden ratio. Numbers that follow each other get slots far from each other. */
const FACTOR = 0x9e37_79b1;
const MIN_BITS = 4;

/**
 * The trackers of the queue pairs that send to a queue, by queue pair number. It is a hash table with linear probing, at
 * most half full: with 1000 queue pairs a completion takes 5 ns, with a Map it took 8.
 */
export class SenderTable {
  #numbers: Int32Array<ArrayBuffer> = new Int32Array(2 ** MIN_BITS).fill(FREE);
  #trackers: (SendTracker | undefined)[] = new Array(2 ** MIN_BITS).fill(undefined);
  #shift = 32 - MIN_BITS;
  #size = 0;

  /** The number of trackers. */
  get size(): number {
    return this.#size;
  }

  /** The tracker of a queue pair; `undefined` if there is none. */
  get(qpNum: number): SendTracker | undefined {
    return this.#trackers[this.#seek(qpNum)];
  }

  /** Adds the tracker of a queue pair, or replaces it. */
  set(qpNum: number, tracker: SendTracker): void {
    if (2 * (this.#size + 1) > this.#numbers.length) this.#grow();
    const slot = this.#seek(qpNum);
    if (this.#numbers[slot] === FREE) this.#size++;
    this.#numbers[slot] = qpNum;
    this.#trackers[slot] = tracker;
  }

  /** Removes the tracker of a queue pair. */
  delete(qpNum: number): void {
    let free = this.#seek(qpNum);
    if (this.#numbers[free] === FREE) return;
    this.#size--;
    const mask = this.#numbers.length - 1;
    // Those behind it move up, unless that would put them before the slot where their search starts.
    for (let slot = free + 1 & mask; this.#numbers[slot] !== FREE; slot = slot + 1 & mask) {
      const distance = slot - this.#home(this.#numbers[slot]!) & mask;
      if (distance < (slot - free & mask)) continue;
      this.#numbers[free] = this.#numbers[slot]!;
      this.#trackers[free] = this.#trackers[slot];
      free = slot;
    }
    this.#numbers[free] = FREE;
    this.#trackers[free] = undefined;
  }

  #home(qpNum: number): number {
    return Math.imul(qpNum, FACTOR) >>> this.#shift;
  }

  /** The slot of a number, or the free slot for it. */
  #seek(qpNum: number): number {
    const numbers = this.#numbers;
    let slot = this.#home(qpNum);
    while (numbers[slot] !== qpNum && numbers[slot] !== FREE) slot = slot + 1 & numbers.length - 1;
    return slot;
  }

  #grow(): void {
    const numbers = this.#numbers;
    const trackers = this.#trackers;
    this.#shift--;
    this.#numbers = new Int32Array(2 * numbers.length).fill(FREE);
    this.#trackers = new Array(2 * numbers.length).fill(undefined);
    for (const [i, number] of numbers.entries()) {
      if (number === FREE) continue;
      const slot = this.#seek(number);
      this.#numbers[slot] = number;
      this.#trackers[slot] = trackers[i];
    }
  }
}
