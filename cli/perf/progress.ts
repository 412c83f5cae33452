/** What the user sees during a measurement. */

import type { Terminal } from "../shell/terminal.ts";
import type { Settings } from "./settings.ts";

/** A line that is drawn more often cannot be read. */
const EVERY_MS = 200;

/** Draws one line again and again, on a terminal that a user watches. */
export class Progress implements Disposable {
  readonly #terminal: Terminal | undefined;
  #drawn: number | undefined;

  /** Draws nothing without a terminal. */
  constructor(terminal: Terminal | undefined) {
    this.#terminal = terminal;
  }

  /** Shows how many messages there are in a phase. */
  show({ verb, size }: Settings, phase: string, count: number): void {
    if (this.#terminal === undefined) return;
    const now = performance.now();
    if (this.#drawn !== undefined && now - this.#drawn < EVERY_MS) return;
    this.#drawn = now;
    this.#terminal.drawLine(`${verb} of ${size} bytes, ${phase}: ${count} messages`);
  }

  /** Removes the line. */
  [Symbol.dispose](): void {
    if (this.#drawn !== undefined) this.#terminal?.drawLine("");
  }
}
