import { enums, structs } from "../../ffi/layout.ts";
import { integer, snapshot, uint32, uint64 } from "../../internal/checks.ts";
import type { Complete } from "../../internal/optional.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { MemoryRegion, MemorySlice, regionCore, type Sge } from "../memory/memory_region.ts";
import type { Region } from "../memory/region.ts";
import { type MwBindInfo, type SendAttributes, WrOpcode } from "./work_request.ts";

/** A set of opcodes, one bit each. */
export function setOf(...opcodes: readonly WrOpcode[]): number {
  return opcodes.reduce<number>((set, opcode) => set | 1 << opcode, 0);
}

export function has(set: number, opcode: number): boolean {
  return (set >>> opcode & 1) !== 0;
}

const { SEND, SEND_WITH_IMM, SEND_WITH_INV, LOCAL_INV, BIND_MW, TSO, FLUSH } = WrOpcode;
const { RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ, ATOMIC_WRITE } = WrOpcode;
const { ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD } = WrOpcode;
export const DATAGRAMS: number = setOf(SEND, SEND_WITH_IMM, TSO);
export const RDMA: number = setOf(RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ, ATOMIC_WRITE);
const XRC = RDMA | setOf(SEND, SEND_WITH_IMM, SEND_WITH_INV);

/** The opcodes of atomics, which have operands. */
export const ATOMICS: number = setOf(ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD);
/** The opcodes that work on 8 bytes at an address that is a multiple of 8. */
export const EIGHT_BYTES: number = ATOMICS | setOf(ATOMIC_WRITE);
/** The opcodes that consume a receive of the peer. */
export const CONSUMING: number = DATAGRAMS | setOf(SEND_WITH_INV, RDMA_WRITE_WITH_IMM);
export const INLINE: number = XRC & ~setOf(RDMA_READ);
/** The opcodes that send requests offer. Builders also offer TSO. */
export const OFFERED: number = XRC | ATOMICS | setOf(LOCAL_INV, BIND_MW);

const { fields } = structs.ibv_send_wr;

/**
 * An attribute that only some opcodes have: its bit in sets of attributes, the word of the request at which it starts, its
 * largest number if it has at most 32 bits, and its opcodes, one bit each.
 */
export interface SendField {
  readonly name: keyof SendAttributes;
  readonly bit: number;
  readonly word: number;
  readonly max: number;
  readonly opcodes: number;
}

const names: (keyof SendAttributes)[] = [];

function row(
  name: keyof SendAttributes,
  bits: number,
  opcodes: number,
  field: keyof typeof fields,
): SendField {
  if (!names.includes(name)) names.push(name);
  const bit = 1 << names.indexOf(name);
  return { name, bit, word: fields[field].offset >> 2, max: 2 ** bits - 1, opcodes };
}

const BIND = setOf(BIND_MW);

export const FIELDS = {
  ah: row("ah", 64, DATAGRAMS, "wr.ud.ah"),
  remoteQpn: row("remoteQpn", 24, DATAGRAMS, "wr.ud.remote_qpn"),
  remoteQkey: row("remoteQkey", 32, DATAGRAMS, "wr.ud.remote_qkey"),
  // RDMA and atomics have it at the same place.
  remoteAddr: row("remoteAddr", 64, RDMA | ATOMICS | setOf(FLUSH), "wr.rdma.remote_addr"),
  rkey: row("rkey", 32, RDMA | setOf(FLUSH), "wr.rdma.rkey"),
  atomicRkey: row("rkey", 32, ATOMICS, "wr.atomic.rkey"),
  bindRkey: row("rkey", 32, BIND, "bind_mw.rkey"),
  compareAdd: row("compareAdd", 64, ATOMICS, "wr.atomic.compare_add"),
  swap: row("swap", 64, setOf(ATOMIC_CMP_AND_SWP), "wr.atomic.swap"),
  immData: row("immData", 32, setOf(SEND_WITH_IMM, RDMA_WRITE_WITH_IMM), "imm_data"),
  invalidateRkey: row("invalidateRkey", 32, setOf(SEND_WITH_INV, LOCAL_INV), "invalidate_rkey"),
  remoteSrqn: row("remoteSrqn", 24, XRC | ATOMICS, "qp_type.xrc.remote_srqn"),
  mw: row("mw", 64, BIND, "bind_mw.mw"),
  bindInfo: row("bindInfo", 64, BIND, "bind_mw.bind_info"),
} as const;

const ALL: readonly SendField[] = Object.values(FIELDS);

export const DATAGRAM: number = FIELDS.ah.bit | FIELDS.remoteQpn.bit | FIELDS.remoteQkey.bit;

/** The attributes that no opcode needs. Some transports need them. */
const OPTIONAL = DATAGRAM | FIELDS.remoteSrqn.bit | FIELDS.immData.bit;

/** By opcode, the attributes that a request needs whatever its transport is: bits of `SendField.bit`. */
export const NEEDS: Uint16Array<ArrayBuffer> = Uint16Array.from(
  { length: 1 + Math.max(...Object.values(WrOpcode)) },
  (_, opcode) =>
    ALL.reduce((set, { bit, opcodes }) => has(opcodes, opcode) ? set | bit : set, 0) & ~OPTIONAL,
);

export function attributeNamesOf(set: number): string[] {
  return names.filter((_, i) => has(set, i));
}

