/** The loop of all waiting: poll, spin, arm, poll again, sleep. */

import type { Bell, Need, Sleep } from "./bell.ts";
import type { BusyPoll } from "./busy_poll.ts";
import { timers } from "./clock.ts";
import { IDLE_MS, IdleCheck, PROMPT_MS } from "./idle_check.ts";
import { state } from "./state.ts";
import { mayContinue, nextTurn } from "./turns.ts";

/** What is waited for. */
export interface Source {
  /** Reads what has arrived, without waiting. Returns how much there was. */
  readonly read: () => number;
  /** Makes the bell ring for what comes next. A source whose bell also rings for what came before has none. */
  readonly arm?: (() => void) | undefined;
  /** Ends the sleeps. */
  readonly bell: Bell;
  /** How it polls before it sleeps, if it does. */
  readonly busyPoll?: Pick<BusyPoll, "finds"> | undefined;
}

/** Polls, for a while if that is worth it, and arms. Returns whether there was something; if not, it is time to sleep. */
export function find({ read, arm, busyPoll }: Omit<Source, "bell">): boolean {
  if (read() > 0 || busyPoll?.finds(read)) return true;
  if (arm === undefined) return false;
  arm();
  // What came before the arming does not ring.
  return read() > 0;
}

/** Waits on this thread, until a time of `clock.precise()`. Returns `false` if the time has run out. */
export function findSync(source: SyncSource, until: number): boolean {
  while (!find(source)) if (!source.bell.sleepSync(until)) return false;
  return true;
}

interface SyncSource extends Omit<Source, "bell"> {
  readonly bell: Pick<Bell, "sleepSync">;
}

/**
 * Why a source is read: for waiters, as urgently as they need it; for something expected, for which the process stays
 * alive; for anything that comes; or not at all.
 */
export type Want = Need | "expected" | "any" | "nothing";

/** A source that is read by callbacks, as long as something needs it. */
export interface Task extends Source {
  readonly isOpen: () => boolean;
  readonly want: () => Want;
  /** It is called when reading has failed, also in a turn of another loop. It must not throw. */
  readonly onError: (error: unknown) => void;
}

/** The state of a loop between two looks at its source. */
type State =
  | "off"
  /** Nobody waits: it looks after a pause. */
  | "pausing"
  /** It looks when the bell rings. */
  | "sleeping"
  /** It runs, or will in a later microtask or turn. */
  | "yielding";

/** Reads a source: when its bell rings while something waits, and now and then while nothing does. */
export class Loop {
  readonly #task: Task;
  /** The task as its waiters read it. */
  readonly #source: Omit<Source, "bell">;
  #state: State = "off";
  #step = 0;
  #sleep: Sleep | undefined;
  /** Whether something may have arrived that no bell rings for. */
  #mayBeThere: boolean;
  /** Whether a wait has polled without success, and sleeps now. */
  #hasSpun = false;
  #hasFound = false;
  /** Reads while nobody waits. */
  readonly #idleCheck = new IdleCheck(() => this.#lookOnce());
  readonly #readInTurn = (): void => {
    try {
      if (this.#isAwaited) this.#task.read();
    } catch (error) {
      this.#fail(error);
    }
  };

  /** Reads nothing before `Loop.update`. */
  constructor(task: Task) {
    this.#task = task;
    this.#mayBeThere = task.arm !== undefined;
    this.#source = {
      read: () => this.#read(),
      arm: task.arm,
      busyPoll: { finds: () => this.#spinOnce() },
    };
  }

