import {
  type MemoryRegion,
  type QueuePair,
  type SendRequest,
  SendRequestList,
  WrOpcode,
} from "../../mod.ts";
import { copyMessage } from "../shared/copy_message.ts";
import { CONTROL_SENDS } from "./protocol.ts";

/** Checks of the peer that have no completion, in a row. Their places are free when a later request has completed. */
const QUIET_CHECKS = 15;
/** The most requests in progress that need no slot: those of the protocol, and checks of the peer. */
export const SLOTLESS_SENDS: number = CONTROL_SENDS + QUIET_CHECKS;
/** An empty write is acknowledged by the device of the peer. It needs no receive and no key. */
const CHECK = { opcode: WrOpcode.RDMA_WRITE, remoteAddr: 0, rkey: 0 } as const;

/** Somebody who waits for the completion of one request, and gets the bytes of its slot. */
interface Completion {
  readonly resolve: (bytes: Uint8Array<ArrayBuffer>) => void;
  readonly reject: (reason: unknown) => void;
}

/** Requests in progress. Requests of one queue pair complete in the order in which they were posted. */
export class Outbox {
  readonly #qp: QueuePair;
  readonly #mr: MemoryRegion;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #slotSize: number;
  readonly #messages: SendRequestList;
  readonly #free: number[];
  readonly #freeControls: number[];
  readonly #slots: number;
  readonly #waiting: Map<number, Completion> = new Map();
  /** Requests that have a completion even if they succeed. */
  posted = 0;
  completed = 0;
  /** {@linkcode Outbox.posted} at the last call of {@linkcode Outbox.checkPeer}, and quiet checks since it has changed. */
  #checked = 0;
  #quietChecks = 0;

  constructor(qp: QueuePair, mr: MemoryRegion, slotSize: number) {
    const slots = mr.length / slotSize;
    this.#qp = qp;
    this.#mr = mr;
    this.#bytes = mr.bytes();
    this.#slotSize = slotSize;
    this.#messages = new SendRequestList({ capacity: slots + 1 });
    this.#slots = slots;
    for (let i = 0; i < slots; i++) {
      const sge = mr.slice(i * slotSize, slotSize);
      this.#messages.set(i, { wrId: i, opcode: WrOpcode.SEND_WITH_IMM, sge });
    }
    this.#messages.set(slots, { ...CHECK, wrId: slots + CONTROL_SENDS, signaled: false });
    this.#free = Array.from({ length: slots }, (_, i) => slots - 1 - i);
    this.#freeControls = Array.from({ length: CONTROL_SENDS }, (_, i) => slots + i);
  }

  /** Whether somebody waits for the completion of a request. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  get hasSlot(): boolean {
    return this.#free.length > 0;
  }

  send(message: Uint8Array, immData: number): void {
    const slot = this.#free.at(-1)!;
    copyMessage(this.#bytes, message, slot * this.#slotSize);
    this.#messages.setLength(slot, message.length);
    this.#messages.setImmData(slot, immData);
    this.#qp.postSend(this.#messages, slot, 1);
    this.#free.pop();
    this.posted++;
  }

  /**
   * Posts a request that uses `length` bytes of a free slot. `data` is copied there first. The promise gives what `finish`
   * makes of the bytes when the request is complete.
   */
  operate<T>(
    request: SendRequest,
    length: number,
    data: Uint8Array | undefined,
    finish: (bytes: Uint8Array<ArrayBuffer>) => T,
  ): Promise<T> {
    const slot = this.#free.at(-1)!;
    const start = slot * this.#slotSize;
    if (data !== undefined) this.#bytes.set(data, start);
    this.#qp.postSend({ ...request, wrId: slot, sge: this.#mr.slice(start, length) });
    this.#free.pop();
    this.posted++;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Now: the next request may use the slot. A buffer of the caller may be gone.
    this.#waiting.set(slot, { resolve: (bytes) => resolve(Promise.try(finish, bytes)), reject });
    return promise;
  }

  /** Posts a request without memory. Returns whether there was room for one. */
  control(request: SendRequest): boolean {
    const id = this.#freeControls.at(-1);
    if (id === undefined) return false;
    this.#qp.postSend({ ...request, wrId: id });
    this.#freeControls.pop();
    this.posted++;
    return true;
  }

  /**
   * Checks that the peer is there, unless a request was posted since the last call or is in progress. Most checks have a
   * completion only if they fail, so that nobody wakes up while the peer is there.
   */
  checkPeer(): void {
    const isIdle = this.#checked === this.posted && this.completed === this.posted;
    if (this.#checked !== this.posted) this.#quietChecks = 0;
    this.#checked = this.posted;
    if (!isIdle) return;
    if (this.#quietChecks++ < QUIET_CHECKS) this.#qp.postSend(this.#messages, this.#slots, 1);
    else this.control(CHECK);
  }

  complete(id: number): void {
    this.completed++;
    this.#release(id)?.resolve(this.#bytes.subarray(id * this.#slotSize));
  }

  fail(id: number, reason: unknown): void {
    this.completed++;
    this.#release(id)?.reject(reason);
  }

  #release(id: number): Completion | undefined {
    (id < this.#slots ? this.#free : this.#freeControls).push(id);
    const completion = this.#waiting.get(id);
    this.#waiting.delete(id);
    return completion;
  }

  failAll(reason: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }
}