const UNRELIABLE = setOf(
  ...[SEND, SEND_WITH_IMM, SEND_WITH_INV, LOCAL_INV],
  ...[RDMA_WRITE, RDMA_WRITE_WITH_IMM, BIND_MW],
);

/** The opcodes of those transports that lack some (ibv_post_send(3)). */
const BY_TYPE: ReadonlyMap<number, number> = new Map([
  [enums.ibv_qp_type.IBV_QPT_UD, DATAGRAMS],
  [enums.ibv_qp_type.IBV_QPT_RAW_PACKET, setOf(SEND, TSO)],
  [enums.ibv_qp_type.IBV_QPT_UC, UNRELIABLE],
]);

/** The opcodes of a transport (`enum ibv_qp_type`): a set with one bit for each opcode. */
export function opcodesOf(type: number): number {
  return BY_TYPE.get(type) ?? setOf(...Object.values(WrOpcode));
}

export function checkHas(field: SendField, opcode: number): void {
  if (!has(field.opcodes, opcode)) throw hasNo(field, opcode);
}

function hasNo({ name, opcodes }: SendField, opcode: number): TypeError {
  const others = Object.values(WrOpcode).filter((each) => has(opcodes, each))
    .map((each) => nameOf(WrOpcode, each));
  return new TypeError(
    `Cannot set request: the opcode ${nameOf(WrOpcode, opcode)} has no attribute ${name}; those ` +
      `that have it: ${others.join(", ")}`,
  );
}

/** The row of `rkey` for an opcode. */
export function rkeyOf(opcode: number): SendField {
  if (has(ATOMICS, opcode)) return FIELDS.atomicRkey;
  return opcode === BIND_MW ? FIELDS.bindRkey : FIELDS.rkey;
}

/** Checks an attribute of at most 32 bits. Returns its bit. */
export function check32(field: SendField, opcode: number, value: number): number {
  checkHas(field, opcode);
  if (!(typeof value === "number" && value >>> 0 === value && value <= field.max)) {
    integer(value, field.name, 0, field.max);
  }
  return field.bit;
}

export function check64(field: SendField, opcode: number, value: number | bigint): number {
  checkHas(field, opcode);
  uint64(value, field.name);
  return field.bit;
}

export function checkRemoteAddr(opcode: number, value: number | bigint): number {
  const bit = check64(FIELDS.remoteAddr, opcode, value);
  if (!has(EIGHT_BYTES, opcode) || (BigInt(value) & 7n) === 0n) return bit;
  throw new RangeError(
    `Cannot set request: remoteAddr 0x${value.toString(16)} is not a multiple of 8, and ${
      nameOf(WrOpcode, opcode)
    } works on 8 bytes that are aligned`,
  );
}

/** A scatter/gather element that was read and checked: no property of the caller is read again. */
export interface Element extends Sge {
  readonly addr: bigint;
  readonly region: Region | undefined;
  readonly offset: number;
}

/** The memory of a request that has none. */
export const NO_MEMORY: readonly Element[] = [];

/**
 * Reads the memory of a request, each property of the caller once.
 *
 * @param max The number of elements that there is room for.
 * @throws {RangeError} If there are more, a number is out of range, or an element is not within its region.
 * @throws {TypeError} If it is not memory, or a region is disposed.
 */
export function readSge(sge: Sge | readonly Sge[], max: number): Element | readonly Element[] {
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
    const region = regionCore(mr);
    region.assertWithin(offset, length);
    return elementOf(addr, length, lkey, region, offset);
  }
  if (sge instanceof MemoryRegion) {
    const region = regionCore(sge);
    region.assertAttached();
    return elementOf(region.addr, region.length, region.lkey, region, 0);
  }
  if (ArrayBuffer.isView(sge)) {
    throw new TypeError(
      "Cannot use sge: a device needs registered memory, such as mr.sge(0, 64)",
    );
  }
  const { addr, length, lkey } = snapshot(sge, "sge", ["addr", "length", "lkey"]);
  return elementOf(addr, length, lkey, undefined, 0);
}

function elementOf(
  addr: number | bigint,
  length: number,
  lkey: number,
  region: Region | undefined,
  offset: number,
): Element {
  return {
    addr: region !== undefined && typeof addr === "bigint" ? addr : uint64(addr, "addr"),
    length: uint32(length, "length"),
    lkey: uint32(lkey, "lkey"),
    region,
    offset,
  };
}

export function readBinding(info: MwBindInfo): Complete<MwBindInfo> {
  const { mr, addr, length, mwAccessFlags } = snapshot(info, "bindInfo", [
    "mr",
    "addr",
    "length",
    "mwAccessFlags",
  ]);
  const region = regionCore(instance(mr, MemoryRegion, "mr"));
  const start = addr === undefined ? region.addr : uint64(addr, "addr");
  const offset = Number(start - region.addr);
  integer(offset, "addr, counted from the region,", 0, region.length);
  const size = length ?? region.length - offset;
  region.assertWithin(offset, size);
  uint32(mwAccessFlags, "mwAccessFlags");
  return { mr, addr: start, length: size, mwAccessFlags };
}

export const bindingCodec: AttributeCodec<MwBindInfo> = codecOf("ibv_mw_bind_info", "bindInfo", {
  mr: { resource: MemoryRegion },
  addr: {},
  length: { bits: 53 },
  mwAccessFlags: {},
});
