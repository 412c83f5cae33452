/** One of several uses of something that is closed with the last of them. */
export class Use implements Disposable {
  readonly #shared: { users: number };
  readonly #close: () => void;
  #isOver = false;

  constructor(shared: { users: number }, close: () => void) {
    this.#shared = shared;
    this.#close = close;
    shared.users++;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends the use. Ending it again does nothing, unless closing has failed: then it is tried again. */
  [Symbol.dispose](): void {
    // It can fail at once, or when the last wait for what is shared ends, which may be later.
    if (this.#shared.users === (this.#isOver ? 0 : 1)) this.#close();
    if (!this.#isOver) this.#shared.users--;
    this.#isOver = true;
  }
}
