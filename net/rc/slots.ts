import {
  AccessFlags,
  MemoryRegion,
  type ProtectionDomain,
  type QueuePair,
  RecvRequestList,
  SendRequestList,
  WrOpcode,
} from "../../mod.ts";
import { copyBytes } from "../../internal/checks.ts";
import { once } from "../../internal/runtime.ts";
import { closeQuietly } from "../../internal/program_end.ts";

/** What kind of request a completion is of: its `wrId`. Those of each kind complete in the order in which they were posted. */
export const SEND = 0;
export const RECEIVE = 1;
export const CHECK = 2;

/** How many bytes are registered at first, unless a message is longer, and at most at a time. */
const FIRST_BYTES = 2 ** 16;
const MOST_BYTES = 2 ** 22;
const MOST_SLOTS = 64;

/** Memory for one message, and the prepared requests that use it. */
export class Slot {
  readonly #slab: Slab;
  readonly #index: number;
  readonly #size: number;

  constructor(slab: Slab, index: number, size: number) {
    this.#slab = slab;
    this.#index = index;
    this.#size = size;
  }

  get slab(): Slab {
    return this.#slab;
  }

  /** The first bytes. */
  bytes(length: number = this.#size): Uint8Array<ArrayBuffer> {
    const start = this.#index * this.#size;
    return this.#slab.bytes.subarray(start, start + length);
  }

  write(message: Uint8Array): void {
    copyBytes(this.#slab.bytes, message, this.#index * this.#size);
  }

  /** The first bytes for a request. */
  sge(length: number): ReturnType<MemoryRegion["sge"]> {
    return this.#slab.mr.sge(this.#index * this.#size, length);
  }

  postRecv(qp: QueuePair): void {
    qp.postRecv(this.#slab.recvs(), this.#index, 1);
  }

  /** Sends the first bytes. */
  postSend(qp: QueuePair, length: number, immData: number): void {
    const sends = this.#slab.sends();
    sends.setLength(this.#index, length);
    sends.setImmData(this.#index, immData);
    qp.postSend(sends, this.#index, 1);
  }
}

/** Memory that is registered as one region. */
class Slab {
  readonly mr: MemoryRegion;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly slots: readonly Slot[];
  used = 0;
  /** The prepared requests of its slots. Some slots never send, and others never receive. */
  readonly recvs: () => RecvRequestList;
  readonly sends: () => SendRequestList;

  constructor(mr: MemoryRegion, slotSize: number) {
    const capacity = mr.length / slotSize;
    this.mr = mr;
    this.bytes = mr.bytes;
    this.slots = Array.from({ length: capacity }, (_, i) => new Slot(this, i, slotSize));
    this.recvs = once(() => {
      const list = new RecvRequestList({ capacity });
      for (let i = 0; i < capacity; i++) {
        list.set(i, { wrId: RECEIVE, sge: mr.sge(i * slotSize, slotSize) });
      }
      return list;
    });
    this.sends = once(() => {
      const list = new SendRequestList({ capacity });
      for (let i = 0; i < capacity; i++) {
        const sge = mr.sge(i * slotSize, slotSize);
        list.set(i, { wrId: SEND, opcode: WrOpcode.SEND_WITH_IMM, sge });
      }
      return list;
    });
  }
}

/**
 * The memory of all messages of a device, which is registered when it is needed: each time about as much as is in use.
 * Memory that is not in use any more is kept for others, unless it is more than half of all.
 */
export class Slots {
  /** The bytes of a slot. */
  readonly slotSize: number;
  readonly #pd: ProtectionDomain;
  readonly #slabs: Set<Slab> = new Set();
  readonly #free: Slot[] = [];
  #used = 0;
  /** Why no memory was registered. */
  #failure: unknown;
  /** Memory that is being registered. */
  #growing: Promise<void> | undefined;

  constructor(pd: ProtectionDomain, slotSize: number) {
    this.#pd = pd;
    this.slotSize = slotSize;
  }

  /**
   * Whether there are this many slots, or memory for them. After a failure it is tried again when a slot was given
   * back.
   */
  has(count: number): boolean {
    while (this.#free.length < count && this.#failure === undefined) this.#tryGrow();
    return this.#free.length >= count;
  }

  #tryGrow(): void {
    try {
      this.#add(new MemoryRegion(this.#pd, this.#nextBytes, AccessFlags.LOCAL_WRITE));
    } catch (error) {
      this.#failure = error;
    }
  }

  /** @throws {VerbsError} If there is none. */
  take(): Slot {
    if (!this.has(1)) throw this.#failure;
    const slot = this.#free.pop()!;
    slot.slab.used++;
    this.#used++;
    return slot;
  }

  /** The same, but memory is registered on another thread: it takes most of the time of connecting. */
  async takeAsync(): Promise<Slot> {
    while (this.#free.length === 0) {
      await (this.#growing ??= this.#grow().finally(() => this.#growing = undefined));
    }
    return this.take();
  }

  async #grow(): Promise<void> {
    const mr = MemoryRegion.createAsync(this.#pd, this.#nextBytes, AccessFlags.LOCAL_WRITE);
    this.#add(await mr);
  }

  #add(mr: MemoryRegion): void {
    const slab = new Slab(mr, this.slotSize);
    this.#slabs.add(slab);
    this.#free.push(...slab.slots);
  }

  get #nextBytes(): number {
    const first = FIRST_BYTES / this.slotSize;
    const most = MOST_BYTES / this.slotSize;
    const slots = Math.min(Math.max(this.#used, Math.min(first, MOST_SLOTS)), most);
    return Math.max(1, Math.floor(slots)) * this.slotSize;
  }

  /** No request uses it any more. */
  give(slot: Slot): void {
    this.#failure = undefined;
    this.#free.push(slot);
    this.#used--;
    slot.slab.used--;
  }

  /** Deregisters memory that nothing uses. That takes time: it is for the end of a connection. */
  trim(): void {
    for (const slab of this.#slabs) {
      if (slab.used > 0 || this.#free.length - slab.slots.length < this.#used) continue;
      const left = this.#free.filter((slot) => slot.slab !== slab);
      this.#free.splice(0, this.#free.length, ...left);
      this.#slabs.delete(slab);
      // Closing the device tries it again, and reports an error.
      closeQuietly(slab.mr);
    }
  }
}
