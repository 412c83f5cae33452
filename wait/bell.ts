import type { SystemError } from "../ffi/system_error.ts";

/** Is called once when a sleep is over: something may be there to read. It gets an error if the system refuses. It must not throw. */
export type OnWake<E = unknown> = (error?: E) => void;

/**
 * How much a sleep is needed: it keeps the process alive; or somebody waits who does not keep it alive; or nobody waits any
 * more.
 */
export type Need = "held" | "often" | "seldom";

/** A sleep that calls back. */
export interface Sleep {
  /** Ends it: it does not call back any more. After its end this does nothing. */
  cancel(): void;
  /** Says how much it is needed from now on. */
  hold(need: Need): void;
}

/** What ends sleeps. It rings once for each sleep, also if what it rings for was there before. */
export interface Bell {
  /** Begins to sleep. */
  sleep(need: Need, wake: OnWake): Sleep;
  /** Sleeps on this thread, until a time of `clock.precise()`. Returns `false` if the time is over. */
  sleepSync(until: number): boolean;
}

/** What waits for descriptors. */
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
