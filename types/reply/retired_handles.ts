import type { AddressHandle } from "../address_handle/address_handle.ts";

/** How long a handle that may be posted with any moment is left open. */
const GRACE_MS = 1000;

interface Lot {
  readonly handles: readonly AddressHandle[];
  readonly until: number;
}

/**
 * Address handles that are not given out any more, but may have been a moment ago, and not been posted with yet. Those
 * of more than a second ago are closed when others are retired or {@linkcode RetiredHandles.trim} is called, and sooner
 * where there are too many.
 */
export class RetiredHandles implements Disposable {
  readonly #max: number;
  /** What was retired together, oldest first. */
  readonly #lots: Lot[] = [];
  #count = 0;

  /** Keeps no more than `max`, unless they were retired all at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Retires handles. */
  add(handles: readonly AddressHandle[]): void {
    if (handles.length > 0) {
      this.#lots.push({ handles, until: Date.now() + GRACE_MS });
      this.#count += handles.length;
    }
    this.trim();
  }

  /** Closes those whose time is over. */
  trim(): void {
    while (this.#lots.length > 0 && this.#isOver(this.#lots[0]!)) this.#close();
  }

  #isOver({ until }: Lot): boolean {
    return (this.#lots.length > 1 && this.#count > this.#max) || Date.now() >= until;
  }

  #close(): void {
    const { handles } = this.#lots.shift()!;
    this.#count -= handles.length;
    using stack = new DisposableStack();
    for (const ah of handles) stack.use(ah);
  }

  /** Closes all. */
  [Symbol.dispose](): void {
    using stack = new DisposableStack();
    for (const { handles } of this.#lots.splice(0)) {
      for (const ah of handles) stack.use(ah);
    }
    this.#count = 0;
  }
}
