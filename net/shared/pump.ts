import type { BusyPoll } from "../../internal/busy_poll.ts";
import { mayContinue, nextTurn, readInTurns } from "../../internal/turns.ts";
import type { CompletionQueue } from "../../mod.ts";

export interface Pumping {
  readonly cq: CompletionQueue;
  /** Reads completions without waiting. Returns how many there were. */
  readonly drain: () => number;
  readonly isOpen: () => boolean;
  /** Whether somebody waits for completions. */
  readonly isAwaited: () => boolean;
  /** What is read while nobody waits: nothing, completions, or completions for which the program stays alive. */
  readonly unawaited: () => "nothing" | "any" | "expected";
  readonly busyPoll: BusyPoll;
  /** It is called after completions were read, or an event has come. */
  readonly onRead?: () => Promise<void> | undefined;
  /** It is called when reading has failed. */
  readonly onError: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/** While nobody waits, a queue is read after pauses in milliseconds: short ones while each finds something. */
const SHORT_PAUSE_MS = 1;
const LONG_PAUSE_MS = 8;

/**
 * Where more completions than these have come since the last wait, others come soon after the next one. A wait that sleeps
 * gets several together, and one that polls gets each for itself, which takes longer for all.
 */
const SPARSE = 2;

/** Reads the completions of a queue: by events while somebody waits for them, and else now and then. */
export class Pump {
  /** Resolves when nothing waits for events any more. */
  ended: Promise<void> = Promise.resolve();
  readonly #pumping: Pumping;
  #isRunning = false;
  #pauseMs = LONG_PAUSE_MS;
  /** Completions since the last wait. */
  #read = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the time of a pause is over, and the queue was not read since. */
  #isPauseOver = false;
  #endPause: () => void = () => {};

  constructor(pumping: Pumping) {
    this.#pumping = pumping;
  }

  /** Reads until the queue is closed, or nothing is to be read. */
  start(): void {
    this.look();
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.ended = this.#run().catch(this.#pumping.onError).finally(() => {
      this.#isRunning = false;
      this.#stop();
    });
  }

  /** Takes note of what has changed: somebody waits, or nobody does any more, or the queue is closed. */
  look(): void {
    const { cq, isOpen, isAwaited, unawaited } = this.#pumping;
    if (!isOpen()) return this.#stop();
    if (isAwaited()) this.#endPause();
    // A wait that nobody needs any more goes on until there is an event.
    if (isAwaited() || unawaited() === "expected") cq.channel!.ref();
    else cq.channel!.unref();
    this.#holdPause();
  }

  /** Reads completions. Returns how many there were. */
  read(): number {
    const count = this.#pumping.drain();
    this.#read += count;
    return count;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#endPause();
  }

  async #run(): Promise<void> {
    const { isOpen, isAwaited, onRead, unawaited } = this.#pumping;
    while (isOpen()) {
      const count = this.read();
      if (this.#isPauseOver) {
        this.#pauseMs = count > 0 ? SHORT_PAUSE_MS : LONG_PAUSE_MS;
        this.#isPauseOver = false;
      }
      if (count === 0) {
        if (isAwaited()) await this.#wait();
        else if (unawaited() === "nothing") return;
        else {
          await this.#pause();
          continue;
        }
      }
      if (!isOpen()) return;
      // An event that is waited for again in the same turn of the event loop saves the watcher a system call.
      const reading = onRead?.();
      if (reading !== undefined) await reading;
      else if (!mayContinue()) await nextTurn();
    }
  }

  async #wait(): Promise<void> {
    const { busyPoll, cq, isAwaited, signal } = this.#pumping;
    const isSparse = this.#read <= SPARSE;
    this.#read = 0;
    // Hundreds of connections may begin to wait in one turn of the event loop.
    if (isSparse && mayContinue() && busyPoll.finds(() => this.read() > 0)) return;
    cq.reqNotify();
    const read = (): void => void (isAwaited() && this.read());
    // A completion before the arming makes no event.
    if (this.read() === 0) await readInTurns(read, cq.channel!.getCqEvent({ signal }));
  }

  /** Ends early if somebody begins to wait. Pauses share a timer, because most of them are short. */
  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#endPause = resolve;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#isPauseOver = true;
      this.#endPause();
    }, this.#pauseMs);
    this.#holdPause();
    return promise;
  }

  #holdPause(): void {
    if (this.#timer === undefined) return;
    if (this.#pumping.unawaited() === "expected") Deno.refTimer(this.#timer);
    else Deno.unrefTimer(this.#timer);
  }
}
