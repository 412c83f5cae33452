import { integer } from "../../internal/checks.ts";
import { Grh } from "../address/grh.ts";
import { instance } from "../core/checks.ts";
import { disposals } from "../core/resource.ts";
import { MemoryRegion, MemorySlice, regionCore } from "../memory/memory_region.ts";

/** Finds the GRHs of packets in memory. It remembers the memory of the last packet, so finding allocates nothing. */
export class GrhMemory {
  /** The view that holds the GRH that was found last, and its offset. */
  view: DataView = new DataView(new ArrayBuffer(0));
  at = 0;
  #memory: MemoryRegion | MemorySlice | undefined;
  /** The `disposals` when the memory was checked last. */
  #disposals = -1;
  /** Where the memory starts in the view. */
  #base = 0;
  /** The largest offset of a GRH in the memory; negative if it has no room for one. */
  #last = 0;

  /**
   * Finds the GRH at an offset of the memory. Returns its offset in `GrhMemory.view`.
   *
   * @throws {RangeError} If there are no 40 bytes at the offset.
   * @throws {TypeError} If the memory is not a region or a slice, or the region is disposed.
   */
  find(memory: MemoryRegion | MemorySlice, offset: number): number {
    if (
      memory !== this.#memory || disposals.count !== this.#disposals ||
      !(typeof offset === "number" && offset >>> 0 === offset && offset <= this.#last)
    ) this.#check(memory, offset);
    return this.at = this.#base + offset;
  }

  /** Checks memory that was not checked before, and offsets of more than 32 bits. */
  #check(memory: MemoryRegion | MemorySlice, offset: number): void {
    if (memory !== this.#memory || disposals.count !== this.#disposals) this.#use(memory);
    if (Number.isInteger(offset) && offset >= 0 && offset <= this.#last) return;
    throw noGrh(offset, this.#last + Grh.SIZE);
  }

  #use(memory: MemoryRegion | MemorySlice): void {
    const isSlice = memory instanceof MemorySlice;
    const mr = isSlice ? memory.mr : instance(memory, MemoryRegion, "memory");
    const offset = isSlice ? memory.offset : 0;
    const { length } = memory;
    const region = regionCore(mr);
    region.assertWithin(offset, length);
    this.#memory = memory;
    this.#disposals = disposals.count;
    this.view = region.view;
    this.#base = offset;
    this.#last = length - Grh.SIZE;
  }
}

function noGrh(offset: number, length: number): RangeError {
  integer(offset, "offset", 0, Number.MAX_SAFE_INTEGER);
  return new RangeError(`Cannot read GRH at offset ${offset}: the memory has ${length} bytes`);
}
