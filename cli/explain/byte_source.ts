/**
 * Bytes that come piece by piece, as from a pipe, read in order. It buffers no more than what was requested, and one
 * piece.
 */
export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array<ArrayBuffer>>;
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #position = 0;

  constructor(pieces: AsyncIterable<Uint8Array<ArrayBuffer>>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** How many bytes were taken. */
  get position(): number {
    return this.#position;
  }

  /** The next bytes, without taking them. There are fewer if the source ends first. */
  async peek(count: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#rest.length < count) await this.#fill(count);
    return this.#rest.subarray(0, count);
  }

  /** The next bytes. There are fewer if the source ends first. */
  async take(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const taken = await this.peek(count);
    this.#rest = this.#rest.subarray(taken.length);
    this.#position += taken.length;
    return taken;
  }

  /** The rest, piece by piece. */
  async *rest(): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    yield this.#rest;
    for (let next = await this.#pieces.next(); !next.done; next = await this.#pieces.next()) {
      yield next.value;
    }
  }

  async #fill(count: number): Promise<void> {
    const pieces = [this.#rest];
    for (let length = this.#rest.length; length < count;) {
      const { value, done } = await this.#pieces.next();
      if (done) break;
      pieces.push(value);
      length += value.length;
    }
    this.#rest = await new Blob(pieces).bytes();
  }
}
