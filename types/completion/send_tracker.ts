import { reconsider, type Resource } from "../core/resource.ts";

/**
 * Counts the sends of one queue pair, so that what they use is kept until their completions have been polled. Sends
 * complete in order: a completion means that its send and all before it are done.
 *
 * Failed sends are not counted, because a failed completion does not tell whether it is of a send or a receive. They put
 * the queue pair into an error state, and what they used is kept until it is reset, recovered or destroyed.
 */
export class SendTracker {
  /** Signaled sends posted. A send's number is that of the signaled ones up to it, with itself or else the next one. */
  #posted = 0;
  /** Signaled sends completed. */
  #completed = 0;
  /** What was disposed while sends used it, with the number of the last of them. */
  readonly #disposed: Map<Resource, number> = new Map();

  /** Notes that so many signaled sends were posted, and returns how many had been before. */
  posted(signaled: number): number {
    const before = this.#posted;
    this.#posted += signaled;
    return before;
  }

  /** Notes the completion of the oldest signaled sends. */
  completed(count: number): void {
    this.#completed = Math.min(this.#completed + count, this.#posted);
    if (this.#disposed.size > 0) this.#release();
  }

  /** Notes that no send is under way any more: the queue pair was reset, recovered or destroyed. */
  ended(): void {
    // a number of its own, as unsignaled sends behind the last signaled one have that of the next
    this.#completed = ++this.#posted;
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
