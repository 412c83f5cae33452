import { type QueuePair, WcFlags, WcOpcode, type WorkCompletionList } from "../../mod.ts";
import { made } from "../../internal/made.ts";
import { timers } from "../../wait/clock.ts";
import { Incoming } from "../../wait/incoming.ts";
import { BorrowedMessage, type Lending } from "../shared/borrowed.ts";
import { CONTROL_RECEIVES, FrameType, type Protocol } from "./protocol.ts";
import type { Connection, Sender } from "./sender.ts";
import type { Slot, Slots } from "./slots.ts";

/** What becomes of a message, or of those that are there. */
export interface Target {
  readonly how: "copy" | "copy many" | "lend";
  readonly buffer?: Uint8Array<ArrayBuffer> | undefined;
}

/** A message, or several. */
export type Taken = Uint8Array<ArrayBuffer> | Uint8Array<ArrayBuffer>[] | BorrowedMessage;

/** A message that waits, and where it is if that is a slot of its own. */
interface Message {
  bytes: Uint8Array<ArrayBuffer>;
  readonly slot: Slot | undefined;
}

/**
 * The receiving side of a connection. A message comes to the slot of the oldest receive, waits there until the program takes
 * it, and gives the slot to another receive, of which the peer gets a credit. Receives of a queue pair complete in the order
 * in which they were posted.
 *
 * At first all receives have the same slot: the peer may send one message, and what else it sends has no bytes. Such a
 * message is copied from there before the next one is permitted. Each message that comes brings a slot for the next ones,
 * and when nearly all receives have their own there may be many messages.
 */
export class Receiver {
  readonly #qp: QueuePair;
  readonly #slots: Slots;
  readonly #protocol: Protocol;
  readonly #sender: Sender;
  readonly #connection: Connection;
  readonly messages: Incoming<Target, Taken>;
  readonly writes: Incoming<object, number>;
  /** What has come of messages and writes. */
  readonly counts = { received: 0, bytesReceived: 0, writesReceived: 0 };
  readonly #first: Slot;
  /** How many receives that are posted have the first slot. */
  #shares = 0;
  readonly #posted: Slot[] = [];
  /** All slots, and those that nothing uses. */
  readonly #own: Slot[];
  readonly #free: Slot[] = [];
  readonly #waiting: Message[] = [];
  /** The immediate data of writes that nobody has taken yet. */
  readonly #written: number[] = [];
  /** Messages that the program has borrowed. Their slots are not free, also after the end. */
  readonly #lent: Set<Message> = new Set();
  /** Whether a frame has come of which those who wait know nothing yet. */
  #hasReceived = false;
  /** Whether a message has come. */
  #isUsed = false;
  #isEnding = false;
  #isReleased = false;

  constructor(
    qp: QueuePair,
    { slots, slot }: { readonly slots: Slots; readonly slot: Slot },
    protocol: Protocol,
    sender: Sender,
    connection: Connection,
  ) {
    this.#qp = qp;
    this.#slots = slots;
    this.#protocol = protocol;
    this.#sender = sender;
    this.#connection = connection;
    this.#first = slot;
    this.#own = [slot];
    const supply = {
      hasEnded: () => this.#hasPeerEnded(),
      drain: () => connection.read(),
      spin: () => connection.spin(),
      update: () => connection.update(),
    };
    this.messages = new Incoming({
      ...supply,
      size: () => this.#waiting.length,
      take: (target) => this.#take(target),
    });
    this.writes = new Incoming({
      ...supply,
      size: () => this.#written.length,
      take: () => this.#consume(this.#written.shift()!, this.writes),
    });
    for (let i = 0; i <= CONTROL_RECEIVES; i++) this.#postSlot(slot);
  }

  /** How many slots it has. */
  get slots(): number {
    return this.#own.length;
  }

  /** Whether somebody sleeps until something comes. */
  get isAwaited(): boolean {
    return this.messages.isWaiting || this.writes.isWaiting;
  }

  /**
   * A receive has completed. Returns the type of the frame that has come.
   *
   * @throws {Deno.errors.InvalidData} If the peer breaks the protocol.
   */
  arrived(batch: WorkCompletionList, index: number): FrameType {
    this.#hasReceived = true;
    const slot = this.#posted.shift()!;
    if (slot === this.#first) this.#shares--;
    const immData = batch.wcFlags(index) & WcFlags.WITH_IMM ? batch.immData(index) : 0;
    const isWrite = batch.opcode(index) === WcOpcode.RECV_RDMA_WITH_IMM;
    const type = isWrite ? this.#protocol.receiveWrite() : this.#protocol.receive(immData);
    if (type === FrameType.DATA) this.#addMessage(slot, batch.byteLen(index));
    else if (type === FrameType.WRITE) this.#addWrite(slot, immData);
    // Else a peer that goes on sending would keep the last reading from ending.
    else if (!this.#isEnding) this.#repost(slot);
    return type;
  }

  #addMessage(slot: Slot, length: number): void {
    this.#isUsed = true;
    const isShared = slot === this.#first && this.#shares > 0;
    const bytes = slot.bytes(length);
    this.#waiting.push(
      isShared ? { bytes: bytes.slice(), slot: undefined } : { bytes, slot },
    );
    this.counts.received++;
    this.counts.bytesReceived += length;
  }

