import { clock, timers } from "./clock.ts";
import { type Looker, state } from "./state.ts";

/** The pauses between two looks, in milliseconds: the time for which none has found anything. */
const SHORTEST_MS = 1;
/** What nobody needs soon is looked at twice a second. */
export const IDLE_MS = 512;
/** What somebody waits for who does not keep the process alive is looked at this often at least. */
export const PROMPT_MS = 16;

const all = state.idleChecks;

/**
 * Looks now and then at something that nobody waits for. What does nothing for long is looked at rarely, together with others
 * that do nothing: a wake-up of the processor costs more than a look.
 */
export class IdleCheck implements Looker {
  readonly #look: () => boolean;
  #isOn = false;
  #isHeld = false;
  /** Since when nothing was found. */
  #quietSince = 0;
  /** The time of the next look. */
  #due = Infinity;
  #longestMs = IDLE_MS;

  /** `look` returns whether there was anything. It must not throw. */
  constructor(look: () => boolean) {
    this.#look = look;
  }

  /**
   * Looks from now on, at first after `firstMs` at the latest, and later after `longestMs` at most. The process stays alive
   * meanwhile if it is held.
   */
  begin(isHeld: boolean, longestMs: number = IDLE_MS, firstMs: number = SHORTEST_MS): void {
    const isNew = !this.#isOn || longestMs < this.#longestMs;
    this.#longestMs = longestMs;
    if (isNew) {
      if (!this.#isOn) all.on++;
      this.#isOn = true;
      all.all.add(this);
      const now = clock.now();
      this.#quietSince = now - firstMs;
      this.#schedule(now);
    }
    this.hold(isHeld);
  }

  /** Sets whether the process stays alive. It looks soon then, because the program may end with it. */
  hold(isHeld: boolean): void {
    if (this.#isHeld === (isHeld &&= this.#isOn)) return;
    this.#isHeld = isHeld;
    all.held += isHeld ? 1 : -1;
    if (isHeld) this.#hasten();
    holdTimer();
  }

  /**
   * Looks no more, until it begins again. A timer of few milliseconds stays, because a program that answers a message begins
   * again about as soon. A longer one would wake the processor for nothing.
   */
  rest(): void {
    if (!this.#isOn) return;
    this.hold(false);
    this.#isOn = false;
    if (--all.on === 0 && all.isLong) endTimer();
  }

  /** Looks no more. The last one ends the timer. */
  end(): void {
    this.rest();
    all.all.delete(this);
    if (all.all.size === 0) endTimer();
  }

  #hasten(): void {
    const now = clock.now();
    if (this.#due <= now + PROMPT_MS) return;
    this.#quietSince = now - PROMPT_MS;
    this.#schedule(now);
  }

  #schedule(now: number): void {
    // The system's clock may be set back.
    this.#quietSince = Math.min(this.#quietSince, now);
    const pause = Math.min(Math.max(now - this.#quietSince, SHORTEST_MS), this.#longestMs);
    // Those with long pauses are over at the same times.
    const grid = 2 ** Math.floor(Math.log2(pause));
    this.#due = Math.floor((now + pause) / grid) * grid;
    wakeAt(this.#due, now);
  }

  /** Looks if its time has come. Returns whether it goes on. */
  turn(now: number): boolean {
    if (!this.#isOn) return false;
    const leftMs = this.#due - now;
    // More is left than there ever was if the clock was set back.
    if (leftMs > 0 && leftMs <= 2 * this.#longestMs) wakeAt(this.#due, now);
    else {
      if (this.#look()) this.#quietSince = now;
      if (this.#isOn) this.#schedule(clock.now());
    }
    return this.#isOn;
  }
}

function lookAll(): void {
  // The system's clock may be set back.
  const now = Math.max(clock.now(), all.due);
  all.timer = undefined;
  all.due = Infinity;
  for (const check of [...all.all]) {
    if (all.all.has(check) && !check.turn(now)) all.all.delete(check);
  }
}

function wakeAt(due: number, now: number): void {
  if (due >= all.due) return;
  endTimer();
  all.due = due;
  all.isLong = due > now + PROMPT_MS;
  all.timer = timers.setTimeout(lookAll, due - now);
  holdTimer();
}

function endTimer(): void {
  if (all.timer === undefined) return;
  timers.clearTimeout(all.timer);
  all.timer = undefined;
  all.due = Infinity;
  all.isLong = false;
}

function holdTimer(): void {
  if (all.timer === undefined) return;
  if (all.held > 0) timers.refTimer(all.timer);
  else timers.unrefTimer(all.timer);
}
