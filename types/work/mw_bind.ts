/**
 * What a memory window is bound to.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { handleAddress } from "../../ffi/pointers.ts";
import { writeField } from "../../ffi/struct.ts";
import { instance, integer, snapshot, uint32, uint64 } from "../core/checks.ts";
import { assertOpen } from "../core/resource.ts";
import { assertWithin, MemoryRegion } from "../memory/memory_region.ts";
import type { MemoryWindow } from "../memory/memory_window.ts";

/**
 * What a memory window is bound to (`struct ibv_mw_bind_info`).
 *
 * @category Work requests
 */
export interface MwBindInfo {
  /** The memory region. It needs the access flag MW_BIND. */
  readonly mr: MemoryRegion;
  /** Address of the first byte in the region. The default is the start of the region. */
  readonly addr?: number | bigint;
  /** Length in bytes. The default is the rest of the region. 0 ends the binding of a window of type 1. */
  readonly length?: number;
  /** Operations that peers may do: {@linkcode AccessFlags}, combined with `|`. */
  readonly mwAccessFlags: number;
}

/** What a memory window is bound to, read and checked. */
export interface Binding {
  readonly mr: MemoryRegion;
  readonly addr: bigint;
  readonly length: number;
  readonly mwAccessFlags: number;
}

/** Reads what a memory window is bound to. */
export function readBinding(info: MwBindInfo): Binding {
  const { mr, addr, length, mwAccessFlags } = snapshot(info, "bindInfo", [
    "mr",
    "addr",
    "length",
    "mwAccessFlags",
  ]);
  instance(mr, MemoryRegion, "mr");
  const start = addr === undefined ? mr.addr : uint64(addr, "addr");
  const offset = integer(Number(start - mr.addr), "addr, counted from the region,", 0, mr.length);
  const size = length ?? mr.length - offset;
  assertWithin(mr, offset, size);
  uint32(mwAccessFlags, "mwAccessFlags");
  return { mr, addr: start, length: size, mwAccessFlags };
}

const { fields } = structs.ibv_mw_bind_info;

/** Writes a `struct ibv_mw_bind_info`, without the region. */
export function writeBinding(view: DataView<ArrayBuffer>, base: number, binding: Binding): void {
  writeField(view, fields.addr, binding.addr, base);
  writeField(view, fields.length, BigInt(binding.length), base);
  writeField(view, fields.mw_access_flags, binding.mwAccessFlags, base);
}

/** Writes the region of a `struct ibv_mw_bind_info`. */
export function writeBoundRegion(
  view: DataView<ArrayBuffer>,
  base: number,
  { unsafeHandle }: MemoryRegion,
): void {
  writeField(view, fields.mr, handleAddress(unsafeHandle), base);
}

/** A memory window that a request binds. */
export interface Bind {
  readonly mw: MemoryWindow;
  readonly mr: MemoryRegion;
  readonly rkey: number;
}

/** Checks that a request can still bind its window. */
export function checkBind({ mw, mr }: Bind): void {
  assertOpen(mw);
  assertOpen(mr);
}
