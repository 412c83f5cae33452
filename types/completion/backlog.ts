/**
 * Completions that were polled ahead.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import type { WorkCompletion } from "./work_completion.ts";
import { setLength, viewOf, WorkCompletions } from "./work_completions.ts";

const { size: SIZE } = structs.ibv_wc;

/** The completions that a queue has polled and not given out yet, oldest first. */
export class Backlog {
  #batch: WorkCompletions = new WorkCompletions(1);
  /** The oldest one that was not given out. */
  #start = 0;

  /** How many there are. */
  get length(): number {
    return this.#batch.length - this.#start;
  }

  /** Gives out the oldest one. There must be one. */
  shift(): WorkCompletion {
    return this.#batch.at(this.#start++);
  }

  /** Gives out the oldest ones into a batch, as many as there are and as fit. Returns how many. */
  moveTo(batch: WorkCompletions, most: number): number {
    const count = Math.min(this.length, most);
    copy(this.#batch, this.#start, batch, 0, count);
    this.#start += count;
    setLength(batch, count);
    return count;
  }

  /** A batch to poll into while there are no completions. What is polled into it becomes the backlog. */
  refill(capacity: number): WorkCompletions {
    if (this.#batch.capacity < capacity) this.#batch = new WorkCompletions(capacity);
    this.#start = 0;
    setLength(this.#batch, 0);
    return this.#batch;
  }

  /** Adds the completions of a batch as the newest ones. */
  append(batch: WorkCompletions): void {
    const { length } = this;
    const all = new WorkCompletions(Math.max(length + batch.length, this.#batch.capacity));
    copy(this.#batch, this.#start, all, 0, length);
    copy(batch, 0, all, length, batch.length);
    setLength(all, length + batch.length);
    this.#batch = all;
    this.#start = 0;
  }
}

function copy(
  from: WorkCompletions,
  start: number,
  to: WorkCompletions,
  at: number,
  count: number,
): void {
  const source = new Uint8Array(viewOf(from).buffer, start * SIZE, count * SIZE);
  new Uint8Array(viewOf(to).buffer).set(source, at * SIZE);
}
