import type { BusyPoll } from "../../internal/busy_poll.ts";
import { mayContinue, nextTurn, readers } from "../../internal/turns.ts";
import type { CompletionChannel, CompletionQueue } from "../../mod.ts";

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
}

/** The most completions of a poll. */
export const BATCH = 64;

/** While nobody waits, a queue is read after pauses in milliseconds: short ones while each finds something. */
const SHORT_PAUSE_MS = 1;
const LONG_PAUSE_MS = 8;

/**
 * Where more completions than these have come since the last wait, others come soon after the next one. A wait that sleeps
 * gets several together, and one that polls gets each for itself, which takes longer for all.
 */
const SPARSE = 2;

/** What a pump does between two looks at its queue. */
type State =
  | "off"
  /** Nobody waits: it looks after a pause. */
  | "pausing"
  /** The queue is armed: it looks when there is an event. */
  | "watching"
  /** It goes on when others had their turn. */
  | "yielding";

/** Reads the completions of a queue: by events while somebody waits for them, and else now and then. */
export class Pump {
  /** Resolves when nothing waits for events any more. */
  ended: Promise<void> = Promise.resolve();
  readonly #pumping: Pumping;
  readonly #watch: ReturnType<CompletionChannel["watch"]>;
  #state: State = "off";
  #pauseMs = LONG_PAUSE_MS;
  /** Completions since the last wait. */
  #read = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the time of a pause is over, and the queue was not read since. */
  #isPauseOver = false;
  readonly #readInTurn = (): void => void (this.#pumping.isAwaited() && this.read());
  readonly #run = (): void => {
    try {
      this.#goOn();
    } catch (error) {
      this.#fail(error);
    }
  };

  constructor(pumping: Pumping) {
    this.#pumping = pumping;
    this.#watch = pumping.cq.channel!.watch((error) => {
      readers.delete(this.#readInTurn);
      if (error === undefined) this.#run();
      else this.#fail(error);
    });
  }

  /** Reads until the queue is closed, or nothing is to be read. */
  start(): void {
    if (this.#state !== "off") return this.look();
    this.#run();
  }

  /** Takes note of what has changed: somebody waits, or nobody does any more, or the queue is closed. */
  look(): void {
    if (this.#state === "off") return;
    if (!this.#pumping.isOpen()) return this.#stop();
    this.#watch.hold(this.#isHeld);
    if (this.#state !== "pausing") return;
    if (!this.#pumping.isAwaited()) return this.#holdPause();
    // Not at once: what the caller posts next goes out before a wait polls for the first of it.
    this.#state = "yielding";
    queueMicrotask(this.#run);
  }

  /** Reads completions. Returns how many there were. */
  read(): number {
    const count = this.#pumping.drain();
    this.#read += count;
    return count;
  }

  // A wait that nobody needs any more goes on until there is an event.
  get #isHeld(): boolean {
    return this.#pumping.isAwaited() || this.#pumping.unawaited() === "expected";
  }

  #stop(): void {
    this.#state = "off";
    clearTimeout(this.#timer);
    this.#timer = undefined;
    readers.delete(this.#readInTurn);
    this.ended = this.#watch.end();
  }

  #fail(error: unknown): void {
    this.#stop();
    this.#pumping.onError(error);
  }

  #goOn(): void {
    const { isOpen, isAwaited, onRead, unawaited } = this.#pumping;
    this.#state = "yielding";
    while (isOpen()) {
      const count = this.read();
      if (this.#isPauseOver) {
        this.#pauseMs = count > 0 ? SHORT_PAUSE_MS : LONG_PAUSE_MS;
        this.#isPauseOver = false;
      }
      // Reading can fail, which closes the queue.
      if (count === 0 && isOpen()) {
        if (!isAwaited()) return unawaited() === "nothing" ? this.#stop() : this.#pause();
        if (!this.#wait()) return;
      }
      if (!isOpen()) break;
      const reading = onRead?.() ?? (mayContinue() ? undefined : nextTurn());
      if (reading !== undefined) return void reading.then(this.#run, (error) => this.#fail(error));
    }
    this.#stop();
  }

  /** Returns whether there is something to be done at once. */
  #wait(): boolean {
    const { busyPoll, cq, isOpen } = this.#pumping;
    const isSparse = this.#read <= SPARSE;
    this.#read = 0;
    // Hundreds of connections may begin to wait in one turn of the event loop.
    if (isSparse && mayContinue() && busyPoll.finds(() => this.read() > 0)) return true;
    this.#watch.arm(cq);
    // A completion before the arming makes no event.
    if (this.read() > 0 || !isOpen()) return true;
    this.#state = "watching";
    readers.add(this.#readInTurn);
    this.#watch.begin(this.#isHeld);
    return false;
  }

  /** Ends early if somebody begins to wait. Pauses share a timer, because most of them are short. */
  #pause(): void {
    this.#state = "pausing";
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#state !== "pausing") return;
      this.#isPauseOver = true;
      this.#run();
    }, this.#pauseMs);
    this.#holdPause();
  }

  #holdPause(): void {
    if (this.#timer === undefined) return;
    if (this.#pumping.unawaited() === "expected") Deno.refTimer(this.#timer);
    else Deno.unrefTimer(this.#timer);
  }
}
