import { option, type Rule, within } from "../internal/options.ts";
import { clock } from "./clock.ts";

/** How long a wait polls at most by default, in microseconds. */
export const SPIN_MICROSECONDS = 200;

/** The longest time that may be chosen: timers and other connections wait meanwhile. */
export const MAX_SPIN_MICROSECONDS = 1000;

/** The rule of how long a wait polls before it sleeps, in microseconds. */
export const spinning: Rule<number> = option(within(0, MAX_SPIN_MICROSECONDS), SPIN_MICROSECONDS);

/** The most polls before the first look at the clock, which costs as much as some empty polls. */
const FIRST_POLLS = 16;

/** The clock is read about this often in the time of a wait. */
const LOOKS = 16;

/** After this many attempts in a row that find nothing, the number of skipped waits stops growing. */
const MOST_MISSES = 10;

/** No native call takes less. */
const FASTEST_POLL_MS = 5e-6;

/** The most polls of a wait: it ends although a clock stands still. */
export function mostPolls(ms: number): number {
  return ms / FASTEST_POLL_MS;
}

/**
 * Polls before a wait sleeps, as halt polling of KVM and `SO_BUSY_POLL` do: what comes soon needs no event, no other thread
 * and no turn of the event loop.
 *
 * It adapts: after each attempt that finds nothing it skips twice as many waits, up to 1 023, until an attempt finds
 * something. So long waits, and waits that end by something on the same thread, cost almost no processor time.
 */
export class BusyPoll {
  readonly #limitMs: number;
  #misses = 0;
  #toSkip = 0;
  /**
   * Polls between two looks at the clock. A poll takes from 20 nanoseconds to 10 microseconds, depending on device and
   * processor.
   */
  #pollsPerLook = FIRST_POLLS;

  /** @param microseconds How long it polls at most. 0 means never. */
  constructor(microseconds: number) {
    this.#limitMs = microseconds / 1000;
  }

  /** Polls for a while, or not at all. Returns whether there was something: `poll` returns how much. */
  finds(poll: () => number): boolean {
    if (this.#limitMs === 0 || this.#toSkip-- > 0) return false;
    const found = this.#poll(poll);
    this.#misses = found ? 0 : Math.min(this.#misses + 1, MOST_MISSES);
    this.#toSkip = 2 ** this.#misses - 1;
    return found;
  }

  #poll(poll: () => number): boolean {
    // Before the clock is read: that takes longer than to find what is there already.
    for (let i = Math.min(FIRST_POLLS, this.#pollsPerLook); i > 0; i--) if (poll() > 0) return true;
    let now = clock.precise();
    let left = mostPolls(this.#limitMs);
    for (const end = now + this.#limitMs; now < end && left > 0;) {
      for (let i = 0; i < this.#pollsPerLook; i++) if (poll() > 0) return true;
      left -= this.#pollsPerLook;
      const last = now;
      now = clock.precise();
      this.#adapt(now - last);
    }
    return false;
  }

  /** Chooses the polls before the next look, by the time since the last one. */
  #adapt(passedMs: number): void {
    const wantedMs = this.#limitMs / LOOKS;
    const polls = this.#pollsPerLook;
    if (passedMs > 2 * wantedMs) this.#pollsPerLook = Math.max(1, polls >>> 1);
    else if (passedMs < wantedMs / 2) this.#pollsPerLook = Math.min(2 * polls, mostPolls(wantedMs));
  }
}
