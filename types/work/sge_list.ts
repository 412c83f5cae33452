/**
 * Scatter/gather elements, read from what the caller gives.
 *
 * @module
 */

import { snapshot, uint32, uint64 } from "../core/checks.ts";
import { assertWithin, MemoryRegion, MemorySlice, type Sge } from "../memory/memory_region.ts";
import type { SgeList } from "./work_request.ts";

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

/**
 * Reads the memory of a request, each property of the caller's once.
 *
 * @param max The number of elements that there is room for.
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
  for (let i = 0; i < length; i++) elements.push(readElement(sge[i]!));
  return elements;
}

/** Reads an element: a slice of a region, a whole region, or an address with a length and a key. */
function readElement(sge: Sge): Element {
  if (sge instanceof MemorySlice) {
    const { mr, offset, length, addr, lkey } = sge;
    assertWithin(mr, offset, length);
    return elementOf(addr, length, lkey, mr, offset);
  }
  if (sge instanceof MemoryRegion) {
    assertWithin(sge, 0, sge.length);
    return elementOf(sge.addr, sge.length, sge.lkey, sge, 0);
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
  return { addr, length, lkey, mr, offset };
}
