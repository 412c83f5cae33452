import type { SendTracker } from "../completion/send_tracker.ts";

/** Splits an address into halves, lower half first: both architectures are little-endian. */
const ADDRESS = new BigUint64Array(1);
const HALVES = new Uint32Array(ADDRESS.buffer);

/** So many queue pairs are kept without a look at whether their sends are done. */
const MIN_LIMIT = 4;

/** A send of a queue pair, by its number. */
export interface Send {
  readonly tracker: SendTracker;
  readonly number: number;
}

/** What other files use of an address handle: its native address, and the sends that use it. */
export class AhCore {
  /** Whether the handle is not disposed. */
  isOpen = true;
  /** The native address, in halves: 64-bit integers would be allocated. */
  readonly #low: number;
  readonly #high: number;
  /** The queue pair that sent with the handle last, and the number of that send. */
  #tracker: SendTracker | undefined;
  #last = 0;
  /** The last sends of other queue pairs. Most handles have none. */
  #others: Map<SendTracker, number> | undefined;
  /** The number of others at which those that are done are removed: a send then takes constant time on average. */
  #limit = MIN_LIMIT;

  /** Remembers the native address of a handle. */
  constructor(address: bigint) {
    ADDRESS[0] = address;
    this.#low = HALVES[0]!;
    this.#high = HALVES[1]!;
  }

  /** Writes the native address into two 32-bit words, lower half first. */
  write(words: Uint32Array, at: number): void {
    words[at] = this.#low;
    words[at + 1] = this.#high;
  }

  /** Notes that a send of a queue pair uses the handle. */
  noteSend(tracker: SendTracker, number: number): void {
    if (this.#tracker !== tracker) this.#switchTo(tracker);
    this.#last = number;
  }

  #switchTo(tracker: SendTracker): void {
    const last = this.#tracker;
    this.#tracker = tracker;
    if (last === undefined) return;
    const others = this.#others ??= new Map();
    others.set(last, this.#last);
    if (others.size < this.#limit) return;
    forgetDone(others);
    this.#limit = Math.max(MIN_LIMIT, 2 * others.size);
  }

  /** A send in progress that uses the handle; undefined if there is none. */
  sendUnderWay(): Send | undefined {
    const tracker = this.#tracker;
    if (tracker?.isUnderWay(this.#last)) return { tracker, number: this.#last };
    if (this.#others === undefined) return undefined;
    forgetDone(this.#others);
    const [other] = this.#others;
    return other && { tracker: other[0], number: other[1] };
  }
}

function forgetDone(sends: Map<SendTracker, number>): void {
  for (const [tracker, number] of sends) if (!tracker.isUnderWay(number)) sends.delete(tracker);
}
