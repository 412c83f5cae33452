import type { IbvCq } from "../../ffi/handles.ts";
import { textOf } from "../../internal/texts.ts";
import type { BusyPoll } from "../../wait/busy_poll.ts";
import { find, type Source } from "../../wait/loop.ts";
import { inTurn, mayContinue, nextTurn } from "../../wait/turns.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { throwUnlessClosed } from "../core/until_closed.ts";
import type { ChannelEvents } from "./channel_events.ts";
import type { CqCore } from "./cq_core.ts";
import type { WorkCompletion } from "./work_completion.ts";

/** The parts of an iteration. */
export interface CompletionsParts<C> {
  readonly cq: NativeResource<IbvCq>;
  readonly core: Pick<CqCore<C>, "ahead" | "take">;
  /** The events of the channel of the queue. */
  readonly events: Pick<ChannelEvents<NativeResource<IbvCq>>, "arm" | "wait">;
  /** How many completions it polls at a time. */
  readonly batch: number;
  readonly busyPoll: Pick<BusyPoll, "finds">;
  /** Ends the iteration: it throws the reason. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The iterator of `CompletionQueue.completions`. `C` is the class of
 * the completions.
 *
 * @category Completions
 */
export class Completions<C = WorkCompletion> implements AsyncIterableIterator<C, void, void> {
  readonly #parts: CompletionsParts<C>;
  readonly #source: Omit<Source, "bell">;
  /** Whether the event loop has to run before the next completion is given. */
  #mustYield = false;
  #ended = false;
  /** How many steps run or wait for those before them, and the last of them. */
  #steps = 0;
  #last: Promise<IteratorResult<C, void>> = Promise.resolve(END);

  /** @ignore Iterates over a queue. */
  constructor(parts: CompletionsParts<C>) {
    const { cq, core, events, batch, busyPoll } = this.#parts = parts;
    this.#source = {
      read: () => core.ahead(cq.unsafeHandle, batch),
      arm: () => events.arm(cq),
      busyPoll,
    };
  }

  /** The next completion. */
  next(): Promise<IteratorResult<C, void>> {
    // A step with none before it runs at once: each promise that it waits for costs as much as a poll.
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
    const { cq, core, events, signal } = this.#parts;
    try {
      while (!this.#ended) {
        signal?.throwIfAborted();
        if (this.#isTurnOver()) {
          await nextTurn();
          this.#mustYield = false;
        } else if (find(this.#source)) return { value: core.take(), done: false };
        else await events.wait(cq, signal);
      }
      return END;
    } catch (error) {
      this.#ended = true;
      throwUnlessClosed(error, cq, signal);
      return END;
    } finally {
      this.#steps--;
    }
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
