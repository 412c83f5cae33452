import type { QueuePair } from "../../mod.ts";
import { CONTROL_RECEIVES } from "./protocol.ts";
import type { Slot, Slots } from "./slots.ts";

/** A message that waits, and where it is if that is a slot of its own. */
export interface Message {
  bytes: Uint8Array<ArrayBuffer>;
  readonly slot: Slot | undefined;
}

/**
 * Where messages are received. Receives of a queue pair complete in the order in which they were posted.
 *
 * At first all receives have the same slot: the peer may send one message, and what else it sends has no bytes. Such a
 * message is copied from there before the next one is permitted. Each message that comes brings a slot for the next ones,
 * and when nearly all receives have their own there may be many messages.
 */
export class Inbox {
  readonly #qp: QueuePair;
  readonly #slots: Slots;
  readonly #first: Slot;
  /** How many receives that are posted have the first slot. */
  #shares = 0;
  /** Whether a message has come. */
  #isUsed = false;
  readonly #posted: Slot[] = [];
  /** All slots, and those that nothing uses. */
  readonly #own: Slot[];
  readonly #free: Slot[] = [];
  readonly #waiting: Message[] = [];
  /** Messages that the program has borrowed. Their slots are not free, also after the end. */
  readonly #lent: Set<Message> = new Set();
  #isReleased = false;

  constructor(qp: QueuePair, slots: Slots, first: Slot) {
    this.#qp = qp;
    this.#slots = slots;
    this.#first = first;
    this.#own = [first];
    for (let i = 0; i <= CONTROL_RECEIVES; i++) this.#postSlot(first);
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** How many slots it has. */
  get slots(): number {
    return this.#own.length;
  }

  /** Whether there is a place for one message at a time. */
  get isSingle(): boolean {
    return this.#shares > 1;
  }

  /** The slot of the receive that has completed. One of the other methods gets it. */
  arrived(): Slot {
    const slot = this.#posted.shift()!;
    if (slot === this.#first) this.#shares--;
    return slot;
  }

  /** A message has come. */
  add(slot: Slot, length: number): void {
    this.#isUsed = true;
    const isShared = slot === this.#first && this.#shares > 0;
    const bytes = slot.bytes(length);
    this.#waiting.push(
      isShared ? { bytes: bytes.slice(), slot: undefined } : { bytes, slot },
    );
  }

  /** No message has come: a receive is posted in place of that one. */
  repost(slot: Slot): void {
    if (slot === this.#first && this.#isUsed && this.post()) return;
    this.#postSlot(slot);
  }

  /** A write has come, which has no bytes here. */
  free(slot: Slot): void {
    this.#isUsed = true;
    if (slot !== this.#first || this.#shares === 0) this.#free.push(slot);
  }

  /** Posts one more receive. Returns whether there was memory for it. */
  post(): boolean {
    const slot = this.#free.pop() ?? this.#another();
    if (slot !== undefined) this.#postSlot(slot);
    return slot !== undefined;
  }

  /** With one place a connection works on without memory, more slowly. The last slot is left to those that send. */
  #another(): Slot | undefined {
    if (!this.#slots.has(2)) return this.isSingle ? this.#first : undefined;
    const slot = this.#slots.take();
    this.#own.push(slot);
    return slot;
  }

  #postSlot(slot: Slot): void {
    slot.postRecv(this.#qp);
    this.#posted.push(slot);
    if (slot === this.#first) this.#shares++;
  }

  /** Copies the first message. */
  take(buffer: Uint8Array<ArrayBuffer> | undefined): Uint8Array<ArrayBuffer> {
    const { bytes, slot } = this.#waiting[0]!;
    const { length } = bytes;
    if (buffer !== undefined && buffer.length < length) {
      throw new RangeError(
        `Cannot receive: the message has ${length} bytes, and the buffer ${buffer.length}`,
      );
    }
    buffer?.set(bytes);
    const copy = buffer?.subarray(0, length) ?? (slot === undefined ? bytes : bytes.slice());
    this.#waiting.shift();
    if (slot !== undefined) this.#free.push(slot);
    return copy;
  }

  /** Whether there is another message, of at most so many bytes. */
  fits(room: number): boolean {
    const [next] = this.#waiting;
    return next !== undefined && next.bytes.length <= room;
  }

  /** Lends the first message. */
  lend(): Message {
    const message = this.#waiting.shift()!;
    this.#lent.add(message);
    return message;
  }

  /** A message that was lent is not read any more. */
  takeBack(message: Message): void {
    this.#lent.delete(message);
    const { slot } = message;
    if (slot === undefined) return;
    if (this.#isReleased) this.#giveLast(slot);
    else this.#free.push(slot);
  }

  #giveLast(slot: Slot): void {
    this.#own.splice(this.#own.indexOf(slot), 1);
    this.#slots.give(slot);
    this.#slots.trim();
  }

  /** Keeps the messages, before the memory of the slots is that of others, or is freed. */
  keep(): void {
    for (const message of this.#lent) message.bytes = message.bytes.slice();
    const copies = this.#waiting.map(({ bytes }) => ({ bytes: bytes.slice(), slot: undefined }));
    this.#waiting.splice(0, copies.length, ...copies);
  }

  /** The queue pair is destroyed. Who has borrowed a message may still look at its slot. */
  release(): void {
    this.#isReleased = true;
    const lent = new Set(this.#lent.values().map(({ slot }) => slot));
    for (const slot of this.#own.splice(0)) {
      if (lent.has(slot)) this.#own.push(slot);
      else this.#slots.give(slot);
    }
  }
}
