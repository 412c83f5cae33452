/** The use of a shared object. Disposing it ends the use; disposing it again does nothing. */
export interface Use<T> extends Disposable {
  /** The object. */
  readonly object: T;
}

interface Shared<T> {
  readonly object: T;
  users: number;
}

/** What {@linkcode Sharing} shares. */
export interface Shareable<T> {
  /** Opens the object. */
  readonly open: () => T;
  /** Whether the object still works. */
  readonly isAlive: (object: T) => boolean;
  /** Closes the object. */
  readonly close: (object: T) => void;
}

/** An object that is open while somebody uses it. All who use it at the same time use the same one, as long as it works. */
export class Sharing<T> {
  readonly #of: Shareable<T>;
  #current: Shared<T> | undefined;

  /** Opens nothing yet. */
  constructor(of: Shareable<T>) {
    this.#of = of;
  }

  /** Begins a use. */
  use(): Use<T> {
    const { open, isAlive, close } = this.#of;
    if (this.#current !== undefined && !isAlive(this.#current.object)) this.#current = undefined;
    const shared = this.#current ??= { object: open(), users: 0 };
    shared.users++;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      // If it fails, it can be tried again.
      if (shared.users === 1) close(shared.object);
      isOver = true;
      shared.users--;
      if (shared.users === 0 && this.#current === shared) this.#current = undefined;
    };
    return { object: shared.object, [Symbol.dispose]: end };
  }
}
