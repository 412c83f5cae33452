import { reconsider, type Resource } from "./resource.ts";

/**
 * Counts the sends of one queue pair, so that what they use is kept until their completions have been polled. Sends
 * complete in order: a completion means that its send and all before it are done.
 *
 * Failed sends are not counted, because a failed completion does not tell whether it is of a send or a receive. They put
 * the queue pair into an error state, and what they used is kept until it is reset, recovered or destroyed.
 */
export class SendTracker {
  /** Numbers of the signaled sends under way, oldest first, as a ring. */
  #signaled: Float64Array<ArrayBuffer>;
  #head = 0;
  #tail = 0;
  #posted = 0;
  #completed = 0;
  /** What was disposed while sends used it, with the number of the last of them. */
  readonly #disposed: Map<Resource, number> = new Map();

  /** Makes room for that many signaled sends under way; it grows where there are more. */
  constructor(maxSendWr: number) {
    this.#signaled = new Float64Array(2 ** Math.ceil(Math.log2(maxSendWr + 2)));
  }

  /** Notes a send that was posted, and returns its number. */
  posted(signaled: boolean): number {
    const number = ++this.#posted;
    if (!signaled) return number;
    this.#signaled[this.#tail] = number;
    this.#tail = (this.#tail + 1) & (this.#signaled.length - 1);
    if (this.#tail === this.#head) this.#grow();
    return number;
  }

  #grow(): void {
    const { length } = this.#signaled;
    const grown = new Float64Array(2 * length);
    grown.set(this.#signaled.subarray(this.#head));
    grown.set(this.#signaled.subarray(0, this.#head), length - this.#head);
    this.#signaled = grown;
    this.#head = 0;
    this.#tail = length;
  }

  /** Notes the completion of the oldest signaled send. */
  completed(): void {
    if (this.#head === this.#tail) return;
    this.#completed = this.#signaled[this.#head]!;
    this.#head = (this.#head + 1) & (this.#signaled.length - 1);
    if (this.#disposed.size > 0) this.#release();
  }

  /** Notes that no send is under way any more: the queue pair was reset, recovered or destroyed. */
  ended(): void {
    this.#completed = this.#posted;
    this.#head = this.#tail = 0;
    this.#release();
  }

  /** Whether the send of that number is under way. */
  isUnderWay(number: number): boolean {
    return number > this.#completed;
  }

  /** Has a disposed resource destroyed when the send of that number is done. */
  whenDone(number: number, resource: Resource): void {
    this.#disposed.set(resource, number);
  }

  #release(): void {
    for (const [resource, number] of this.#disposed) {
      if (this.isUnderWay(number)) continue;
      this.#disposed.delete(resource);
      reconsider(resource);
    }
  }
}
