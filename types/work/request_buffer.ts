/**
 * The native memory of a list of work requests.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { bufferAddress, bufferPointer } from "../../ffi/pointers.ts";
import { integer, positiveInt, show, snapshot, uint64 } from "../core/checks.ts";
import type { MemoryRegion } from "../memory/memory_region.ts";
import * as memory from "../memory/memory_region.ts";
import { CheckedRun } from "./checked_run.ts";
import type { Element } from "./sge_list.ts";
import type { RequestsInit } from "./work_request.ts";

// Constants of the module, which V8 folds: see send_requests.ts.
const { assertReadable, isOpenMr, viewOfRegion } = memory;

/** The structs of requests. Their first fields are the same. */
type RequestLayout = typeof structs.ibv_recv_wr | typeof structs.ibv_send_wr;

const { wr_id, next, sg_list, num_sge } = structs.ibv_recv_wr.fields;
const WR_ID = wr_id.offset;
const NUM_SGE = num_sge.offset;
const SGE_SIZE = structs.ibv_sge.size;
const SGE_ADDR = structs.ibv_sge.fields.addr.offset;
const SGE_LENGTH = structs.ibv_sge.fields.length.offset;
const SGE_LKEY = structs.ibv_sge.fields.lkey.offset;

/**
 * Work requests in native layout, with what is known of their memory.
 *
 * The requests are linked in order, so that one native call posts any run of them. Every method checks all of its
 * arguments before it writes.
 */
export class RequestBuffer {
  // V8 keeps a field that is an integer from the start as one: setSge() takes 4 ns less.
  /** The number of requests. */
  readonly capacity: number = 0;
  /** The number of scatter/gather elements of each request. */
  readonly maxSge: number = 0;
  /** The structs. Native code reads them while they are posted. */
  readonly view: DataView<ArrayBuffer>;
  /** The structs as 32-bit words. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** Bytes of memory of each request. */
  readonly lengths: Float64Array<ArrayBuffer>;
  readonly #size: number = 0;
  readonly #sges: DataView<ArrayBuffer>;
  /** The region of each scatter/gather element, if it is known, and the offset of the element in it. */
  readonly #regions: (MemoryRegion | undefined)[];
  readonly #offsets: Float64Array<ArrayBuffer>;
  readonly #address: bigint;
  readonly #pointers: (Deno.PointerObject | undefined)[];
  /** The last request of the run that was posted last. It is linked to none. */
  #end: number;
  /** The run that was checked last. */
  readonly run: CheckedRun;

  /** Makes room and links the requests. */
  constructor(layout: RequestLayout, init: RequestsInit) {
    const { capacity, maxSge = 1 } = snapshot(init, "requests", ["capacity", "maxSge"]);
    this.capacity = positiveInt(capacity, "capacity");
    this.maxSge = positiveInt(maxSge, "maxSge");
    checkRoom(capacity * maxSge);
    this.#size = layout.size;
    const bytes = new Uint8Array(layout.size * capacity);
    this.view = new DataView(bytes.buffer);
    this.words = new Uint32Array(bytes.buffer);
    this.lengths = new Float64Array(capacity);
    this.#sges = new DataView(new ArrayBuffer(SGE_SIZE * capacity * maxSge));
    this.#regions = new Array(capacity * maxSge).fill(undefined);
    this.#offsets = new Float64Array(capacity * maxSge);
    const first = bufferPointer(bytes);
    this.run = new CheckedRun(first);
    this.#pointers = new Array(capacity).fill(undefined);
    this.#pointers[0] = first;
    this.#address = bufferAddress(bytes);
    this.#end = capacity - 1;
    const list = bufferAddress(this.#sges);
    for (let i = 0; i < capacity; i++) {
      this.#setNext(i, i + 1);
      const elements = list + BigInt(i * maxSge * SGE_SIZE);
      this.view.setBigUint64(i * layout.size + sg_list.offset, elements, true);
    }
  }

  #setNext(index: number, target: number): void {
    const address = target < this.capacity ? this.#address + BigInt(target * this.#size) : 0n;
    this.view.setBigUint64(index * this.#size + next.offset, address, true);
  }

  /** The offset of a request's struct in bytes. */
  at(index: number): number {
    if (!(typeof index === "number" && index >>> 0 === index && index < this.capacity)) {
      throw noRequest(index, this.capacity);
    }
    return index * this.#size;
  }

  /** Sets `wr_id`, which {@linkcode checkWrId} has checked. No other check depends on it. */
  writeWrId(index: number, wrId: number | bigint): void {
    const at = index * this.#size + WR_ID;
    if (typeof wrId === "number" && wrId >>> 0 === wrId) {
      this.words[at >> 2] = wrId;
      this.words[(at >> 2) + 1] = 0;
    } else this.view.setBigUint64(at, typeof wrId === "bigint" ? wrId : BigInt(wrId), true);
  }

  /** Sets the memory of a request, which {@linkcode readSge} has read. */
  writeSge(index: number, sge: Element | readonly Element[]): void {
    const first = index * this.maxSge;
    if (!isList(sge)) {
      this.#writeElement(first, sge);
      this.lengths[index] = sge.length;
      this.#endElements(index, 1);
      return;
    }
    let total = 0;
    for (let i = 0; i < sge.length; i++) {
      this.#writeElement(first + i, sge[i]!);
      total += sge[i]!.length;
    }
    this.lengths[index] = total;
    this.#endElements(index, sge.length);
  }

  #writeElement(slot: number, { addr, length, lkey, mr, offset }: Element): void {
    const at = slot * SGE_SIZE;
    this.#sges.setBigUint64(at + SGE_ADDR, addr, true);
    this.#sges.setUint32(at + SGE_LENGTH, length, true);
    this.#sges.setUint32(at + SGE_LKEY, lkey, true);
    this.#regions[slot] = mr;
    this.#offsets[slot] = offset;
  }

