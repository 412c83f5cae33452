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
  /** The portions that are left of it, and how many connections a portion has. */
  #ticks = 0;
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
    if (this.#connections.size > 0) return;
    timers.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #beginRound(): void {
    const { size } = this.#connections;
    this.#ticks = Math.min(Math.ceil(size / CHECKS), MOST_TICKS);
    this.#portion = Math.ceil(size / this.#ticks);
    this.#round = this.#connections.values();
    this.#wait(this.#periodMs / this.#ticks);
  }

  #wait(ms: number): void {
    this.#timer = timers.setTimeout(() => this.#tick(ms), ms);
    timers.unrefTimer(this.#timer);
  }

  #tick(ms: number): void {
    this.#ticks--;
    for (let i = 0; i < this.#portion; i++) this.#round!.next().value?.checkPeer();
    // A check that fails ends its connection, which may be the last one.
    if (this.#connections.size === 0) return;
    if (this.#ticks > 0) this.#wait(ms);
    else this.#beginRound();
  }
}
