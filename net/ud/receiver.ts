import type { Need } from "../../wait/bell.ts";
import { BusyPoll } from "../../wait/busy_poll.ts";
import {
  type CompletionQueue,
  type MemoryRegion,
  type QueuePair,
  RecvRequestList,
  WcStatus,
  WorkCompletionError,
  type WorkCompletionList,
} from "../../mod.ts";
import { made } from "../../internal/made.ts";
import { Incoming } from "../../wait/incoming.ts";
import type { Loop } from "../../wait/loop.ts";
import { loopOf } from "../shared/completions.ts";
import { BorrowedDatagram, type DatagramLending } from "./borrowed_datagram.ts";
import type { Peers } from "./peers.ts";
import { Slots } from "./slots.ts";
import type { UdAddress } from "./ud_address.ts";

export type Datagram = [Uint8Array<ArrayBuffer>, UdAddress];

/** What to do with a datagram, or with all that have come. */
interface Target {
  readonly how: "copy" | "copy many" | "lend";
  readonly buffer?: Uint8Array<ArrayBuffer> | undefined;
}

type Taken = Datagram | Datagram[] | BorrowedDatagram;

/** Receives are posted again when this fraction of them is missing: to post one takes as long as to answer. */
const PART = 32;

/** A message in its slot. */
interface Arrived {
  readonly slot: number;
  readonly length: number;
  readonly from: UdAddress;
}

export interface ReceiverParts {
  readonly qp: QueuePair;
  readonly cq: CompletionQueue;
  /** The batch that it polls into. */
  readonly batch: WorkCompletionList;
  /** The bytes of a receive before its message. */
  readonly headroom: number;
  /** Slots of this size, a multiple of 4, for posted receives and for datagrams that wait. */
  readonly mr: MemoryRegion;
  readonly slotSize: number;
  /** The bytes after the slots, which all receives share for the rest of what is longer than a slot. */
  readonly overflow: number;
  readonly maxQueued: number;
  /** Whether datagrams are never dropped: where no slot is free, the senders wait. */
  readonly isReliable: boolean;
  readonly peers: Peers;
  /** How long a wait polls before it sleeps, in microseconds. */
  readonly spinMicroseconds: number;
  /** It is called when datagrams were received, and when a receive has failed: the queue pair must be reset then. */
  readonly onReceived: () => void;
  readonly onError: (error: WorkCompletionError) => void;
}

/**
 * Keeps receives posted, and hands received datagrams to the waiters.
 *
 * A datagram stays in the slot that it was received into until a call takes it: it is copied only once.
 */
export class Receiver {
  received = 0;
  /** Datagrams dropped because too many were waiting, they are too long, or their sender cannot be identified. */
  dropped = 0;
  /** Receives that failed, other than those that were flushed after an error. */
  errors = 0;
  readonly #parts: ReceiverParts;
  readonly #slots: Slots;
  /** How many receives are to be posted at any time. */
  readonly #depth: number;
  /** The memory of the slots; a copy of it once the socket is closed. */
  #bytes: Uint8Array<ArrayBuffer>;
  readonly #words: Uint32Array<ArrayBuffer>;
  /** The last message of each slot: to make a view takes longer than to copy a short message, and most are of one length. */
  #messages: (Uint8Array<ArrayBuffer> | undefined)[];
  readonly #requests: RecvRequestList;
  /** How many receives are posted. */
  #posted = 0;
  /** Whether fewer are, because datagrams that are borrowed have the slots. */
  #lacksSlots = false;
  /** The datagrams that wait, oldest first. */
  #queue: Arrived[] = [];
  /** Whether the queue pair is being reset. No receive is posted meanwhile. */
  #isStopped = false;
  /** The slots of datagrams that the program has borrowed. */
  readonly #lent: Set<number> = new Set();
  readonly #incoming: Incoming<Target, Taken>;
  readonly #loop: Loop;
  /** How much calls that wait need it: whether they keep the program alive. */
  #need: Need = "held";
  #isClosing = false;
  #failure: unknown;