  /** A region that the request no longer uses may be disposed without any effect on it. */
  #endElements(index: number, count: number): void {
    this.words[index * this.#size + NUM_SGE >> 2] = count;
    const end = (index + 1) * this.maxSge;
    for (let slot = index * this.maxSge + count; slot < end; slot++) {
      this.#regions[slot] = undefined;
    }
    this.run.noteChange();
  }

  /** Sets the length of the first scatter/gather element. */
  setLength(index: number, length: number): void {
    const at = this.at(index);
    if (this.words[at + NUM_SGE >> 2] === 0) {
      throw new RangeError(`Cannot set length of request ${index}: it has no memory`);
    }
    const slot = index * this.maxSge;
    const region = this.#regions[slot];
    const max = region === undefined ? 0xffff_ffff : region.length - this.#offsets[slot]!;
    integer(length, "length", 0, Math.min(max, 0xffff_ffff));
    const place = slot * SGE_SIZE + SGE_LENGTH;
    this.lengths[index]! += length - this.#sges.getUint32(place, true);
    this.#sges.setUint32(place, length, true);
    this.run.noteChange();
  }

  /** The number of scatter/gather elements of a request that is in the list. */
  numSge(index: number): number {
    return this.words[index * this.#size + NUM_SGE >> 2]!;
  }

  /** The first scatter/gather element of a request. */
  firstSge(
    index: number,
  ): { readonly addr: bigint; readonly length: number; readonly lkey: number } {
    const at = index * this.maxSge * SGE_SIZE;
    return {
      addr: this.#sges.getBigUint64(at + SGE_ADDR, true),
      length: this.#sges.getUint32(at + SGE_LENGTH, true),
      lkey: this.#sges.getUint32(at + SGE_LKEY, true),
    };
  }

  /** The scatter/gather elements of a request, as `struct ibv_sge *`. */
  sgeList(index: number): Deno.PointerObject {
    return bufferPointer(new Uint8Array(this.#sges.buffer, index * this.maxSge * SGE_SIZE));
  }

  /** Checks that the memory regions of a request are open. */
  assertMemory(index: number): void {
    const first = index * this.maxSge;
    for (let i = this.numSge(index) - 1; i >= 0; i--) {
      const region = this.#regions[first + i];
      if (region !== undefined && !isOpenMr(region)) assertReadable(region);
    }
  }

  /** Checks that native code may read the memory of a request by its addresses, as it does for inline data. */
  assertInlineMemory(index: number): void {
    for (let i = 0; i < this.numSge(index); i++) {
      const slot = index * this.maxSge + i;
      const region = this.#regions[slot];
      if (region === undefined) {
        throw new TypeError(
          "Cannot send inline: the memory is not given as a slice of a memory region",
        );
      }
      const start = assertReadable(region);
      const offset = this.#offsets[slot]!;
      const addr = this.#sges.getBigUint64(slot * SGE_SIZE + SGE_ADDR, true);
      const end = offset + this.#sges.getUint32(slot * SGE_SIZE + SGE_LENGTH, true);
      if (addr !== start + BigInt(offset) || end > viewOfRegion(region).byteLength) {
        throw new TypeError("Cannot send inline: the memory is not within its memory region");
      }
    }
  }

  /** Begins the check of `count` requests from `start` on: they are linked, and the first one is noted. */
  beginRun(start: number, count: number): void {
    const whole = Number.isInteger(start) && Number.isInteger(count);
    if (!(whole && start >= 0 && count >= 1 && start + count <= this.capacity)) {
      throw noRun(start, count, this.capacity);
    }
    this.run.noteChange();
    const last = start + count - 1;
    if (last !== this.#end) {
      this.#setNext(this.#end, this.#end + 1);
      this.#setNext(last, this.capacity);
      this.#end = last;
    }
    this.run.first = this.#pointers[start] ??= bufferPointer(
      new Uint8Array(this.view.buffer, start * this.#size),
    );
  }

  /** The index of the request at an address; `undefined` if there is none. */
  indexOf(address: bigint): number | undefined {
    const index = Number(address - this.#address) / this.#size;
    return Number.isInteger(index) && index >= 0 && index < this.capacity ? index : undefined;
  }
}

/** The most scatter/gather elements of a list: more would fill the memory of the process. */
const MAX_ELEMENTS = 2 ** 24;

function checkRoom(elements: number): void {
  if (elements <= MAX_ELEMENTS) return;
  throw new RangeError(
    `Cannot make room for requests: they have ${elements} scatter/gather elements, and at most ${MAX_ELEMENTS} are possible`,
  );
}

function noRequest(index: number, capacity: number): Error {
  const message = `Cannot set request ${show(index)}: there are ${capacity}`;
  return typeof index === "number" ? new RangeError(message) : new TypeError(message);
}

function noRun(start: number, count: number, capacity: number): Error {
  if (typeof start !== "number" || typeof count !== "number") {
    return new TypeError(
      `Cannot post ${show(count)} requests from ${show(start)} on: these are not numbers`,
    );
  }
  return new RangeError(
    `Cannot post requests ${start} to ${start + count - 1}: there are ${capacity}`,
  );
}

/** Checks `wr_id`. */
export function checkWrId(wrId: number | bigint): void {
  if (!(typeof wrId === "number" && wrId >>> 0 === wrId)) uint64(wrId, "wrId");
}

function isList(sge: Element | readonly Element[]): sge is readonly Element[] {
  return Array.isArray(sge);
}
