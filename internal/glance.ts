import { clock, type Timer, timers } from "./clock.ts";

/** The pauses between two looks, in milliseconds: an eighth of the time for which none has found anything. */
const SHORTEST_MS = 1;
/** What nobody needs soon is looked at twice a second. */
export const SELDOM_MS = 512;
/** What somebody waits for who does not keep the process alive is looked at this often at least. */
export const OFTEN_MS = 16;
const SHARE = 1 / 8;

/** Those that look now and then, and the one timer that all of a program share. */
const all: {
  readonly glances: Set<Glance>;
  /** How many keep the process alive. */
  held: number;
  timer: Timer | undefined;
  /** When the timer is over. */
  due: number;
} = { glances: new Set(), held: 0, timer: undefined, due: Infinity };

/**
 * Looks now and then at something that nobody waits for. What does nothing for long is looked at seldom, together with others
 * that do nothing: a wake-up of the processor costs more than a look.
 */
export class Glance {
  readonly #look: () => boolean;
  #isOn = false;
  #isHeld = false;
  /** Since when nothing was found. */
  #quietSince = 0;
  /** The time of the next look. */
  #due = Infinity;
  #longestMs = SELDOM_MS;

  /** `look` returns whether there was anything. It must not throw. */
  constructor(look: () => boolean) {
    this.#look = look;
  }

  /**
   * Looks from now on, soon at first, and later after so many milliseconds at most. The process stays alive meanwhile if it
   * is held.
   */
  begin(isHeld: boolean, longestMs: number = SELDOM_MS): void {
    const isNew = !this.#isOn || longestMs < this.#longestMs;
    this.#longestMs = longestMs;
    if (isNew) {
      this.#isOn = true;
      all.glances.add(this);
      this.#quietSince = clock.now();
      this.#schedule();
    }
    this.hold(isHeld);
  }

  hold(isHeld: boolean): void {
    if (this.#isHeld === (isHeld &&= this.#isOn)) return;
    this.#isHeld = isHeld;
    all.held += isHeld ? 1 : -1;
    holdTimer();
  }

  /** Looks no more, until it begins again. The timer stays, because that is mostly soon. */
  rest(): void {
    this.hold(false);
    this.#isOn = false;
  }

  /** Looks no more. The last one ends the timer. */
  end(): void {
    this.rest();
    all.glances.delete(this);
    if (all.glances.size > 0) return;
    timers.clearTimeout(all.timer);
    all.timer = undefined;
    all.due = Infinity;
  }

  #schedule(): void {
    const now = clock.now();
    const pause = Math.min(
      Math.max((now - this.#quietSince) * SHARE, SHORTEST_MS),
      this.#longestMs,
    );
    // Those with long pauses are over at the same times.
    const grid = 2 ** Math.floor(Math.log2(pause));
    this.#due = Math.ceil((now + pause) / grid) * grid;
    wakeAt(this.#due, now);
  }

  /** Looks if its time has come. Returns whether it goes on. */
  static #turn(glance: Glance, now: number): boolean {
    if (!glance.#isOn) return false;
    const leftMs = glance.#due - now;
    // More is left than there ever was if the clock was set back.
    if (leftMs > 0 && leftMs <= 2 * glance.#longestMs) wakeAt(glance.#due, now);
    else {
      if (glance.#look()) glance.#quietSince = now;
      if (glance.#isOn) glance.#schedule();
    }
    return glance.#isOn;
  }

  static lookAll(): void {
    // The system's clock may be set back.
    const now = Math.max(clock.now(), all.due);
    all.timer = undefined;
    all.due = Infinity;
    for (const glance of [...all.glances]) {
      if (all.glances.has(glance) && !Glance.#turn(glance, now)) all.glances.delete(glance);
    }
  }
}

function wakeAt(due: number, now: number): void {
  if (due >= all.due) return;
  timers.clearTimeout(all.timer);
  all.due = due;
  all.timer = timers.setTimeout(Glance.lookAll, due - now);
  holdTimer();
}

function holdTimer(): void {
  if (all.timer === undefined) return;
  if (all.held > 0) timers.refTimer(all.timer);
  else timers.unrefTimer(all.timer);
}
