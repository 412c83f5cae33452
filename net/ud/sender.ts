import {
  type AddressHandle,
  type CompletionQueue,
  type MemoryRegion,
  QpState,
  type QueuePair,
  SendRequests,
  WorkCompletionError,
  WorkCompletions,
} from "../../mod.ts";
import { Waiters } from "../shared/waiters.ts";

/** The completions are read after this many sends at the latest: an error stops all sends after it. */
const MAX_UNREAD = 16;

/** Slots of memory for sends, each in use until the completion of its send is polled. */
export class Sender {
  /** Sends posted. */
  sent = 0;
  /** Sends that failed. */
  errors = 0;
  readonly #qp: QueuePair;
  readonly #cq: CompletionQueue;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #slotSize: number;
  readonly #requests: SendRequests;
  readonly #batch: WorkCompletions;
  readonly #free: number[];
  readonly #onError: () => void;
  readonly #waiters: Waiters<object, number> = new Waiters();
  readonly #abort: AbortController = new AbortController();
  /** Sends since the completions were read. */
  #unread = 0;
  #pumping = false;
  /** Why nothing is sent any more. */
  #failure: unknown;
  /** Resolves when nothing waits for events any more. */
  ended: Promise<void> = Promise.resolve();

  /** Prepares a request for each slot. */
  constructor(
    qp: QueuePair,
    cq: CompletionQueue,
    mr: MemoryRegion,
    slotSize: number,
    onError: () => void,
  ) {
    this.#qp = qp;
    this.#cq = cq;
    this.#bytes = mr.bytes();
    this.#slotSize = slotSize;
    this.#onError = onError;
    const capacity = mr.length / slotSize;
    this.#requests = new SendRequests({ capacity });
    this.#batch = new WorkCompletions(capacity);
    for (let i = 0; i < capacity; i++) {
      this.#requests.set(i, { wrId: i, sge: mr.slice(i * slotSize, slotSize) });
    }
    this.#free = Array.from({ length: capacity }, (_, i) => capacity - 1 - i);
  }

  /** A free slot; undefined if all are in use or others wait for one. */
  takeSlot(): number | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#waiters.size > 0) return undefined;
    if (this.#free.length === 0 || this.#unread >= MAX_UNREAD) this.poll();
    return this.#free.pop();
  }

  /** Waits for a free slot. Those who wait longest come first. */
  waitForSlot(signal: AbortSignal | undefined): Promise<number> {
    const slot = this.#waiters.wait({}, signal);
    if (!this.#pumping) this.ended = this.#pump().catch((error) => this.#fail(error));
    return slot;
  }

  /** Returns a slot that was not posted. */
  giveBack(slot: number): void {
    this.#free.push(slot);
    this.#serve();
  }

  /** Copies the message into the slot and posts it. The slot is free again if that fails. */
  post(slot: number, p: Uint8Array, ah: AddressHandle, qpn: number, qkey: number): void {
    const requests = this.#requests;
    try {
      this.#bytes.set(p, slot * this.#slotSize);
      requests.setLength(slot, p.length);
      requests.setAh(slot, ah);
      requests.setRemote(slot, qpn, qkey);
      this.#qp.postSend(requests, 1, slot);
    } catch (error) {
      this.giveBack(slot);
      throw error;
    }
    this.sent++;
    this.#unread++;
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    const { signal } = this.#abort;
    try {
      while (this.#waiters.size > 0) {
        this.#cq.reqNotify();
        if (this.poll() === 0) await this.#cq.channel!.getCqEvent({ signal });
      }
    } finally {
      this.#pumping = false;
    }
  }

  /** Frees the slots of completed sends. Returns how many there were. */
  poll(): number {
    if (this.#failure !== undefined) return 0;
    const batch = this.#batch;
    const count = this.#cq.pollInto(batch);
    this.#unread = 0;
    let failed = -1;
    for (let i = 0; i < count; i++) {
      this.#free.push(batch.wrIdLow(i));
      if (batch.status(i) === 0) continue;
      if (failed < 0) failed = i;
      this.errors++;
    }
    if (failed >= 0) this.#recover(failed);
    this.#serve();
    return count;
  }

  #serve(): void {
    while (this.#free.length > 0) {
      const waiter = this.#waiters.first;
      if (waiter === undefined) return;
      this.#waiters.resolve(waiter, this.#free.pop()!);
    }
  }

  /** A failed send stops the send queue. It starts again in state RTS, unless the queue pair has failed as a whole. */
  #recover(failed: number): void {
    const error = new WorkCompletionError(this.#batch.at(failed));
    this.#onError();
    const { qpState } = this.#qp.query().attr;
    if (qpState === QpState.SQE) this.#qp.modify({ curQpState: QpState.SQE, qpState: QpState.RTS });
    if (qpState === QpState.ERR) this.#fail(error);
  }

  #fail(reason: unknown): void {
    this.#failure ??= reason;
    this.#waiters.rejectAll(this.#failure);
  }

  /** Ends all waits. */
  close(reason: Error): void {
    this.#fail(reason);
    this.#abort.abort(reason);
  }
}
