import type { Datagram, Receiver } from "./receiver.ts";

/** The iterator over the datagrams of a connection. */
export class Datagrams implements AsyncIterableIterator<Datagram, void, void> {
  readonly #receiver: Receiver;
  readonly #closed: AbortSignal;
  #ended = false;

  /** Iterates over what is received, until the signal says that the connection is closed. */
  constructor(receiver: Receiver, closed: AbortSignal) {
    this.#receiver = receiver;
    this.#closed = closed;
  }

  /** The next datagram. */
  next(): Promise<IteratorResult<Datagram, void>> {
    if (this.#ended || this.#closed.aborted) return this.return();
    try {
      const value = this.#receiver.receiveNow(undefined);
      if (value !== undefined) return Promise.resolve({ value, done: false });
    } catch (error) {
      return this.#fail(error);
    }
    return this.#receiver.wait(undefined, undefined)
      .then((value) => ({ value, done: false }), (error) => this.#fail(error));
  }

  #fail(error: unknown): Promise<IteratorReturnResult<void>> {
    if (this.#closed.aborted) return this.return();
    this.#ended = true;
    return Promise.reject(error);
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
