/** Shows the user what takes a long time. */

import { say } from "../host/report.ts";

// Users do not wonder before that.
const QUIET_SECONDS = 2;
const EVERY_SECONDS = 5;

/** Says every few seconds what is going on, until it is disposed. */
export class Progress implements Disposable {
  #stage: string;
  readonly #start = performance.now();
  #timer: ReturnType<typeof setTimeout>;
  #said = false;
  #left: number;

  /** Starts with a stage, such as "starting". It prints at most `most` lines. */
  constructor(stage: string, most: number = Infinity) {
    this.#stage = stage;
    this.#left = most;
    this.#timer = setTimeout(() => this.#say(), QUIET_SECONDS * 1000);
  }

  /** Goes on to the next stage. */
  enter(stage: string): void {
    this.#stage = stage;
  }

  /** Says how long everything took, if anything was printed. */
  finish(what: string): void {
    this[Symbol.dispose]();
    if (this.#said) say(`guest: ${what} after ${this.#seconds()} s`);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #say(): void {
    this.#said = true;
    say(`guest: ${this.#stage}, ${this.#seconds()} s`);
    if (--this.#left === 0) return;
    this.#timer = setTimeout(() => this.#say(), EVERY_SECONDS * 1000);
  }

  #seconds(): number {
    return Math.round((performance.now() - this.#start) / 1000);
  }
}
