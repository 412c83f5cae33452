/**
 * Scatter/gather elements, read from what the caller gives.
 *
 * @module
 */

import * as checks from "../core/checks.ts";
import type { MemoryRegion, Sge } from "../memory/memory_region.ts";
import * as memory from "../memory/memory_region.ts";
import type { SgeList } from "./work_request.ts";

// Constants of the module, which V8 folds: see send_requests.ts.
const { snapshot, uint32, uint64 } = checks;
const { assertWithin, MemoryRegion: Region, MemorySlice: Slice } = memory;

/** A scatter/gather element that was read and checked: nothing of the caller's is read again. */
export interface Element {
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key of the memory region. */
  readonly lkey: number;
  /** The region, if it is known. */
  readonly mr: MemoryRegion | undefined;
  /** Offset of the element in the region. */
  readonly offset: number;
}

/** The memory of a request that has none. */
export const NO_MEMORY: readonly Element[] = [];

/** The element that was read last. One object serves all requests of one element: a new one for each took 5 ns more. */
const last = {
  addr: 0n,
  length: 0,
  lkey: 0,
  mr: undefined as MemoryRegion | undefined,
  offset: 0,
};

/**
 * Reads the memory of a request, each property of the caller's once.
 *
 * @param max The number of elements that there is room for.
 * @returns A list of elements, or one element, which is valid until the next call.
 * @throws {RangeError} If there are more, a number is out of range, or an element is not within its region.
 * @throws {TypeError} If it is no memory, or a region is disposed.
 */
export function readSge(sge: SgeList, max: number): Element | readonly Element[] {
  if (!Array.isArray(sge)) return readElement(sge as Sge);
  const { length } = sge;
  if (length > max) {
    throw new RangeError(
      `Cannot set request: it has ${length} scatter/gather elements, and there is room for ${max}`,
    );
  }
  const elements: Element[] = [];
  for (let i = 0; i < length; i++) elements.push({ ...readElement(sge[i]!) });
  return elements;
}

/** Reads an element: a slice of a region, a whole region, or an address with a length and a key. */
function readElement(sge: Sge): Element {
  if (sge instanceof Slice) {
    const { mr, offset, length, addr, lkey } = sge;
    assertWithin(mr, offset, length);
    return elementOf(addr, length, lkey, mr, offset);
  }
  if (sge instanceof Region) {
    const { addr, length, lkey } = sge;
    assertWithin(sge, 0, length);
    return elementOf(addr, length, lkey, sge, 0);
  }
  const { addr, length, lkey } = snapshot(sge, "sge", ["addr", "length", "lkey"]);
  return elementOf(addr, length, lkey, undefined, 0);
}

function elementOf(
  addr: bigint,
  length: number,
  lkey: number,
  mr: MemoryRegion | undefined,
  offset: number,
): Element {
  if (mr === undefined || typeof addr !== "bigint") uint64(addr, "addr");
  uint32(length, "length");
  uint32(lkey, "lkey");
  last.addr = addr;
  last.length = length;
  last.lkey = lkey;
  last.mr = mr;
  last.offset = offset;
  return last;
}
