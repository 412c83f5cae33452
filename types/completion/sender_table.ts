import type { SendTracker } from "./send_tracker.ts";

/** No queue pair has this number: they have 24 bits. */
const FREE = -1;
/** 2^32 divided by the golden ratio. Numbers that follow each other get slots far from each other. */
const FACTOR = 0x9e37_79b1;

/**
 * The trackers of the queue pairs that send to a queue, by queue pair number. Completions look them up in a hash table with
 * linear probing, which is made anew after a change: see "Help for V8" in docs/performance.md.
 */
export class SenderTable {
  readonly #all: Map<number, SendTracker> = new Map();
  #numbers: Int32Array<ArrayBuffer> | undefined;
  #trackers: (SendTracker | undefined)[] = [];
  #shift = 0;

  get size(): number {
    return this.#all.size;
  }

  set(qpNum: number, tracker: SendTracker): void {
    this.#all.set(qpNum, tracker);
    this.#numbers = undefined;
  }

  delete(qpNum: number): void {
    this.#all.delete(qpNum);
    this.#numbers = undefined;
  }

  get(qpNum: number): SendTracker | undefined {
    const numbers = this.#numbers ?? this.#fill();
    return this.#trackers[this.#seek(numbers, qpNum)];
  }

  /** The slot of a number, or the free slot for it. */
  #seek(numbers: Int32Array, qpNum: number): number {
    let slot = Math.imul(qpNum, FACTOR) >>> this.#shift;
    while (numbers[slot] !== qpNum && numbers[slot] !== FREE) slot = slot + 1 & numbers.length - 1;
    return slot;
  }

  /** Fills a table that is at most half full. */
  #fill(): Int32Array {
    const bits = 2 + Math.ceil(Math.log2(this.size + 1));
    const numbers = this.#numbers = new Int32Array(2 ** bits).fill(FREE);
    this.#trackers = new Array(2 ** bits).fill(undefined);
    this.#shift = 32 - bits;
    for (const [qpNum, tracker] of this.#all) {
      const slot = this.#seek(numbers, qpNum);
      numbers[slot] = qpNum;
      this.#trackers[slot] = tracker;
    }
    return numbers;
  }
}