  /** Notes a change: a wait has begun, the last one has ended, or the source is closed. */
  update(): void {
    if (!this.#task.isOpen() || this.#task.want() === "nothing") return this.#stop();
    this.#sleep?.hold(this.#need);
    if (this.#state === "off" || this.#state === "pausing" && this.#isAwaited) this.#runSoon();
    else if (this.#state === "pausing") this.#idleCheck.hold(this.#need === "held");
  }

  /** Reads until a wait has ended. The last wait leaves no thread behind. */
  async until<T>(waited: Promise<T>): Promise<T> {
    this.update();
    try {
      return await waited;
    } finally {
      this.update();
      const round = state.descriptors?.pendingRound;
      if (round !== undefined) await round;
    }
  }

  /** Has it read before it sleeps, although no bell has rung: what is waited for may be there already. */
  expect(): void {
    this.#mayBeThere = true;
  }

  /** Makes it read for the waiters although no bell rings. */
  wake(): void {
    this.expect();
    if (this.#state !== "sleeping") return;
    this.#endSleep();
    this.#runSoon();
  }

  /** Polls for a while. Returns whether it found something. */
  spin(): boolean {
    const { busyPoll, read } = this.#task;
    if (busyPoll === undefined) return false;
    state.polls++;
    if (state.unposted.size > 0) { for (const sender of state.unposted) sender.flush(); }
    // Hundreds of connections may begin to wait in one turn of the event loop.
    const hasFound = mayContinue() && busyPoll.finds(read);
    this.#hasSpun = !hasFound;
    return hasFound;
  }

  get #isAwaited(): boolean {
    const want = this.#task.want();
    return want === "held" || want === "prompt" || want === "idle";
  }

  // While nobody waits, a sleep goes on until the bell rings, if the source is read then too.
  get #need(): Need {
    const want = this.#task.want();
    if (want === "expected") return "held";
    return want === "any" || want === "nothing" ? "idle" : want;
  }

  /** Not at once: what the caller does next, such as a post, comes before a wait polls for the first of it. */
  #runSoon(): void {
    const step = this.#yield();
    timers.queueMicrotask(() => this.#runStep(step));
  }

  /** The number of the next step. Steps before it, which may be scheduled, do not run any more. */
  #yield(): number {
    this.#state = "yielding";
    return ++this.#step;
  }

  #runStep(step: number): void {
    if (step === this.#step) this.#run();
  }

  #run(): void {
    try {
      this.#goOn();
    } catch (error) {
      this.#fail(error);
    }
  }

  #goOn(): void {
    const { isOpen, want } = this.#task;
    while (isOpen() && want() !== "nothing") {
      const isAwaited = this.#isAwaited;
      const hasFound = isAwaited ? find(this.#source) : this.#read() > 0;
      // Code of the program, which may begin to wait, runs only if something was read.
      if (!hasFound) return isAwaited ? this.#beginSleep() : this.#pause();
      this.#hasFound = true;
      if (!mayContinue()) return this.#runInTurn();
    }
    // What is still there rings when somebody waits again.
    this.#mayBeThere = this.#task.arm !== undefined;
    this.#stop();
  }

  #runInTurn(): void {
    const step = this.#yield();
    void nextTurn().then(() => this.#runStep(step));
  }

  /** Reads if something may be there. Reading can fail, which closes the source: then there is no need to sleep. */
  #read(): number {
    if (!this.#mayBeThere) return 0;
    const { arm, isOpen, read } = this.#task;
    const count = read();
    this.#mayBeThere = arm !== undefined || count > 0;
    return isOpen() ? count : 1;
  }

  #spinOnce(): boolean {
    const hasFound = !this.#hasSpun && this.spin();
    this.#hasSpun = false;
    this.#mayBeThere ||= hasFound;
    return hasFound;
  }

  #beginSleep(): void {
    this.#state = "sleeping";
    this.#idleCheck.rest();
    state.readers.add(this.#readInTurn);
    this.#sleep = this.#task.bell.sleep(this.#need, (error) => {
      this.#endSleep();
      if (error !== undefined) return this.#fail(error);
      this.#mayBeThere = true;
      this.#yield();
      this.#run();
    });
  }

  #endSleep(): void {
    state.readers.delete(this.#readInTurn);
    this.#sleep?.cancel();
    this.#sleep = undefined;
  }

  /** Ends early if a wait begins. */
  #pause(): void {
    this.#state = "pausing";
    this.#idleCheck.begin(this.#need === "held", IDLE_MS, PROMPT_MS);
  }

  #lookOnce(): boolean {
    // It has looked already, and goes on in the next turn.
    if (this.#state !== "pausing") return true;
    this.#hasFound = false;
    this.#yield();
    this.#run();
    return this.#hasFound;
  }

  #stop(): void {
    this.#state = "off";
    this.#step++;
    this.#idleCheck.end();
    this.#endSleep();
  }

  #fail(error: unknown): void {
    this.#stop();
    this.#task.onError(error);
  }
}
