import { type QueuePair, type SendRequest, SendRequestList, WrOpcode } from "../../mod.ts";
import { CONTROL_SENDS } from "./protocol.ts";
import { CHECK, SEND } from "./request_ids.ts";
import type { Slot, Slots } from "./slots.ts";

/** Checks of the peer that have no completion, in a row. Their places are free when a later request has completed. */
const QUIET_CHECKS = 15;
/** The most requests in progress that need no slot: those of the protocol, and checks of the peer. */
export const SLOTLESS_SENDS: number = CONTROL_SENDS + QUIET_CHECKS;
/** An empty write is acknowledged by the device of the peer. It needs no receive and no key. */
const EMPTY_WRITE = { opcode: WrOpcode.RDMA_WRITE, remoteAddr: 0, rkey: 0 } as const;

/** Prepared requests without memory, of all connections of a device. */
const [CONTROL, SIGNALED_CHECK, QUIET_CHECK] = [0, 1, 2] as const;

/** Makes the prepared requests. */
export function prepared(): SendRequestList {
  const list = new SendRequestList({ capacity: 3 });
  list.set(CONTROL, { wrId: SEND, opcode: WrOpcode.SEND_WITH_IMM, immData: 0 });
  list.set(SIGNALED_CHECK, { ...EMPTY_WRITE, wrId: SEND });
  list.set(QUIET_CHECK, { ...EMPTY_WRITE, wrId: CHECK, signaled: false });
  return list;
}

/** A request in progress: its slot, and who waits for its completion and gets the bytes. */
interface InProgress {
  readonly slot: Slot | undefined;
  readonly resolve?: ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined;
  readonly reject?: ((reason: unknown) => void) | undefined;
}

/** Requests in progress. Requests of one queue pair complete in the order in which they were posted. */
export class Outbox {
  readonly #qp: QueuePair;
  readonly #slots: Slots;
  readonly #prepared: SendRequestList;
  readonly #depth: number;
  readonly #inProgress: InProgress[] = [];
  /** How many of them have a slot, and somebody who waits. */
  #used = 0;
  #awaited = 0;
  /** Requests that have a completion even if they succeed. */
  posted = 0;
  completed = 0;
  /** `Outbox.posted` at the last call of `Outbox.checkPeer`, and quiet checks since it has changed. */
  #checked = 0;
  #quietChecks = 0;

  /** At most `depth` requests may have a slot. */
  constructor(qp: QueuePair, slots: Slots, prepared: SendRequestList, depth: number) {
    this.#qp = qp;
    this.#slots = slots;
    this.#prepared = prepared;
    this.#depth = depth;
  }

  /** How many slots it has. */
  get slots(): number {
    return this.#used;
  }

  /** Whether somebody waits for the completion of a request. */
  get isAwaited(): boolean {
    return this.#awaited > 0;
  }

  /** If no memory is left, a request waits for those before it; the first one fails. */
  get hasSlot(): boolean {
    return this.#used === 0 || this.#used < this.#depth && this.#slots.has(1);
  }

  /** @throws {VerbsError} If the device refuses, or no memory can be registered. */
  send(message: Uint8Array, immData: number): void {
    this.#withSlot((slot) => {
      slot.write(message);
      slot.postSend(this.#qp, message.length, immData);
      return { slot };
    });
  }

  /**
   * Posts a request that uses `length` bytes of a slot. `data` is copied there first. The promise gives what `finish` makes
   * of the bytes when the request is complete.
   */
  operate<T>(
    request: SendRequest,
    length: number,
    data: Uint8Array | undefined,
    finish: (bytes: Uint8Array<ArrayBuffer>) => T,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#withSlot((slot) => {
      if (data !== undefined) slot.write(data);
      this.#qp.postSend({ ...request, wrId: SEND, sge: slot.sge(length) });
      this.#awaited++;
      // Now: the next request may use the slot. A buffer of the caller may be gone.
      return { slot, resolve: (bytes) => resolve(Promise.try(finish, bytes)), reject };
    });
    return promise;
  }

  #withSlot(post: (slot: Slot) => InProgress): void {
    const slot = this.#slots.take();
    try {
      this.#add(post(slot));
      this.#used++;
    } catch (error) {
      this.#slots.give(slot);
      throw error;
    }
  }

  #add(request: InProgress): void {
    this.#inProgress.push(request);
    this.posted++;
  }

  /** Sends a message of the protocol. Returns whether there was room for one. */
  control(immData: number): boolean {
    if (!this.#hasControl) return false;
    this.#prepared.setImmData(CONTROL, immData);
    this.#post(CONTROL);
    return true;
  }

  get #hasControl(): boolean {
    return this.#inProgress.length - this.#used < CONTROL_SENDS;
  }

  #post(index: number): void {
    this.#qp.postSend(this.#prepared, index, 1);
    this.#add({ slot: undefined });
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
    if (this.#quietChecks++ < QUIET_CHECKS) this.#qp.postSend(this.#prepared, QUIET_CHECK, 1);
    else this.#post(SIGNALED_CHECK);
  }

  complete(): void {
    const { slot, resolve } = this.#oldest();
    resolve?.(slot!.bytes());
  }

  /** The oldest request has failed. Who waits for it gets the reason. */
  fail(reason: unknown): void {
    this.#oldest().reject?.(reason);
  }

  /** Takes the oldest request, which is not in progress any more. */
  #oldest(): InProgress {
    const request = this.#inProgress.shift()!;
    this.completed++;
    if (request.resolve !== undefined) this.#awaited--;
    if (request.slot !== undefined) {
      this.#used--;
      this.#slots.give(request.slot);
    }
    return request;
  }

  /** Nothing completes any more. The slots are in use until the queue pair is destroyed. */
  failAll(reason: unknown): void {
    for (const { reject } of this.#inProgress) reject?.(reason);
    this.#awaited = 0;
  }

  /** The queue pair is destroyed. */
  release(): void {
    for (const { slot } of this.#inProgress.splice(0)) {
      if (slot !== undefined) this.#slots.give(slot);
    }
    this.#used = 0;
  }
}
