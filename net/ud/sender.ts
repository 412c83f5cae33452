import { copyBytes } from "../../internal/checks.ts";
import { state } from "../../wait/state.ts";
import { mayContinue, nextTurn } from "../../wait/turns.ts";
import { BusyPoll } from "../../wait/busy_poll.ts";
import { Waiters } from "../../wait/waiters.ts";
import {
  type AddressHandle,
  type CompletionQueue,
  type MemoryRegion,
  QpType,
  type QueuePair,
  SendRequestList,
  WorkCompletionError,
  WorkCompletionList,
  WrOpcode,
} from "../../mod.ts";
import type { Loop } from "../../wait/loop.ts";
import { loopOf } from "../shared/completions.ts";
import { Slots } from "./slots.ts";
import { handleOf, type Peer } from "./peers.ts";
import type { Routes } from "./routes.ts";

/** The completions are read after this many sends at the latest: an error stops all sends after it. */
const MAX_UNREAD = 16;
/** Datagrams that are posted together. */
const MAX_LIST = 32;
/** A list is posted when this many microtasks have run without another datagram. */
const QUIET_TASKS = 4;

export interface SenderParts {
  readonly qp: QueuePair;
  readonly cq: CompletionQueue;
  /** Slots of this size. */
  readonly mr: MemoryRegion;
  readonly slotSize: number;
  /** Whether the completion of a send means that the message has arrived. `send()` waits for it then. */
  readonly isReliable: boolean;
  readonly routes: Routes;
  /** How long a wait polls before it sleeps, in microseconds. */
  readonly spinMicroseconds: number;
  /** It is called when sends have completed, and when one has failed. */
  readonly onSent: () => void;
  readonly onError: (error: WorkCompletionError) => void;
}

/** A datagram of the caller's, whose arguments were checked. */
export interface Outgoing {
  readonly message: Uint8Array;
  readonly peer: Peer;
}

/** One that waits for a slot, and who waits until it has arrived. */
interface Sending extends Outgoing {
  readonly waiter: object | undefined;
}

/**
 * The send queue. Each slot of its memory is in use until the completion of its send is polled.
 *
 * Where datagrams are reliable, the sender of one waits for the end of its send: `waiter` names that wait in `#arrivals`.
 *
 * A datagram is copied to its slot at once. Datagrams that follow each other without a wait are posted as one list, because
 * each post is a system call on some devices.
 */
export class Sender {
  /** Datagrams that were given to it. */
  sent = 0;
  /** Datagrams that were lost: their sends failed, or a reset ended them. */
  errors = 0;
  readonly #parts: SenderParts;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #requests: SendRequestList;
  readonly #batch: WorkCompletionList;
  readonly #slots: Slots;
  /** The datagrams that are not posted: how many, in slots that follow each other, and the slot of the first. */
  #unposted = 0;
  #firstUnposted = 0;
  /** Sends since the completions were read. */
  #unread = 0;
  /** Waiters for a slot, and waiters until their datagrams have arrived. */
  readonly #waiters: Waiters<Sending, boolean> = new Waiters(() => this.#loop.update());
  readonly #arrivals: Waiters<object, void> = new Waiters(() => this.#loop.update());
  /** By their slots. */
  readonly #arrivalWaiters: (object | undefined)[];
  readonly #loop: Loop;
  #scheduled = false;
  /** Sends since the last wait or pause, and whether there were several before it: then a list is worth waiting for. */
  #inRow = 0;
  #isBurst = false;
  /** The number of waits before the row. */
  #waits = 0;
  #failure: unknown;

