import {
  type CompletionQueue,
  Grh,
  type MemoryRegion,
  type QueuePair,
  RecvRequests,
  type ReplyPath,
  WorkCompletions,
} from "../mod.ts";
import { UdPeer } from "./ud_peer.ts";

type Datagram = [Uint8Array<ArrayBuffer>, UdPeer];

interface Waiter {
  readonly buffer: Uint8Array<ArrayBuffer> | undefined;
  readonly resolve: (datagram: Datagram) => void;
  readonly reject: (reason: unknown) => void;
}

const BATCH = 64;

/** Keeps receives posted, and hands received datagrams to those who wait for them. */
export class Receiver {
  /** Datagrams received. */
  received = 0;
  /** Datagrams dropped because too many were waiting. */
  dropped = 0;
  /** Receives that failed. */
  errors = 0;
  /** Resolves when nothing waits for events any more. */
  readonly ended: Promise<void>;
  readonly #qp: QueuePair;
  readonly #cq: CompletionQueue;
  readonly #mr: MemoryRegion;
  readonly #slotSize: number;
  readonly #maxQueued: number;
  readonly #qkey: number;
  readonly #requests: RecvRequests;
  readonly #batch: WorkCompletions = new WorkCompletions(BATCH);
  readonly #queue: Datagram[] = [];
  readonly #waiters: Set<Waiter> = new Set();
  readonly #abort: AbortController = new AbortController();
  #endPause: () => void = () => {};

  /** Posts all receives. */
  constructor(
    qp: QueuePair,
    cq: CompletionQueue,
    mr: MemoryRegion,
    slotSize: number,
    maxQueued: number,
    { qkey }: { readonly path: ReplyPath; readonly qkey: number },
  ) {
    this.#qp = qp;
    this.#cq = cq;
    this.#mr = mr;
    this.#slotSize = slotSize;
    this.#maxQueued = maxQueued;
    this.#qkey = qkey;
    const capacity = Math.floor(mr.length / slotSize);
    this.#requests = new RecvRequests({ capacity });
    for (let i = 0; i < capacity; i++) {
      this.#requests.set(i, { wrId: i, sge: mr.slice(i * slotSize, slotSize) });
    }
    qp.postRecv(this.#requests);
    this.ended = this.#pump().catch((error) => this.#fail(error));
  }

  /** The next datagram. */
  receive(
    buffer: Uint8Array<ArrayBuffer> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Datagram> {
    if (this.#queue.length === 0 && this.#waiters.size === 0) this.#drain();
    const { promise, resolve, reject } = Promise.withResolvers<Datagram>();
    const waiter = { buffer, resolve, reject };
    const next = this.#queue[0];
    if (next !== undefined) {
      if (this.#give(waiter, next)) this.#queue.shift();
      return promise;
    }
    this.#waiters.add(waiter);
    this.#endPause();
    if (signal === undefined) return promise;
    const abort = (): void => {
      this.#waiters.delete(waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }

  /** Gives a datagram to a waiter. Returns whether it fits the waiter's buffer. */
  #give({ buffer, resolve, reject }: Waiter, [message, from]: Datagram): boolean {
    if (buffer === undefined) resolve([message, from]);
    else if (buffer.length < message.length) {
      reject(
        new RangeError(
          `Cannot receive: the message has ${message.length} bytes, and the buffer ${buffer.length}`,
        ),
      );
      return false;
    } else {
      buffer.set(message);
      resolve([buffer.subarray(0, message.length), from]);
    }
    return true;
  }

  /** Waits for events. While nobody waits for a datagram it reads the queue at most once a millisecond. */
  async #pump(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      this.#cq.reqNotify();
      while (this.#drain() > 0);
      await this.#cq.channel!.getCqEvent({ signal });
      this.#drain();
      if (this.#waiters.size === 0) await this.#pause();
    }
  }

  /** Ends early if somebody begins to wait for a datagram, or the connection is closed. */
  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, 1);
    this.#endPause = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#waiters) reject(error);
    this.#waiters.clear();
  }

  /** Takes completed receives, and posts them again in runs. */
  #drain(): number {
    if (this.#abort.signal.aborted) return 0;
    const batch = this.#batch;
    const count = this.#cq.pollInto(batch);
    for (let i = 0; i < count; i++) this.#take(i);
    for (let i = 0; i < count;) {
      const start = batch.wrIdLow(i);
      let length = 1;
      while (i + length < count && batch.wrIdLow(i + length) === start + length) length++;
      this.#qp.postRecv(this.#requests, length, start);
      i += length;
    }
    return count;
  }

  #take(index: number): void {
    const batch = this.#batch;
    if (batch.status(index) !== 0) {
      this.errors++;
      return;
    }
    this.received++;
    const [waiter] = this.#waiters;
    if (waiter === undefined && this.#queue.length >= this.#maxQueued) {
      this.dropped++;
      return;
    }
    const offset = batch.wrIdLow(index) * this.#slotSize;
    const from = new UdPeer(batch.at(index), this.#mr.grhAt(offset), this.#qkey);
    const length = batch.byteLen(index) - Grh.SIZE;
    const datagram: Datagram = [this.#mr.bytes(offset + Grh.SIZE, length).slice(), from];
    if (waiter === undefined) {
      this.#queue.push(datagram);
      return;
    }
    this.#waiters.delete(waiter);
    if (!this.#give(waiter, datagram)) this.#queue.push(datagram);
  }

  /** Ends all waits. */
  close(reason: Error): void {
    this.#abort.abort(reason);
    this.#endPause();
    this.#fail(reason);
    this.#queue.length = 0;
  }
}
