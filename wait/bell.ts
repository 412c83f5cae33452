import type { SystemError } from "../ffi/system_error.ts";

/** Is called once when a sleep is over: something may be there to read. It gets an error if there is no waiting. */
export type OnWake<E = unknown> = (error?: E) => void;

/** A sleep that calls back. */
export interface Sleep {
  /** Ends it: it does not call back any more. After its end this does nothing. */
  cancel(): void;
  /** Says whether the process stays alive during the sleep. */
  hold(isHeld: boolean): void;
}

/** What ends sleeps. It rings once for each sleep, also if what it rings for was there before. */
export interface Bell {
  /** Begins to sleep. */
  sleep(isHeld: boolean, wake: OnWake): Sleep;
  /** Sleeps on this thread, until a time of `clock.precise()`. Returns `false` if the time is over. */
  sleepSync(until: number): boolean;
}

/** What waits for descriptors. */
export interface Watcher {
  watch(fd: number, isHeld: boolean, wake: OnWake<SystemError>, isSeldom: boolean): Sleep;
  readonly pendingRound: Promise<void> | undefined;
  end(): void;
}

/** The name of the method that gives how one waits for a queue: only connections call it. */
export const SOURCE: unique symbol = Symbol("source");
