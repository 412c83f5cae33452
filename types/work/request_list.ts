import { structs } from "../../ffi/layout.ts";
import { MemorySlice, ownsMemory, type Sge } from "../memory/memory_region.ts";
import { disposals } from "../core/resource.ts";
import { integer, positiveInt, uint32, uint64 } from "../core/checks.ts";
import type { RequestsInit, SgeList } from "./work_request.ts";

/** What receive and send requests have in common, at the same place in both structs. */
type RequestLayout = typeof structs.ibv_recv_wr | typeof structs.ibv_send_wr;

const SGE_SIZE = structs.ibv_sge.size;
const { addr: ADDR, length: LENGTH, lkey: LKEY } = structs.ibv_sge.fields;

/** Which request has that address. */
export let indexOf: (list: RequestList, address: bigint) => number;

/**
 * Work requests in native layout: made once, posted again and again, single fields rewritten in between. They are linked
 * in order, so that any run of them is posted by one native call.
 */
export abstract class RequestList {
  /** How many requests there are. */
  readonly capacity: number;
  /** How many scatter/gather elements each has room for. */
  readonly maxSge: number;
  /** The requests' structs; native code reads them while they are being posted. */
  protected readonly view: DataView<ArrayBuffer>;
  /** Bytes of data of each request. */
  protected readonly lengths: Float64Array<ArrayBuffer>;
  /** What each scatter/gather element was set from, where that is known. */
  readonly #slices: (MemorySlice | undefined)[];
  readonly #sges: DataView<ArrayBuffer>;
  readonly #layout: RequestLayout;
  readonly #address: bigint;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #pointers: (Deno.PointerObject | undefined)[];
  /** The request whose link is cut, so that a run ends there. */
  #end: number;
  /** The run that was checked last, by which rules, and {@linkcode disposals} then; `#checkedCount` 0 is none. */
  #checkedStart = 0;
  #checkedCount = 0;
  #checkedRules: unknown;
  #checkedDisposals = 0;
  #checkedFirst: Deno.PointerObject;

