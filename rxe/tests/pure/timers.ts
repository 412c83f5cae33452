/** Timers that end when a test wants it. */

interface Timer {
  readonly ms: number;
  readonly end: () => void;
  readonly repeats: boolean;
  readonly real: ReturnType<typeof setTimeout> | undefined;
}

/** Takes the place of the timers of this process until it is disposed of. */
export class Timers implements Disposable {
  readonly #timers = new Map<number, Timer>();
  readonly #before = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
  };
  #count = 1e9;

  /**
   * @param after The milliseconds after which a timer of so many ends; undefined if that is for the
   * test to say.
   */
  constructor(after: (ms: number) => number | undefined = () => undefined) {
    const { setTimeout, clearTimeout } = this.#before;
    const start = (repeats: boolean) => (end: () => void, ms = 0): number => {
      const id = ++this.#count;
      const delay = after(ms);
      const real = delay === undefined ? undefined : setTimeout(() => this.#end(id), delay);
      this.#timers.set(id, { ms, end, repeats, real });
      return id;
    };
    const clear = (id: number): void => {
      clearTimeout(this.#timers.get(id)?.real ?? id);
      this.#timers.delete(id);
    };
    Object.assign(globalThis, {
      setTimeout: start(false),
      clearTimeout: clear,
      setInterval: start(true),
      clearInterval: clear,
    });
  }

  /** The milliseconds of those that still wait. */
  get open(): number[] {
    return [...this.#timers.values()].map(({ ms }) => ms);
  }

  /** Ends all that wait. */
  end(): void {
    for (const id of [...this.#timers.keys()]) this.#end(id);
  }

  #end(id: number): void {
    const { end, repeats } = this.#timers.get(id)!;
    if (!repeats) this.#timers.delete(id);
    end();
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, this.#before);
  }
}
