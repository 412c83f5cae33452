import { type MemoryRegion, type QueuePair, RecvRequestList } from "../../mod.ts";

/** Receives have identifiers from this one on, and sends have smaller ones. */
export const FIRST_RECEIVE = 2 ** 20;

/** Where messages are received. A message stays in its slot until it is consumed: it is copied once. */
export class Inbox {
  readonly #qp: QueuePair;
  /** The memory of the slots; a copy of it once the connection is closed. */
  #bytes: Uint8Array<ArrayBuffer>;
  readonly #slotSize: number;
  readonly #requests: RecvRequestList;
  /** The slots whose messages wait, and the length of the message in each slot. */
  readonly #waiting: number[] = [];
  readonly #lengths: Uint32Array<ArrayBuffer>;

  constructor(qp: QueuePair, mr: MemoryRegion, slotSize: number) {
    const capacity = mr.length / slotSize;
    this.#qp = qp;
    this.#bytes = mr.bytes();
    this.#slotSize = slotSize;
    this.#lengths = new Uint32Array(capacity);
    this.#requests = new RecvRequestList({ capacity });
    for (let i = 0; i < capacity; i++) {
      this.#requests.set(i, { wrId: FIRST_RECEIVE + i, sge: mr.slice(i * slotSize, slotSize) });
    }
    qp.postRecv(this.#requests);
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(slot: number, length: number): void {
    this.#waiting.push(slot);
    this.#lengths[slot] = length;
  }

  /** Copies the first message, and posts its slot again unless the connection is over. */
  take(
    buffer: Uint8Array<ArrayBuffer> | undefined,
    isOver: () => boolean,
  ): Uint8Array<ArrayBuffer> {
    const slot = this.#waiting[0]!;
    const length = this.#lengths[slot]!;
    if (buffer !== undefined && buffer.length < length) {
      throw new RangeError(
        `Cannot receive: the message has ${length} bytes, and the buffer ${buffer.length}`,
      );
    }
    const start = slot * this.#slotSize;
    const message = this.#bytes.subarray(start, start + length);
    buffer?.set(message);
    const copy = buffer?.subarray(0, length) ?? message.slice();
    this.#waiting.shift();
    // Now: to ask a Proxy for its length can close the connection.
    if (!isOver()) this.post(slot);
    return copy;
  }

  /** Keeps the messages that wait, before the memory of the slots is freed. */
  keep(): void {
    if (this.size > 0) this.#bytes = this.#bytes.slice();
  }

  post(slot: number): void {
    this.#qp.postRecv(this.#requests, slot, 1);
  }
}
