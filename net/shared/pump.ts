import type { BusyPoll } from "../../internal/busy_poll.ts";
import { timers } from "../../internal/clock.ts";
import { Glance } from "../../internal/glance.ts";
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

/** What waits of all connections of the program have in common. */
export const waits: {
  /** How many there were. */
  count: number;
  /**
   * Those who have datagrams in a list that is not posted. A wait that polls holds up everything else, be it what its answer
   * depends on.
   */
  readonly unposted: Set<{ readonly flush: () => void }>;
} = { count: 0, unposted: new Set() };

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
  /** Whether somebody has polled in vain, and waits now. */
  #hasSpun = false;
  readonly #finds = (): boolean => this.read() > 0;
  /** Reads while nobody waits. */
  readonly #glance = new Glance(() => this.#lookOnce());
  #hasFound = false;
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
    if (!this.#pumping.isAwaited()) return this.#glance.hold(this.#isExpecting);
    // Not at once: what the caller posts next goes out before a wait polls for the first of it.
    this.#state = "yielding";
    timers.queueMicrotask(this.#run);
  }

  /** Reads completions. Returns how many there were. */
  read(): number {
    return this.#pumping.drain();
  }

  /** Reads completions for a while. Returns whether there were any. */
  spin(): boolean {
    const { busyPoll } = this.#pumping;
    waits.count++;
    if (waits.unposted.size > 0) { for (const sender of waits.unposted) sender.flush(); }
    // Hundreds of connections may begin to wait in one turn of the event loop.
    const hasFound = mayContinue() && busyPoll.finds(this.#finds);
    this.#hasSpun = !hasFound;
    return hasFound;
  }

  // A wait that nobody needs any more goes on until there is an event.
  get #isHeld(): boolean {
    return this.#pumping.isAwaited() || this.#isExpecting;
  }

  get #isExpecting(): boolean {
    return this.#pumping.unawaited() === "expected";
  }

  #stop(): void {
    this.#state = "off";
    this.#glance.end();
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
      this.#hasFound ||= count > 0;
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
    const { cq, isOpen } = this.#pumping;
    if (!this.#hasSpun && this.spin()) return true;
    this.#hasSpun = false;
    this.#watch.arm(cq);
    // A completion before the arming makes no event.
    if (this.read() > 0 || !isOpen()) return true;
    this.#state = "watching";
    this.#glance.rest();
    readers.add(this.#readInTurn);
    this.#watch.begin(this.#isHeld);
    return false;
  }

  /** Ends early if somebody begins to wait. */
  #pause(): void {
    this.#state = "pausing";
    this.#glance.begin(this.#isExpecting);
  }

  #lookOnce(): boolean {
    // It has looked already, and goes on in the next turn.
    if (this.#state !== "pausing") return true;
    this.#hasFound = false;
    this.#run();
    return this.#hasFound;
  }
}
