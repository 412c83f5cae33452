import type { SendTracker } from "../completion/send_tracker.ts";

/** So many entries are kept without a look at whether their sends are done. */
const MIN_LIMIT = 4;

/** The last send of each of several queue pairs. It forgets the queue pairs whose sends are done. */
export class SendsUnderWay {
  readonly #numbers: Map<SendTracker, number> = new Map();
  /** The number of entries at which those that are done are removed. It makes the cost of that constant for each send. */
  #limit = MIN_LIMIT;

  /** The number of queue pairs that are known. */
  get size(): number {
    return this.#numbers.size;
  }

  /** Notes the number of the last send of a queue pair. */
  set(tracker: SendTracker, number: number): void {
    this.#numbers.set(tracker, number);
    if (this.#numbers.size < this.#limit) return;
    this.#forget();
    this.#limit = Math.max(MIN_LIMIT, 2 * this.#numbers.size);
  }

  #forget(): void {
    for (const [tracker, number] of this.#numbers) {
      if (!tracker.isUnderWay(number)) this.#numbers.delete(tracker);
    }
  }

  /** A queue pair whose send is under way, and the number of that send; undefined if all sends are done. */
  any(): readonly [SendTracker, number] | undefined {
    this.#forget();
    return this.#numbers.entries().next().value;
  }
}
