/**
 * Memory for copies of completions.
 *
 * @module
 */

/** The copies share memory in pieces of this size. A copy that is kept keeps its piece. */
const PIECE = 8192;

/** Memory for copies of one size. It is never written again, and freed when no copy in it is left. */
export class Copies {
  readonly #size: number;
  #view: DataView<ArrayBuffer> = new DataView(new ArrayBuffer(0));
  #next = 0;

  /** Makes room for copies of a size in bytes. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Takes room for one copy: its byte offset in {@linkcode Copies.view}. */
  take(): number {
    const at = this.#next;
    if (at + this.#size > this.#view.byteLength) return this.#takeFirst();
    this.#next = at + this.#size;
    return at;
  }

  #takeFirst(): number {
    this.#view = new DataView(new ArrayBuffer(PIECE));
    this.#next = this.#size;
    return 0;
  }

  /** The memory of the copy that was taken last. */
  get view(): DataView<ArrayBuffer> {
    return this.#view;
  }
}

/** Copies bytes, a multiple of 16 of them. */
export function copyBytes(
  from: DataView,
  start: number,
  to: DataView,
  at: number,
  length: number,
): void {
  // V8 moves 64-bit integers from view to view without making bigints of them.
  for (let i = 0; i < length; i += 16) {
    to.setBigUint64(at + i, from.getBigUint64(start + i, true), true);
    to.setBigUint64(at + i + 8, from.getBigUint64(start + i + 8, true), true);
  }
}
