/** Handles that were retired together. */
interface Lot {
  readonly handles: readonly Disposable[];
  readonly until: number;
}

/**
 * Address handles that a reply path does not give out any more. A caller may still hold one and not have posted with it,
 * so each lot of them is closed only after a number of further answers.
 */
export class RetiredHandles implements Disposable {
  /** Oldest first. */
  readonly #lots: Lot[] = [];

  /** Retires handles. They are closed when the count of answers reaches `until`, which never decreases. */
  add(handles: readonly Disposable[], until: number): void {
    if (handles.length > 0) this.#lots.push({ handles, until });
  }

  /** Closes the handles whose end the count of answers has reached. */
  trim(answers: number): void {
    if (this.#lots.length === 0 || answers < this.#lots[0]!.until) return;
    using stack = new DisposableStack();
    while (this.#lots.length > 0 && answers >= this.#lots[0]!.until) {
      for (const ah of this.#lots.shift()!.handles) stack.use(ah);
    }
  }

  /** Closes all handles. */
  [Symbol.dispose](): void {
    this.trim(Infinity);
  }
}