  static {
    indexOf = (list, address) => Number(address - list.#address) / list.#layout.size;
  }

  /** Makes room and links the requests. */
  protected constructor(layout: RequestLayout, { capacity, maxSge = 1 }: RequestsInit) {
    this.capacity = positiveInt(capacity, "capacity");
    this.maxSge = positiveInt(maxSge, "maxSge");
    this.#layout = layout;
    this.#bytes = new Uint8Array(layout.size * capacity);
    this.view = new DataView(this.#bytes.buffer);
    this.#sges = new DataView(new ArrayBuffer(SGE_SIZE * capacity * maxSge));
    this.lengths = new Float64Array(capacity);
    this.#slices = new Array(capacity * maxSge).fill(undefined);
    this.#pointers = new Array(capacity).fill(undefined);
    this.#pointers[0] = Deno.UnsafePointer.of(this.#bytes)!;
    this.#checkedFirst = this.#pointers[0];
    this.#address = Deno.UnsafePointer.value(this.#pointers[0]);
    this.#end = capacity - 1;
    this.#link();
  }

  #link(): void {
    const { size, fields } = this.#layout;
    const list = Deno.UnsafePointer.value(Deno.UnsafePointer.of(this.#sges));
    for (let i = 0; i < this.capacity; i++) {
      const next = i + 1 < this.capacity ? this.#address + BigInt((i + 1) * size) : 0n;
      this.view.setBigUint64(i * size + fields.next.offset, next, true);
      const sgList = list + BigInt(i * this.maxSge * SGE_SIZE);
      this.view.setBigUint64(i * size + fields.sg_list.offset, sgList, true);
    }
  }

  /**
   * The pointer of a run that may be posted as it is: it was checked by the same rules, and since then neither a request
   * was changed nor anything disposed. Checking each request anew would cost ten times the native call.
   */
  protected checked(start: number, count: number, rules: unknown): Deno.PointerObject | undefined {
    return count === this.#checkedCount && start === this.#checkedStart &&
        rules === this.#checkedRules && disposals === this.#checkedDisposals && count > 0
      ? this.#checkedFirst
      : undefined;
  }

  /** Notes that a run was checked by these rules. */
  protected noteChecked(
    start: number,
    count: number,
    rules: unknown,
    first: Deno.PointerObject,
  ): void {
    this.#checkedStart = start;
    this.#checkedCount = count;
    this.#checkedRules = rules;
    this.#checkedDisposals = disposals;
    this.#checkedFirst = first;
  }

  /** Has the next run be checked in any case. */
  protected noteChange(): void {
    this.#checkedCount = 0;
  }

  /** Cuts the links so that a run of `count` requests from `start` on ends, and gives its pointer. */
  protected first(start: number, count: number): Deno.PointerObject {
    const whole = Number.isInteger(start) && Number.isInteger(count);
    if (!(whole && start >= 0 && count >= 1 && start + count <= this.capacity)) {
      throw new RangeError(
        `Cannot post requests ${start} to ${start + count - 1}: there are ${this.capacity}`,
      );
    }
    this.noteChange();
    const last = start + count - 1;
    if (last !== this.#end) {
      this.#setNext(this.#end, this.#end + 1);
      this.#setNext(last, this.capacity);
      this.#end = last;
    }
    return this.#pointers[start] ??= this.#pointerTo(start);
  }

  #setNext(index: number, next: number): void {
    const { size, fields } = this.#layout;
    const address = next < this.capacity ? this.#address + BigInt(next * size) : 0n;
    this.view.setBigUint64(index * size + fields.next.offset, address, true);
  }

  #pointerTo(index: number): Deno.PointerObject {
    return Deno.UnsafePointer.of(this.#bytes.subarray(index * this.#layout.size))!;
  }

  /** Where a request's struct starts, to change it. */
  protected base(index: number): number {
    if (!(Number.isInteger(index) && index >= 0 && index < this.capacity)) {
      throw new RangeError(`Cannot set request ${index}: there are ${this.capacity}`);
    }
    this.noteChange();
    return index * this.#layout.size;
  }

  /** Sets what comes back in a request's completion. */
  setWrId(index: number, wrId: bigint): void {
    const at = this.base(index) + this.#layout.fields.wr_id.offset;
    this.view.setBigUint64(at, uint64(wrId, "wrId"), true);
  }

  /**
   * Sets a request's memory.
   *
   * @throws {RangeError} If there are more elements than {@linkcode RequestList.maxSge}.
   * @throws {TypeError} If a region is disposed.
   */
  setSge(index: number, sge: SgeList): void {
    const list = Array.isArray(sge) ? sge as readonly Sge[] : [sge as Sge];
    if (list.length > this.maxSge) {
      throw new RangeError(
        `Cannot set request: it has ${list.length} scatter/gather elements, and there is room for ${this.maxSge}`,
      );
    }
    const at = this.base(index) + this.#layout.fields.num_sge.offset;
    this.lengths[index] = 0;
    for (const [i, element] of list.entries()) this.#setElement(index, i, element);
    // what the request no longer uses may be disposed
    this.#slices.fill(undefined, index * this.maxSge + list.length, (index + 1) * this.maxSge);
    this.view.setInt32(at, list.length, true);
  }

  #setElement(index: number, element: number, sge: Sge): void {
    const slot = index * this.maxSge + element;
    const base = slot * SGE_SIZE;
    if (sge instanceof MemorySlice) sge.mr.assertWithin(sge.offset, sge.length);
    // all checked before any is written: an element of two halves could pass for one that was checked
    const addr = uint64(sge.addr, "addr");
    const length = uint32(sge.length, "length");
    const lkey = uint32(sge.lkey, "lkey");
    this.#sges.setBigUint64(base + ADDR.offset, addr, true);
    this.#sges.setUint32(base + LENGTH.offset, length, true);
    this.#sges.setUint32(base + LKEY.offset, lkey, true);
    this.#slices[slot] = sge instanceof MemorySlice ? sge : undefined;
    this.lengths[index]! += length;
  }

  /**
   * Sets the length of a request's first scatter/gather element.
   *
   * @throws {RangeError} If it then reaches beyond its memory region.
   */
  setLength(index: number, length: number): void {
    this.base(index);
    const slot = index * this.maxSge;
    const slice = this.#slices[slot];
    integer(
      length,
      "length",
      0,
      slice === undefined ? 0xffff_ffff : slice.mr.length - slice.offset,
    );
    const at = slot * SGE_SIZE + LENGTH.offset;
    this.lengths[index]! += length - this.#sges.getUint32(at, true);
    this.#sges.setUint32(at, length, true);
  }

  /** Checks that the memory regions of a request are there. */
  protected assertMemory(index: number): void {
    const end = (index + 1) * this.maxSge;
    for (let slot = index * this.maxSge; slot < end; slot++) {
      const slice = this.#slices[slot];
      if (slice?.mr.disposed) slice.mr.assertReadable();
    }
  }

  /**
   * Checks that native code may read a request's memory by its addresses, as it does for inline data.
   *
   * @returns Whether that holds on: a caller's buffer may be detached at any time.
   */
  protected assertInlineMemory(index: number): boolean {
    const { size, fields } = this.#layout;
    const count = this.view.getInt32(index * size + fields.num_sge.offset, true);
    let holdsOn = true;
    for (let i = 0; i < count; i++) {
      const slice = this.#slices[index * this.maxSge + i];
      if (slice === undefined) {
        throw new TypeError("Cannot send inline: the memory must be a slice of a memory region");
      }
      slice.mr.assertReadable();
      holdsOn &&= ownsMemory(slice.mr);
    }
    return holdsOn;
  }
}
