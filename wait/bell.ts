import type { SystemError } from "../ffi/system_error.ts";

/** Is called once when a sleep is over: something may be there to read. It gets an error if the system refuses. It must not throw. */
export type OnWake<E = unknown> = (error?: E) => void;

/**
 * How urgent a sleep is: a wait keeps the process alive; or a wait does not keep it alive; or nothing waits any more.
 */
export type Need = "held" | "prompt" | "idle";

/** A sleep that calls back. */
export interface Sleep {
  /** Ends the sleep: it no longer calls back. After its end this does nothing. */
  cancel(): void;
  /** Sets how urgent it is from now on. */
  hold(need: Need): void;
}

/** Ends sleeps. It rings once for each sleep, also if the reason to ring came before the sleep. */
export interface Bell {
  /** Begins to sleep. */
  sleep(need: Need, wake: OnWake): Sleep;
  /** Sleeps on this thread, until a time of `clock.precise()`. Returns `false` if the time is over. */
  sleepSync(until: number): boolean;
}

/** Waits for descriptors. */
export interface Watcher {
  watch(fd: number, need: Need, wake: OnWake<SystemError>): Sleep;
  readonly pendingRound: Promise<void> | undefined;
  end(): void;
}

/** A bell that is armed before each sleep. */
export interface ArmedBell {
  readonly arm: () => void;
  readonly bell: Bell;
}
