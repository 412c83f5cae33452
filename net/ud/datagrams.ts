import type { Datagram } from "./receiver.ts";

/** The iterator over the datagrams of a connection. */
export class Datagrams implements AsyncIterableIterator<Datagram, void, void> {
  readonly #receive: () => Promise<Datagram>;
  readonly #closed: AbortSignal;
  #ended = false;

  /** Iterates over what `receive` gives, until the signal says that the connection is closed. */
  constructor(receive: () => Promise<Datagram>, closed: AbortSignal) {
    this.#receive = receive;
    this.#closed = closed;
  }

  /** The next datagram. */
  next(): Promise<IteratorResult<Datagram, void>> {
    if (this.#ended || this.#closed.aborted) return this.return();
    return this.#receive().then((value) => ({ value, done: false }), (error) => {
      this.#ended = true;
      if (this.#closed.aborted) return { value: undefined, done: true };
      throw error;
    });
  }

  /** Ends the iteration. */
  return(): Promise<IteratorReturnResult<void>> {
    this.#ended = true;
    return Promise.resolve({ value: undefined, done: true });
  }

  /** The iterator itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }
}
