/**
 * Completions that were polled ahead.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import type { WorkCompletion } from "./work_completion.ts";
import {
  capacityOf,
  extraOf,
  setLength,
  viewOf,
  type WorkCompletions,
} from "./work_completions.ts";

const { size: SIZE } = structs.ibv_wc;

/** The completions that a queue has polled and not given out yet, oldest first. */
export class Backlog {
  readonly #makeBatch: (capacity: number) => WorkCompletions;
  #batch: WorkCompletions;
  /** The oldest one that was not given out. */
  #start = 0;

  /** Starts without completions. The function allocates memory for them. */
  constructor(makeBatch: (capacity: number) => WorkCompletions) {
    this.#makeBatch = makeBatch;
    this.#batch = makeBatch(1);
  }

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
    if (this.#batch.capacity < capacity) this.#batch = this.#makeBatch(capacity);
    this.#start = 0;
    setLength(this.#batch, 0);
    return this.#batch;
  }

  /** Adds the completions of a batch as the newest ones. */
  append(batch: WorkCompletions): void {
    const { length } = this;
    const all = this.#makeBatch(Math.max(length + batch.length, this.#batch.capacity));
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
  copyBytes(from, start * SIZE, to, at * SIZE, count * SIZE);
  const extra = extraOf(to);
  // A batch of the caller may have no place for what an extended queue reports.
  if (extra === 0 || extraOf(from) !== extra) return;
  const [source, target] = [from, to].map((batch) => capacityOf(batch) * SIZE) as [number, number];
  copyBytes(from, source + start * extra, to, target + at * extra, count * extra);
}

function copyBytes(
  from: WorkCompletions,
  start: number,
  to: WorkCompletions,
  at: number,
  length: number,
): void {
  const source = new Uint8Array(viewOf(from).buffer, start, length);
  new Uint8Array(viewOf(to).buffer).set(source, at);
}