  constructor(parts: SenderParts) {
    const { mr, slotSize } = parts;
    this.#parts = parts;
    this.#bytes = mr.bytes;
    const { size } = this.#slots = new Slots(mr.length / slotSize);
    this.#requests = new SendRequestList({ capacity: size });
    this.#batch = new WorkCompletionList(size);
    this.#arrivalWaiters = Array.from({ length: size }, () => undefined);
    const { qpType, qpNum } = parts.qp;
    // Programs in C that find each other by address answer to the number in a datagram.
    const opcode = qpType === QpType.UD
      ? { opcode: WrOpcode.SEND_WITH_IMM, immData: qpNum } as const
      : {};
    for (let i = 0; i < size; i++) {
      this.#requests.set(i, { wrId: i, sge: mr.sge(i * slotSize, slotSize), ...opcode });
    }
    this.#loop = loopOf(parts.cq, {
      read: () => {
        this.flush();
        return this.poll();
      },
      isOpen: () => this.#failure === undefined,
      want: () => this.#waiters.size + this.#arrivals.size > 0 ? "held" : "nothing",
      busyPoll: new BusyPoll(parts.spinMicroseconds),
      onError: (error) => this.fail(error),
    });
  }

  /** Sends a datagram, and returns what to wait for. */
  send(
    message: Uint8Array,
    peer: Peer,
    signal: AbortSignal | undefined,
  ): Promise<void> | undefined {
    if (!this.#parts.isReliable) return this.#sendNow(message, peer, signal, undefined);
    const waiter = {};
    const arrived = this.#arrivals.wait(waiter, signal);
    Promise.try(() => this.#sendNow(message, peer, signal, waiter))
      .catch((error) => this.#arrivals.reject(waiter, error));
    return arrived;
  }

  /** Sends datagrams in their order, together. If some reliable ones fail, the others go on. */
  async sendAll(datagrams: readonly Outgoing[], signal: AbortSignal | undefined): Promise<void> {
    const arrivals: Promise<void>[] = [];
    for (const { message, peer } of datagrams) {
      signal?.throwIfAborted();
      const waiting = this.send(message, peer, signal);
      if (waiting !== undefined && !this.#parts.isReliable) await waiting;
      else if (waiting !== undefined) {
        // It may fail while the others are being sent.
        waiting.catch(() => {});
        arrivals.push(waiting);
      }
      if (!mayContinue()) await nextTurn();
    }
    this.flush();
    await Promise.all(arrivals);
  }

  /** Sends at once, or returns what to wait for. */
  #sendNow(
    message: Uint8Array,
    peer: Peer,
    signal: AbortSignal | undefined,
    waiter: object | undefined,
  ): Promise<void> | undefined {
    // The look for room can find an error, after which there are no handles.
    const ah = this.#hasRoom() ? this.#handleOf(peer) : undefined;
    if (ah === undefined) return this.#sendLater(message, peer, signal, waiter);
    this.#copy(message, ah, peer, waiter);
  }

  /**
   * Nobody else waits behind a peer that does not answer: the handle comes first, and then the slot. A handle that is made
   * at once comes last, because those of others who wait could take its place.
   */
  async #sendLater(
    message: Uint8Array,
    peer: Peer,
    signal: AbortSignal | undefined,
    waiter: object | undefined,
  ): Promise<void> {
    while (true) {
      if (!this.#parts.routes.canReach(peer)) await this.#makeHandle(peer, signal);
      if (!this.#hasRoom()) {
        if (await this.#sendInTurn({ message, peer, waiter }, signal)) return;
        continue;
      }
      const ah = this.#handleOf(peer);
      if (ah !== undefined) return this.#copy(message, ah, peer, waiter);
    }
  }

  /** The handle that reaches a peer now, if there is one. */
  #handleOf(peer: Peer): AddressHandle | undefined {
    const ah = handleOf(peer);
    return ah?.disposed === false ? ah : this.#parts.routes.makeNow(peer);
  }

  async #makeHandle(peer: Peer, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#parts.routes.make(peer, signal);
    } catch (error) {
      // If the socket was closed in the meantime, that is the reason.
      throw this.#failure ?? error;
    }
  }

  /** Whether there is a free slot. Waiters get free slots first. */
  #hasRoom(): boolean {
    if (this.#waiters.size === 0) {
      if (this.#slots.free === 0) this.flush();
      if (this.#slots.free === 0 || this.#unread >= MAX_UNREAD) this.poll();
    }
    if (this.#failure !== undefined) throw this.#failure;
    return this.#slots.free > 0;
  }

  /** Sends a datagram when there is a free slot. It is false if there is no address handle then. */
  #sendInTurn(sending: Sending, signal: AbortSignal | undefined): Promise<boolean> {
    const sent = this.#waiters.wait(sending, signal);
    this.#loop.update();
    return sent;
  }

  /** Copies a datagram to a free slot. It is posted with those that follow, or by `Sender.flush`. */
  #copy(
    message: Uint8Array,
    ah: AddressHandle,
    { qpNum, qkey }: Peer,
    waiter: object | undefined,
  ): void {
    const requests = this.#requests;
    const { slotSize, routes } = this.#parts;
    const { length } = message;
    checkLength(length, slotSize);
    const slot = this.#slots.first;
    if (slot !== this.#firstUnposted + this.#unposted) this.#post();
    copyBytes(this.#bytes, message, slot * slotSize);
    requests.setLength(slot, length);
    requests.setAh(slot, ah);
    requests.setRemote(slot, qpNum, qkey);
    this.#arrivalWaiters[slot] = waiter;
    this.#slots.take();
    this.#unread++;
    this.sent++;
    if (this.#waits !== state.polls) this.#endRow();
    const isFirst = this.#inRow++ === 0;
    if (this.#unposted === 0) this.#firstUnposted = slot;
    // While a handle is being made, that of this datagram may be closed before the next microtask.
    if (++this.#unposted >= MAX_LIST || isFirst && !this.#isBurst || !routes.isIdle) {
      return this.#post();
    }
    if (this.#unposted === 1) state.unposted.add(this);
    if (!this.#scheduled) void this.#flushWhenQuiet();
  }

  async #flushWhenQuiet(): Promise<void> {
    this.#scheduled = true;
    let listed = 0;
    for (let quiet = 0; quiet <= QUIET_TASKS && this.#unposted > 0; quiet++) {
      if (this.#unposted !== listed) quiet = 0;
      listed = this.#unposted;
      await undefined;
    }
    this.#scheduled = false;
    this.flush();
  }

  /** Posts the datagrams that were copied. Their address handles must still be open. */
  flush(): void {
    this.#endRow();
    this.#post();
  }

  #endRow(): void {
    this.#waits = state.polls;
    this.#isBurst = this.#inRow > 1;
    this.#inRow = 0;
  }

  #post(): void {
    const count = this.#unposted;
    if (count === 0) return;
    state.unposted.delete(this);
    this.#unposted = 0;
    if (this.#failure !== undefined) return;
    try {
      this.#parts.qp.postSend(this.#requests, this.#firstUnposted, count);
    } catch (error) {
      this.errors += count;
      return this.fail(error);
    }
    if (this.#arrivals.size > 0) this.#loop.update();
  }

  /** Frees the slots of completed sends, and lets others have them. Returns how many there were. */
  poll(): number {
    const count = this.#reap();
    this.serve();
    return count;
  }

  drain(): void {
    while (this.#reap() > 0);
  }

  /** Reads completions. If the device no longer answers, there are none. */
  #read(): number {
    try {
      return this.#parts.cq.pollInto(this.#batch);
    } catch (error) {
      this.fail(error);
      return 0;
    }
  }

  #reap(): number {
    if (this.#failure !== undefined) return 0;
    const batch = this.#batch;
    const count = this.#read();
    this.#unread = 0;
    if (count === 0) return 0;
    let failed = -1;
    for (let i = 0; i < count; i++) {
      const slot = batch.wrIdLow(i);
      const isSent = batch.status(i) === 0;
      this.#slots.give(slot);
      if (this.#arrivalWaiters[slot] !== undefined) {
        this.#end(slot, isSent ? undefined : new WorkCompletionError(batch.at(i)));
      }
      if (isSent) continue;
      if (failed < 0) failed = i;
      this.errors++;
    }
    if (failed < 0) this.#parts.onSent();
    else this.#parts.onError(new WorkCompletionError(batch.at(failed)));
    return count;
  }

  /** Ends the wait for the datagram of a slot. */
  #end(slot: number, error: unknown): void {
    const waiter = this.#arrivalWaiters[slot];
    this.#arrivalWaiters[slot] = undefined;
    if (waiter === undefined) return;
    if (error === undefined) this.#arrivals.resolve(waiter, undefined);
    else this.#arrivals.reject(waiter, error);
  }

  /** The queue pair was reset for that reason: datagrams that were not sent until then are lost. */
  restart(reason: unknown): void {
    for (const slot of this.#arrivalWaiters.keys()) this.#end(slot, reason);
    this.errors += this.#slots.size - this.#slots.free;
    this.#slots.reset([]);
    this.#unposted = 0;
    this.#unread = 0;
    this.#loop.update();
  }

  serve(): void {
    while (this.#slots.free > 0 && this.#failure === undefined) {
      const sending = this.#waiters.first;
      if (sending === undefined) return;
      this.#serveOne(sending);
    }
  }

  #serveOne(sending: Sending): void {
    const { message, peer, waiter } = sending;
    try {
      const ah = this.#handleOf(peer);
      if (ah !== undefined) this.#copy(message, ah, peer, waiter);
      this.#waiters.resolve(sending, ah !== undefined);
    } catch (error) {
      // A buffer can be transferred or changed in the meantime.
      this.#waiters.reject(sending, error);
    }
  }

  /** Ends all waits: nothing is sent any more. */
  fail(reason: unknown): void {
    this.#failure ??= reason;
    this.#waiters.rejectAll(this.#failure);
    this.#arrivals.rejectAll(this.#failure);
    this.#loop.update();
  }

  /** Posts what was given to it, and ends all waits. */
  close(reason: Error): void {
    this.flush();
    this.fail(reason);
  }
}

/** Checks that a message is not too long. */
export function checkLength(length: number, max: number): void {
  if (length <= max) return;
  throw new RangeError(`Cannot send: the message has ${length} bytes, and maxMessage is ${max}`);
}
