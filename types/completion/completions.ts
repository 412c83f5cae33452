import type { BusyPoll } from "../../internal/busy_poll.ts";
import { inTurn, mayContinue, nextTurn } from "../../internal/turns.ts";
import type { WorkCompletion } from "./work_completion.ts";

/** The queue that an iteration is over. */
export interface CompletionSource<C = WorkCompletion> {
  /** The oldest completion; `undefined` if there is none. It polls if no completion was polled ahead. */
  readonly take: () => C | undefined;
  /** Asks for an event with the next completion. */
  readonly arm: () => void;
  /** Waits for an event of the queue. */
  readonly wait: (signal: AbortSignal | undefined) => Promise<unknown>;
  /** Ends the iteration. */
  readonly signal: AbortSignal | undefined;
  /** How long it polls before it waits for an event. */
  readonly busyPoll: BusyPoll;
}

/**
 * The iterator of {@linkcode CompletionQueue.prototype.completions | CompletionQueue.completions}. `C` is the class of
 * the completions.
 *
 * @category Completions
 */
export class Completions<C = WorkCompletion> implements AsyncIterableIterator<C, void, void> {
  readonly #source: CompletionSource<C>;
  /** Whether the event loop has to run before the next completion is given. */
  #mustYield = false;
  #ended = false;
  /** The last step, while it runs. */
  #running: Promise<IteratorResult<C, void>> | undefined;

  /** @ignore Iterates over a queue. */
  constructor(source: CompletionSource<C>) {
    this.#source = source;
  }

  /** The next completion. */
  next(): Promise<IteratorResult<C, void>> {
    if (this.#running !== undefined || this.#ended) return this.#afterOthers();
    try {
      const completion = this.#takeNow();
      if (completion !== undefined) return Promise.resolve({ value: completion, done: false });
    } catch (error) {
      this.#ended = true;
      return Promise.reject(error);
    }
    return this.#afterOthers();
  }

  /** Apart from next(), so that next() allocates no closure. */
  #afterOthers(): Promise<IteratorResult<C, void>> {
    return this.#after(() => this.#step());
  }

  /** Ends the iteration. Completions that were polled ahead stay in the queue. */
  return(): Promise<IteratorResult<C, void>> {
    return inTurn(() =>
      this.#after(async () => {
        this.#ended = true;
        return await END;
      })
    );
  }

  /** Ends the iteration with an error. */
  throw(error: unknown): Promise<IteratorResult<C, void>> {
    return inTurn(() =>
      this.#after(async () => {
        this.#ended = true;
        return await Promise.reject(error);
      })
    );
  }

  /** The iterator itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the iteration, as {@linkcode Completions.return} does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Runs a step after those before it, as an async generator does. */
  #after(step: () => Promise<IteratorResult<C, void>>): Promise<IteratorResult<C, void>> {
    const result = this.#running === undefined ? step() : this.#running.then(step, step);
    this.#running = result;
    const over = (): void => {
      if (this.#running === result) this.#running = undefined;
    };
    result.then(over, over);
    return result;
  }

  /** A completion, if one is there and nothing else is to be done first. */
  #takeNow(): C | undefined {
    if (this.#source.signal?.aborted || this.#isTurnOver()) return undefined;
    return this.#source.take();
  }

  #isTurnOver(): boolean {
    return this.#mustYield ||= !mayContinue();
  }

  async #step(): Promise<IteratorResult<C, void>> {
    if (this.#ended) return END;
    try {
      return { value: await this.#wait(), done: false };
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  async #wait(): Promise<C> {
    const { take, arm, wait, signal, busyPoll } = this.#source;
    for (;;) {
      signal?.throwIfAborted();
      if (this.#isTurnOver()) {
        await nextTurn();
        this.#mustYield = false;
        continue;
      }
      let completion = take();
      if (completion !== undefined) return completion;
      if (busyPoll.finds(() => (completion = take()) !== undefined)) return completion!;
      // The queue is polled once more after it was armed: a completion before the arming makes no event.
      arm();
      completion = take();
      if (completion !== undefined) return completion;
      await wait(signal);
    }
  }
}

const END: IteratorReturnResult<void> = Object.freeze({ value: undefined, done: true });
