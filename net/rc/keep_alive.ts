import { type Timer, timers } from "../../wait/clock.ts";

/** A connection whose peer is checked. */
export interface Checked {
  checkPeer(): void;
}

/** Checks of one turn of the event loop, as long as there are not too many connections. */
const CHECKS = 64;
const MOST_TICKS = 100;

/** Checks the peers of all connections of a device, each once in a period, by one timer. Many are checked in portions. */
export class KeepAlive {
  readonly #periodMs: number;
  readonly #connections: Set<Checked> = new Set();
  #timer: Timer | undefined;
  /** Those that this round has still to check. */
  #round: Iterator<Checked> | undefined;
  /** The portions of a round, those that are left of it, and how many connections a portion has. */
  #ticks = 0;
  #left = 0;
  #portion = 0;

  /** @param periodMs 0 means never. */
  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  add(connection: Checked): void {
    if (this.#periodMs === 0) return;
    this.#connections.add(connection);
    if (this.#timer === undefined) this.#beginRound();
  }

  delete(connection: Checked): void {
    this.#connections.delete(connection);
    if (this.#connections.size === 0) this.#setTimer(0);
  }

  #beginRound(): void {
    const { size } = this.#connections;
    const ticks = Math.min(Math.ceil(size / CHECKS), MOST_TICKS);
    this.#left = ticks;
    this.#portion = Math.ceil(size / ticks);
    this.#round = this.#connections.values();
    if (ticks !== this.#ticks) this.#setTimer(ticks);
  }

  /** One timer goes on from round to round: to set it each time would cost as much as the checks. */
  #setTimer(ticks: number): void {
    this.#ticks = ticks;
    timers.clearInterval(this.#timer);
    this.#timer = undefined;
    if (ticks === 0) return;
    this.#timer = timers.setInterval(() => this.#tick(), this.#periodMs / ticks);
    timers.unrefTimer(this.#timer);
  }

  #tick(): void {
    for (let i = 0; i < this.#portion; i++) this.#round!.next().value?.checkPeer();
    // A check that fails ends its connection, which may be the last one.
    if (--this.#left === 0 && this.#connections.size > 0) this.#beginRound();
  }
}
