import { type MemoryRegion, type QueuePair, RecvRequests } from "../../mod.ts";

/** Receives have identifiers from this one on, and sends have smaller ones. */
export const FIRST_RECEIVE = 2 ** 20;

/** Where messages are received. A message stays in its slot until it is consumed: it is copied once. */
export class Inbox {
  readonly #qp: QueuePair;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #slotSize: number;
  readonly #requests: RecvRequests;
  /** A ring of the slots whose messages wait, and of their lengths. */
  readonly #slots: Uint32Array<ArrayBuffer>;
  readonly #lengths: Uint32Array<ArrayBuffer>;
  #first = 0;
  #size = 0;

  /** Posts all receives. */
  constructor(qp: QueuePair, mr: MemoryRegion, slotSize: number, credits: number) {
    const capacity = mr.length / slotSize;
    this.#qp = qp;
    this.#bytes = mr.bytes();
    this.#slotSize = slotSize;
    this.#slots = new Uint32Array(credits);
    this.#lengths = new Uint32Array(credits);
    this.#requests = new RecvRequests({ capacity });
    for (let i = 0; i < capacity; i++) {
      this.#requests.set(i, { wrId: FIRST_RECEIVE + i, sge: mr.slice(i * slotSize, slotSize) });
    }
    qp.postRecv(this.#requests);
  }

  /** How many messages wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds a message. Returns whether it may be: the peer had a credit for it. */
  add(slot: number, length: number): boolean {
    const { length: credits } = this.#slots;
    if (this.#size === credits) return false;
    const at = (this.#first + this.#size) % credits;
    this.#slots[at] = slot;
    this.#lengths[at] = length;
    this.#size++;
    return true;
  }

  /** Copies the first message, and posts its slot again unless the connection is broken. */
  take(buffer: Uint8Array<ArrayBuffer> | undefined, isBroken: boolean): Uint8Array<ArrayBuffer> {
    const slot = this.#slots[this.#first]!;
    const length = this.#lengths[this.#first]!;
    if (buffer !== undefined && buffer.length < length) {
      throw new RangeError(
        `Cannot receive: the message has ${length} bytes, and the buffer ${buffer.length}`,
      );
    }
    const start = slot * this.#slotSize;
    const message = this.#bytes.subarray(start, start + length);
    let copy: Uint8Array<ArrayBuffer>;
    if (buffer === undefined) copy = message.slice();
    else {
      buffer.set(message);
      copy = buffer.subarray(0, length);
    }
    this.#first = (this.#first + 1) % this.#slots.length;
    this.#size--;
    if (!isBroken) this.post(slot);
    return copy;
  }

  /** Posts a slot again. */
  post(slot: number): void {
    this.#qp.postRecv(this.#requests, 1, slot);
  }
}
