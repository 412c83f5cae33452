/**
 * The layout of send requests (`struct ibv_send_wr`), which follows from their opcode.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { handleAddress } from "../../ffi/pointers.ts";
import * as handles from "../address_handle/address_handle.ts";
import type { MemoryWindow } from "../memory/memory_window.ts";
import { type Binding, writeBinding, writeBoundRegion } from "./mw_bind.ts";
import * as opcodes from "./opcodes.ts";
import type { SendValues } from "./send_values.ts";

// Constants of the module, which V8 folds: see send_requests.ts.
const { writeAh } = handles;
const { Given, RULES } = opcodes;
const { size: SIZE, fields } = structs.ibv_send_wr;
/** Words of a request. */
export const WORDS: number = SIZE >> 2;

/** The word of a request, from its first one, at which each field starts. */
const PLACE = {
  opcode: fields.opcode.offset >> 2,
  sendFlags: fields.send_flags.offset >> 2,
  immData: fields.imm_data.offset >> 2,
  invalidateRkey: fields.invalidate_rkey.offset >> 2,
  ah: fields["wr.ud.ah"].offset >> 2,
  remoteQpn: fields["wr.ud.remote_qpn"].offset >> 2,
  remoteQkey: fields["wr.ud.remote_qkey"].offset >> 2,
  rdmaAddr: fields["wr.rdma.remote_addr"].offset >> 2,
  rdmaRkey: fields["wr.rdma.rkey"].offset >> 2,
  atomicAddr: fields["wr.atomic.remote_addr"].offset >> 2,
  compareAdd: fields["wr.atomic.compare_add"].offset >> 2,
  swap: fields["wr.atomic.swap"].offset >> 2,
  atomicRkey: fields["wr.atomic.rkey"].offset >> 2,
  remoteSrqn: fields["qp_type.xrc.remote_srqn"].offset >> 2,
  mw: fields["bind_mw.mw"].offset >> 2,
  mwRkey: fields["bind_mw.rkey"].offset >> 2,
  bindInfo: fields["bind_mw.bind_info"].offset >> 2,
} as const;
/** {@linkcode PLACE} for other modules. */
export const WORD: typeof PLACE = PLACE;

const UNION = fields.wr.offset >> 2;
const UNION_WORDS = fields.wr.size >> 2;

/** Begins a request, whose other attributes are written when they are set. */
export function resetRequest(words: Uint32Array, at: number, opcode: number, flags: number): void {
  words[at + PLACE.opcode] = opcode;
  words[at + PLACE.sendFlags] = flags;
  words[at + PLACE.remoteSrqn] = 0;
}

/** Writes everything of a request but its number, its memory and its memory window. */
export function writeValues(
  words: Uint32Array,
  view: DataView,
  at: number,
  values: SendValues,
): void {
  words[at + PLACE.opcode] = values.opcode;
  words[at + PLACE.sendFlags] = values.sendFlags;
  words[at + PLACE.remoteSrqn] = values.remoteSrqn;
  if (values.given & Given.invalidateRkey) words[at + PLACE.invalidateRkey] = values.invalidateRkey;
  else view.setUint32((at + PLACE.immData) * 4, values.immData);
  for (let i = 0; i < UNION_WORDS; i++) words[at + UNION + i] = 0;
  switch (RULES[values.opcode]!.layout) {
    case "ud":
      if (values.ah !== undefined) writeAh(values.ah, words, at + PLACE.ah);
      words[at + PLACE.remoteQpn] = values.remoteQpn;
      words[at + PLACE.remoteQkey] = values.remoteQkey;
      break;
    case "rdma":
      writeRdma(words, view, at, values.remoteAddr, values.rkey);
      break;
    case "atomic":
      writeAtomic(words, view, at, values);
      break;
    case "bind":
      break;
  }
}

/** Writes the peer's memory of an RDMA request. */
export function writeRdma(
  words: Uint32Array,
  view: DataView,
  at: number,
  remoteAddr: bigint,
  rkey: number,
): void {
  view.setBigUint64((at + PLACE.rdmaAddr) * 4, remoteAddr, true);
  words[at + PLACE.rdmaRkey] = rkey;
}

/** The peer's memory and the operands of an atomic. */
export interface Atomic {
  readonly remoteAddr: bigint;
  readonly rkey: number;
  readonly compareAdd: bigint;
  readonly swap: bigint;
}

/** Writes the peer's memory and the operands of an atomic. */
export function writeAtomic(
  words: Uint32Array,
  view: DataView,
  at: number,
  { remoteAddr, rkey, compareAdd, swap }: Atomic,
): void {
  view.setBigUint64((at + PLACE.atomicAddr) * 4, remoteAddr, true);
  view.setBigUint64((at + PLACE.compareAdd) * 4, compareAdd, true);
  view.setBigUint64((at + PLACE.swap) * 4, swap, true);
  words[at + PLACE.atomicRkey] = rkey;
}

/** Writes the window and what it is bound to into a send request that starts at a word. */
export function writeBind(
  view: DataView<ArrayBuffer>,
  at: number,
  mw: MemoryWindow,
  rkey: number,
  binding: Binding,
): void {
  const info = (at + PLACE.bindInfo) * 4;
  writeBinding(view, info, binding);
  writeBoundRegion(view, info, binding.mr);
  view.setUint32((at + PLACE.mwRkey) * 4, rkey, true);
  view.setBigUint64((at + PLACE.mw) * 4, handleAddress(mw.unsafeHandle), true);
}
