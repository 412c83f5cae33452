/** Counts messages one by one. */

import type { MemoryRegion } from "../../../mod.ts";
import type { MessageCounts } from "../record.ts";

/** Keeps which messages are on their way, by their number. All messages of a run share one. */
export class Ledger {
  readonly #onTheirWay: Set<number> = new Set();
  readonly #counts = { sent: 0, delivered: 0, refused: 0, lost: 0, twice: 0, changed: 0 };

  /** The number of a new message. */
  send(): number {
    const number = this.#counts.sent++;
    this.#onTheirWay.add(number);
    return number;
  }

  /** A message has come, with the bytes that were sent or with others. */
  deliver(number: number, isAsSent: boolean): void {
    if (!isAsSent) this.#counts.changed++;
    if (this.#onTheirWay.delete(number)) this.#counts.delivered++;
    // Bytes that were changed may have another number.
    else if (isAsSent) this.#counts.twice++;
  }

  /** The completion of a message says that it is not delivered. */
  refuse(number: number): void {
    if (this.#onTheirWay.delete(number)) this.#counts.refused++;
  }

  /** Nobody waits any longer for a message. */
  giveUp(number: number): void {
    if (this.#onTheirWay.delete(number)) this.#counts.lost++;
  }

  /** All messages until now. Those that are on their way count as lost. */
  get counts(): MessageCounts {
    return { ...this.#counts, lost: this.#counts.lost + this.#onTheirWay.size };
  }
}

export const WORDS = 16;
export const SIZE: number = WORDS * 4;

export function wordsOf(mr: MemoryRegion): Uint32Array {
  const { buffer, byteOffset, length } = mr.bytes();
  return new Uint32Array(buffer, byteOffset, length / 4);
}

/** Writes the content of a message. Each word depends on the number and on its place. */
export function writeMessage(words: Uint32Array, at: number, number: number): void {
  words[at] = number;
  for (let i = 1; i < WORDS; i++) words[at + i] = wordOf(number, i);
}

/** Whether the content is that of the message with the number that is its first word. */
export function isMessage(words: Uint32Array, at: number): boolean {
  const number = words[at]!;
  for (let i = 1; i < WORDS; i++) if (words[at + i] !== wordOf(number, i)) return false;
  return true;
}

function wordOf(number: number, place: number): number {
  return Math.imul(number + place, 0x9e37_79b1) >>> 0;
}
