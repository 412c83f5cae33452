import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { clock, type Timer, timers } from "../wait/clock.ts";

/** A clock and timers that a test moves on. Only one timer may run. */
export class Time implements Disposable {
  now = 1_000_000;
  /** By how much the system's clock was set back. Timers do not follow it. */
  setBack = 0;
  /** Whether the timer keeps the process alive. */
  isHeld = true;
  timers = 0;
  #timer: { readonly call: () => void; readonly at: number } | undefined;
  readonly #stack = new DisposableStack();

  constructor() {
    const set = (call: () => void, ms: number): Timer => {
      assertEquals(this.#timer, undefined, "two timers run");
      this.#timer = { call, at: this.now + ms };
      this.isHeld = true;
      return ++this.timers as unknown as Timer;
    };
    const clear = (): void => void (this.#timer = undefined);
    this.#stack.use(stub(clock, "now", () => this.now - this.setBack));
    this.#stack.use(stub(timers, "setTimeout", set));
    this.#stack.use(stub(timers, "clearTimeout", clear));
    this.#stack.use(stub(timers, "refTimer", () => void (this.isHeld = true)));
    this.#stack.use(stub(timers, "unrefTimer", () => void (this.isHeld = false)));
  }

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  pass(ms: number): void {
    for (const end = this.now + ms; this.now < end;) {
      const timer = this.#timer;
      this.now = Math.min(timer?.at ?? end, end);
      if (timer === undefined || timer.at > end) continue;
      this.#timer = undefined;
      timer.call();
    }
  }

  [Symbol.dispose](): void {
    this.#stack.dispose();
  }
}