  constructor(parts: ReceiverParts) {
    const { mr, slotSize, overflow, maxQueued } = parts;
    this.#parts = parts;
    this.#bytes = mr.bytes;
    this.#words = new Uint32Array(this.#bytes.buffer, this.#bytes.byteOffset, mr.length / 4);
    const { size } = this.#slots = new Slots((mr.length - overflow) / slotSize);
    this.#depth = size - maxQueued;
    this.#messages = new Array(size).fill(undefined);
    const rest = overflow > 0 ? [mr.sge(size * slotSize, overflow)] : [];
    this.#requests = new RecvRequestList({ capacity: size, maxSge: 1 + rest.length });
    for (let i = 0; i < size; i++) {
      this.#requests.set(i, { wrId: i, sge: [mr.sge(i * slotSize, slotSize), ...rest] });
    }
    this.#post();
    this.#incoming = new Incoming({
      size: () => this.#queue.length,
      take: (target) => this.#take(target),
      hasEnded: () => this.#hasEnded(),
      drain: () => void this.#drain(),
      spin: () => void this.#loop.spin(),
      update: () => this.#loop.update(),
    });
    this.#loop = loopOf(parts.cq, {
      read: () => this.#drain(),
      isOpen: () => this.#failure === undefined,
      want: () => this.#incoming.isAwaited ? this.#need : "any",
      busyPoll: new BusyPoll(parts.spinMicroseconds),
      onError: (error) => this.fail(error),
    });
    this.#loop.update();
  }

  /** Sets whether calls that wait keep the program alive. */
  hold(isHeld: boolean): void {
    this.#need = isHeld ? "held" : "prompt";
    this.#loop.update();
  }

  /** The next datagram, written to a buffer or to a new one. */
  receive(buffer?: Uint8Array<ArrayBuffer>, signal?: AbortSignal): Promise<Datagram> {
    // There is no end but by an error.
    return this.#incoming.receive({ how: "copy", buffer }, signal) as Promise<Datagram>;
  }

  /** The next datagram, written to the start of a buffer, and those that are there then and fit behind it. */
  receiveMany(
    buffer: Uint8Array<ArrayBuffer>,
    signal: AbortSignal | undefined,
  ): Promise<Datagram[]> {
    return this.#incoming.receive({ how: "copy many", buffer }, signal) as Promise<Datagram[]>;
  }

  /** The next datagram, in its slot until it is given back. */
  borrow(signal: AbortSignal | undefined): Promise<BorrowedDatagram> {
    return this.#incoming.receive({ how: "lend" }, signal) as Promise<BorrowedDatagram>;
  }

  #take({ how, buffer }: Target): Taken {
    if (how === "lend") return this.#lend();
    const first = this.#consume(this.#queue[0]!, buffer);
    const taken = how === "copy" ? first : this.#takeMore(first, buffer!);
    this.#refill();
    return taken;
  }

  #lend(): BorrowedDatagram {
    const { slot, length, from } = this.#queue.shift()!;
    this.#lent.add(slot);
    const bytes = (): Uint8Array<ArrayBuffer> => this.#messageIn(slot, length);
    const giveBack = (): void => this.#takeBack(slot);
    return new BorrowedDatagram(made<DatagramLending>({ from, bytes, giveBack }));
  }

  #takeBack(slot: number): void {
    this.#lent.delete(slot);
    this.#slots.give(slot);
    this.#refill();
  }

  #takeMore(first: Datagram, buffer: Uint8Array<ArrayBuffer>): Datagram[] {
    const taken = [first];
    let end = first[0].length;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const room = buffer.length - end;
      if (next.length > room) break;
      taken.push(this.#consume(next, buffer.subarray(end, end + next.length)));
      end += next.length;
    }
    return taken;
  }

  #hasEnded(): boolean {
    if (this.#failure !== undefined) throw this.#failure;
    return false;
  }

  /** Reads all completions that are there. Receives are posted again by `Receiver.restart` only. */
  drain(): void {
    this.#isStopped = true;
    while (this.#drain() > 0);
  }

  /** Posts all receives: the queue pair was reset and has none. Datagrams that wait stay. */
  restart(): void {
    this.#isStopped = false;
    this.#posted = 0;
    this.#slots.reset([...this.#queue.map(({ slot }) => slot), ...this.#lent]);
    this.#post();
  }

  /** Copies the datagram that waits longest. It stays if it does not fit. */
  #consume(
    { slot, length, from }: Arrived,
    buffer: Uint8Array<ArrayBuffer> | undefined,
  ): Datagram {
    const room = buffer === undefined ? length : buffer.length;
    // A Proxy of the caller can close the socket.
    if (this.#queue.length === 0) throw this.#failure;
    if (room < length) {
      throw new RangeError(
        `Cannot receive: the message has ${length} bytes, and the buffer ${room}`,
      );
    }
    const target = buffer ?? new Uint8Array(length);
    target.set(this.#messageIn(slot, length));
    this.#queue.shift();
    this.#slots.give(slot);
    return [room === length ? target : target.subarray(0, length), from];
  }

  #messageIn(slot: number, length: number): Uint8Array<ArrayBuffer> {
    const last = this.#messages[slot];
    if (last !== undefined && last.length === length) return last;
    const { slotSize, headroom } = this.#parts;
    const start = slot * slotSize + headroom;
    return this.#messages[slot] = this.#bytes.subarray(start, start + length);
  }

  /** Reads completed receives, and posts others. Returns how many there were. */
  #drain(): number {
    if (this.#failure !== undefined) return 0;
    try {
      const count = this.#parts.cq.pollInto(this.#parts.batch);
      if (count > 0) this.#takeAll(count);
      return count;
    } catch (error) {
      this.fail(error);
      return 0;
    }
  }

  #takeAll(count: number): void {
    const { batch } = this.#parts;
    let failed = -1;
    this.#posted -= count;
    for (let i = 0; i < count; i++) {
      if (batch.status(i) === WcStatus.SUCCESS) this.#enqueue(i);
      else {
        this.#slots.give(batch.wrIdLow(i));
        if (failed < 0) failed = i;
        if (batch.status(i) !== WcStatus.WR_FLUSH_ERR) this.errors++;
      }
    }
    this.#incoming.serve();
    if (this.#isClosing) return;
    if (!this.#parts.isReliable) this.#dropExcess();
    if (failed >= 0) this.#parts.onError(new WorkCompletionError(batch.at(failed)));
    else if (!this.#isStopped) {
      this.#parts.onReceived();
      if ((this.#depth - this.#posted) * PART >= this.#depth) this.#post();
    }
  }

  #dropExcess(): void {
    const used = this.#queue.length + this.#lent.size;
    const excess = Math.min(used - this.#parts.maxQueued, this.#queue.length);
    if (excess <= 0) return;
    for (const { slot } of this.#queue.splice(0, excess)) this.#slots.give(slot);
    this.dropped += excess;
  }

  #enqueue(index: number): void {
    const { batch, headroom, peers, slotSize } = this.#parts;
    const slot = batch.wrIdLow(index);
    const byteLen = batch.byteLen(index);
    const from = byteLen > slotSize
      ? undefined
      : peers.sender(batch, index, this.#words, slot * slotSize / 4);
    this.received++;
    if (from !== undefined) {
      this.#queue.push({ slot, length: byteLen - headroom, from });
      return;
    }
    this.#slots.give(slot);
    this.dropped++;
  }

  /** Posts the receives that lacked a slot until now. */
  #refill(): void {
    if (!this.#parts.isReliable && !this.#lacksSlots) return;
    if (this.#isStopped || this.#failure !== undefined) return;
    try {
      this.#post();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Posts receives in place of those that have ended, as far as slots are free. */
  #post(): void {
    const { qp } = this.#parts;
    const slots = this.#slots;
    while (this.#posted < this.#depth && slots.free > 0) {
      const { first } = slots;
      const count = slots.takeRun(this.#depth - this.#posted);
      this.#posted += count;
      qp.postRecv(this.#requests, first, count);
    }
    this.#lacksSlots = this.#posted < this.#depth;
  }

  /** Nothing is received any more. Datagrams that wait can still be taken. */
  fail(reason: unknown): void {
    this.#failure ??= reason;
    this.#incoming.serve();
    this.#incoming.rejectAll(this.#failure);
    this.#loop.update();
  }

  /** Ends all waits, before the memory of the slots is freed. Datagrams that were received can still be taken. */
  close(reason: Error): void {
    this.#isClosing = true;
    this.drain();
    if (this.#queue.length + this.#lent.size > 0) this.#bytes = this.#bytes.slice();
    this.#messages.fill(undefined);
    this.fail(reason);
    this.#failure = reason;
  }
}
