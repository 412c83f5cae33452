import { textOf } from "../../internal/texts.ts";
import { find, type Source } from "../../wait/loop.ts";
import { inTurn, mayContinue, nextTurn } from "../../wait/turns.ts";
import type { CLOSED } from "../core/until_closed.ts";
import type { WorkCompletion } from "./work_completion.ts";

/** The queue that an iteration is over. */
export interface CompletionSource<C = WorkCompletion> extends Omit<Source, "bell"> {
  /** The oldest completion of those that were read. */
  readonly take: () => C;
  /** Waits for an event of the queue. */
  readonly wait: (signal: AbortSignal | undefined) => Promise<unknown>;
  /** Ends the iteration: it throws the reason. */
  readonly signal: AbortSignal | undefined;
  /** What the outcome of a step is that has failed. */
  readonly orClosed: (error: unknown) => typeof CLOSED;
}

/**
 * The iterator of `CompletionQueue.completions`. `C` is the class of
 * the completions.
 *
 * @category Completions
 */
export class Completions<C = WorkCompletion> implements AsyncIterableIterator<C, void, void> {
  readonly #source: CompletionSource<C>;
  /** Whether the event loop has to run before the next completion is given. */
  #mustYield = false;
  #ended = false;
  /** How many steps run or wait for those before them, and the last of them. */
  #steps = 0;
  #last: Promise<IteratorResult<C, void>> = Promise.resolve(END);

  /** @ignore Iterates over a queue. */
  constructor(source: CompletionSource<C>) {
    this.#source = source;
  }

  /** The next completion. */
  next(): Promise<IteratorResult<C, void>> {
    // Alone, because each promise that a step waits for costs as much as a poll.
    if (this.#steps++ === 0) return this.#last = this.#step();
    const step = (): Promise<IteratorResult<C, void>> => this.#step();
    return this.#last = this.#last.then(step, step);
  }

  /** Ends the iteration. Completions that were polled ahead stay in the queue. */
  return(): Promise<IteratorResult<C, void>> {
    return inTurn(() => this.#end(() => Promise.resolve(END)));
  }

  /** Ends the iteration with an error. */
  throw(error: unknown): Promise<IteratorResult<C, void>> {
    return inTurn(() => this.#end(() => Promise.reject(error)));
  }

  /** The iterator itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the iteration, as `Completions.return` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Ends after the steps before it, as an async generator does. */
  #end(result: () => Promise<IteratorResult<C, void>>): Promise<IteratorResult<C, void>> {
    const end = (): Promise<IteratorResult<C, void>> => {
      this.#steps--;
      this.#ended = true;
      return result();
    };
    const ended = this.#steps++ === 0 ? end() : this.#last.then(end, end);
    this.#last = ended;
    return ended;
  }

  #isTurnOver(): boolean {
    return this.#mustYield ||= !mayContinue();
  }

  async #step(): Promise<IteratorResult<C, void>> {
    try {
      while (!this.#ended) {
        const completion = this.#takeNow();
        if (completion !== undefined) return { value: completion, done: false };
        await this.#rest();
      }
      return END;
    } catch (error) {
      this.#ended = true;
      this.#source.orClosed(error);
      return END;
    } finally {
      this.#steps--;
    }
  }

  /** A completion that is there, or comes while it polls; else `undefined`, and the queue is armed. */
  #takeNow(): C | undefined {
    const source = this.#source;
    source.signal?.throwIfAborted();
    return !this.#isTurnOver() && find(source) ? source.take() : undefined;
  }

  /** Waits for an event, or for the event loop if its turn is over. */
  async #rest(): Promise<void> {
    if (!this.#mustYield) return void await this.#source.wait(this.#source.signal);
    await nextTurn();
    this.#mustYield = false;
  }

  /** Whether it has ended. */
  toString(): string {
    return textOf("Completions", { ended: this.#ended });
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

const END: IteratorReturnResult<void> = Object.freeze({ value: undefined, done: true });
