/** Ctrl-C and its like. */

const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** While it lives, signals that would end this process fulfil its promise instead. */
export class Interruption implements Disposable {
  /** The exit status that a shell would report: 128 plus the signal's number. */
  readonly status: Promise<number>;
  readonly #listeners: [Deno.Signal, () => void][];

  constructor() {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.status = promise;
    this.#listeners = Object.entries(SIGNALS).map((
      [name, number],
    ) => [name as Deno.Signal, () => resolve(128 + number)]);
    for (const [signal, listener] of this.#listeners) Deno.addSignalListener(signal, listener);
  }

  [Symbol.dispose](): void {
    for (const [signal, listener] of this.#listeners) Deno.removeSignalListener(signal, listener);
  }
}