  /** A write has no bytes here. */
  #addWrite(slot: Slot, imm: number): void {
    this.#isUsed = true;
    if (slot !== this.#first || this.#shares === 0) this.#free.push(slot);
    this.#written.push(imm);
    this.counts.writesReceived++;
  }

  /** No message has come: a receive is posted in place of that one. */
  #repost(slot: Slot): void {
    if (slot === this.#first && this.#isUsed && this.#postAnother()) return;
    this.#postSlot(slot);
  }

  /** Posts one more receive. Returns whether there was memory for it. */
  #postAnother(): boolean {
    const slot = this.#free.pop() ?? this.#another();
    if (slot !== undefined) this.#postSlot(slot);
    return slot !== undefined;
  }

  /** With one place a connection works on without memory, more slowly. The last slot is left to those that send. */
  #another(): Slot | undefined {
    if (!this.#slots.has(2)) return this.#isSingle ? this.#first : undefined;
    const slot = this.#slots.take();
    this.#own.push(slot);
    return slot;
  }

  /** Whether there is a place for one message at a time. */
  get #isSingle(): boolean {
    return this.#shares > 1;
  }

  #postSlot(slot: Slot): void {
    slot.postRecv(this.#qp);
    this.#posted.push(slot);
    if (slot === this.#first) this.#shares++;
  }

  /** Those who wait get what has come, and the peer the credits that it is owed. */
  serve(): void {
    // When a send has completed, too: there may have been no room for them.
    if (this.#hasReceived || this.#protocol.owesCredits) this.#giveCredits();
    if (!this.#hasReceived) return;
    this.#hasReceived = false;
    this.serveWaiting();
  }

  serveWaiting(): void {
    this.messages.serve();
    this.writes.serve();
  }

  #take({ how, buffer }: Target): Taken {
    if (how === "lend") return this.#lend();
    if (how === "copy") return this.#consume(this.#copy(buffer), this.messages);
    return this.#takeMany(buffer!);
  }

  /** Copies the first message. */
  #copy(buffer: Uint8Array<ArrayBuffer> | undefined): Uint8Array<ArrayBuffer> {
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

  /** Copies the first message, and those that are there and fit behind it. */
  #takeMany(buffer: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    const taken = [this.#copy(buffer)];
    let end = taken[0]!.length;
    while (this.#waiting.length > 0 && this.#waiting[0]!.bytes.length <= buffer.length - end) {
      const next = this.#copy(buffer.subarray(end));
      this.#protocol.consume(this.#waiting.length);
      taken.push(next);
      end += next.length;
    }
    return this.#consume(taken, this.messages);
  }

  #lend(): BorrowedMessage {
    const message = this.#waiting.shift()!;
    this.#lent.add(message);
    const giveBack = (): void => this.#takeBack(message);
    return new BorrowedMessage(made<Lending>({ bytes: () => message.bytes, giveBack }));
  }

  /** A message that was lent is not read any more. */
  #takeBack(message: Message): void {
    this.#lent.delete(message);
    const { slot } = message;
    if (slot !== undefined && this.#isReleased) this.#giveLast(slot);
    else if (slot !== undefined) this.#free.push(slot);
    this.#consume(undefined, this.messages);
  }

  #consume<T>(taken: T, { unread }: { readonly unread: number }): T {
    this.#protocol.consume(unread);
    try {
      this.#giveCredits();
    } catch (error) {
      // Later: what was taken has not reached its waiter yet.
      timers.queueMicrotask(() => this.#connection.fail(error));
    }
    return taken;
  }

  /** Promises to take more messages, if there are receives for them, and tells the peer. */
  #giveCredits(): void {
    if (this.#isEnding || this.#connection.failure !== undefined) return;
    let wanted = this.#protocol.wanted(this.#isSingle);
    while (wanted-- > 0 && this.#postAnother()) this.#protocol.promise();
    if (this.#protocol.owesCredits) this.#sender.control(FrameType.CREDIT);
  }

  /** Whether the peer sends nothing more that this end takes. */
  #hasPeerEnded(): boolean {
    if (this.#protocol.peerEnded) return true;
    if (this.#connection.failure !== undefined) throw this.#connection.failure;
    return false;
  }

  /** The connection ends: it posts no receives and gives no credits. */
  end(): void {
    this.#isEnding = true;
  }

  rejectWaiting(reason: unknown): void {
    this.messages.rejectAll(reason);
    this.writes.rejectAll(reason);
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

  #giveLast(slot: Slot): void {
    this.#own.splice(this.#own.indexOf(slot), 1);
    this.#slots.give(slot);
    this.#slots.trim();
  }
}
