import {
  type AddressHandle,
  type CompletionQueue,
  type MemoryRegion,
  QpState,
  type QueuePair,
  SendRequests,
  WorkCompletions,
} from "../mod.ts";

/** Slots of memory for sends, each in use until the completion of its send is polled. */
export class Sender {
  /** Sends posted. */
  sent = 0;
  /** Sends that failed. */
  errors = 0;
  readonly #qp: QueuePair;
  readonly #cq: CompletionQueue;
  readonly #mr: MemoryRegion;
  readonly #slotSize: number;
  readonly #requests: SendRequests;
  readonly #batch: WorkCompletions;
  readonly #free: number[];
  readonly #onError: () => void;
  readonly #waiters: Set<PromiseWithResolvers<number>> = new Set();
  readonly #abort: AbortController = new AbortController();
  #pumping = false;
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
    this.#mr = mr;
    this.#slotSize = slotSize;
    this.#onError = onError;
    const capacity = Math.floor(mr.length / slotSize);
    this.#requests = new SendRequests({ capacity });
    this.#batch = new WorkCompletions(capacity);
    for (let i = 0; i < capacity; i++) {
      this.#requests.set(i, { wrId: i, sge: mr.slice(i * slotSize, slotSize) });
    }
    this.#free = Array.from({ length: capacity }, (_, i) => capacity - 1 - i);
  }

  /** A free slot, or undefined if all are in use. */
  takeSlot(): number | undefined {
    if (this.#waiters.size > 0) return undefined;
    if (this.#free.length === 0) this.#reap();
    return this.#free.pop();
  }

  /** Waits for a free slot. Those who wait longest come first. */
  async waitForSlot(signal: AbortSignal | undefined): Promise<number> {
    const waiter = Promise.withResolvers<number>();
    const abort = (): void => {
      this.#waiters.delete(waiter);
      waiter.reject(signal!.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiters.add(waiter);
    if (!this.#pumping) this.ended = this.#pump().catch((error) => this.close(error));
    try {
      return await waiter.promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Returns a slot that was not posted. */
  giveBack(slot: number): void {
    this.#free.push(slot);
    this.#serve();
  }

  /** Copies the message into the slot and posts it. */
  post(slot: number, p: Uint8Array, ah: AddressHandle, qpn: number, qkey: number): void {
    this.#mr.bytes(slot * this.#slotSize, p.length).set(p);
    this.#requests.setLength(slot, p.length);
    this.#requests.setAh(slot, ah);
    this.#requests.setRemote(slot, qpn, qkey);
    this.#qp.postSend(this.#requests, 1, slot);
    this.sent++;
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    const { signal } = this.#abort;
    while (this.#waiters.size > 0 && !signal.aborted) {
      this.#cq.reqNotify();
      if (this.#reap() === 0) await this.#cq.channel!.getCqEvent({ signal });
    }
    this.#pumping = false;
  }

  /** Frees the slots of completed sends. */
  #reap(): number {
    const batch = this.#batch;
    const count = this.#cq.pollInto(batch);
    let failed = false;
    for (let i = 0; i < count; i++) {
      this.#free.push(batch.wrIdLow(i));
      if (batch.status(i) === 0) continue;
      failed = true;
      this.errors++;
    }
    if (failed) this.#recover();
    this.#serve();
    return count;
  }

  #serve(): void {
    for (const waiter of this.#waiters) {
      const slot = this.#free.pop();
      if (slot === undefined) return;
      this.#waiters.delete(waiter);
      waiter.resolve(slot);
    }
  }

  /** A failed send stops the send queue. It starts again in state RTS. */
  #recover(): void {
    this.#onError();
    const { qpState } = this.#qp.query().attr;
    if (qpState === QpState.SQE) this.#qp.modify({ curQpState: QpState.SQE, qpState: QpState.RTS });
  }

  /** Ends all waits. */
  close(reason: Error): void {
    this.#abort.abort(reason);
    for (const waiter of this.#waiters) waiter.reject(reason);
    this.#waiters.clear();
  }
}
