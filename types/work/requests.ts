import { toCaller } from "../../internal/caller.ts";
import { structs } from "../../ffi/layout.ts";
import {
  boolean,
  classOf,
  isForeign,
  noAttribute,
  show,
  uint24,
  uint32,
  uint64,
} from "../../internal/checks.ts";
import { AddressHandle, type AhCore, ahCore } from "../address_handle/address_handle.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { assertOpen, Resource } from "../core/resource.ts";
import { MemoryRegion, type Sge } from "../memory/memory_region.ts";
import { MemoryWindow, MwType, windowCore } from "../memory/memory_window.ts";
import {
  ATOMICS,
  check32,
  check64,
  checkHas,
  checkRemoteAddr,
  FIELDS,
  has,
  NO_MEMORY,
  OFFERED,
  readBinding,
  readSge,
  rkeyOf,
  type SendField,
} from "./attributes.ts";
import { NativeList } from "./native_list.ts";
import {
  type MwBindInfo,
  type RecvRequest,
  type RequestListInit,
  type SendAttributes,
  SendFlags,
  WrOpcode,
} from "./work_request.ts";

const { SEND } = WrOpcode;
const { FENCE, INLINE, SIGNALED, SOLICITED } = SendFlags;
const { ah: AH, remoteQpn: QPN, remoteQkey: QKEY, remoteAddr: REMOTE_ADDR } = FIELDS;
const { rkey: RKEY, atomicRkey: ATOMIC_RKEY, bindRkey: BIND_RKEY } = FIELDS;
const { compareAdd: COMPARE_ADD, swap: SWAP, immData: IMM_DATA } = FIELDS;
const { invalidateRkey: INVALIDATE_RKEY, remoteSrqn: REMOTE_SRQN } = FIELDS;
const { mw: MW, bindInfo: BIND_INFO } = FIELDS;

export let nativeOf: (list: RequestList) => NativeList;

/**
 * Work requests in native layout. They are made once, changed in single fields, and posted again and again.
 *
 * A setter checks its arguments before it changes the request. It throws a RangeError if there is no such request or a
 * number is out of range, and a TypeError if a value has the wrong type or an object is disposed. A request whose memory
 * region or address handle is disposed later is refused when it is posted.
 *
 * @category Work requests
 */
export abstract class RequestList {
  readonly #native: NativeList;

  static {
    nativeOf = (list) => list.#native;
  }

  /** @ignore */
  protected constructor(native: NativeList) {
    this.#native = native;
  }

  /** The number of requests. */
  get capacity(): number {
    return this.#native.capacity;
  }

  /** The number of scatter/gather elements that each request has room for. */
  get maxSge(): number {
    return this.#native.maxSge;
  }

  /** Sets the number that the completion of a request carries: 64 bits. A number is faster than a bigint. */
  setWrId(index: number, wrId: number | bigint): void {
    this.#native.at(index);
    checkWrId(wrId);
    this.#native.setWrId(index, wrId);
  }

  /** Sets the memory of a request: at most `RequestList.maxSge` elements. */
  setSge(index: number, sge: Sge | readonly Sge[]): void {
    this.#native.at(index);
    this.#native.setSge(index, readSge(sge, this.#native.maxSge));
  }

  /** Sets the length in bytes of a request's first scatter/gather element, which stays within its memory region. */
  setLength(index: number, length: number): void {
    this.#native.setLength(index, length);
  }

  /** The size of the list on one line, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }

  /** The size of the list. */
  toString(): string {
    return `${this.constructor.name} { capacity: ${this.capacity}, maxSge: ${this.maxSge} }`;
  }
}

/**
 * Receive requests in native layout (`struct ibv_recv_wr`). They are made once and posted again and again with
 * `QueuePair.postRecv` or
 * `WorkQueue.postRecv`. Posting allocates nothing.
 *
 * @category Work requests
 */
export class RecvRequestList extends RequestList {
  /** @ignore Only for types: no list of sends fits, and editors offer no method where a request is written. */
  declare protected readonly requests: RecvRequest;

  /** Makes room for requests without memory. */
  constructor(init: RequestListInit) {
    super(new NativeList(structs.ibv_recv_wr, init));
  }

  /** Sets `wrId` and `sge` of a request. */
  set(index: number, request: RecvRequest): void {
    const native = nativeOf(this);
    native.at(index);
    writeRecv(native, index, request);
  }
}

/**
 * Send requests in native layout (`struct ibv_send_wr`). They are made once, changed in single fields, and posted again
 * and again with `QueuePair.postSend`. Posting allocates nothing.
 *
 * The opcode of a request decides which attributes it has. A setter for an attribute that the opcode does not have throws
 * a TypeError. A request that lacks an attribute is refused when it is posted.
 *
 * @example A reply sent with one prepared request
 * ```ts
 * import type { AddressHandle, MemorySlice, QueuePair } from "@rdma/ibverbs";
 * import { SendRequestList } from "@rdma/ibverbs";
 *
 * const request = new SendRequestList({ capacity: 1 });
 *
 * function reply(qp: QueuePair, data: MemorySlice, ah: AddressHandle, qpn: number): void {
 *   request.set(0, { sge: data, ah, remoteQpn: qpn, remoteQkey: 0x1111_1111 });
 *   qp.postSend(request);
 * }
 * ```
 *
 * @category Work requests
 */
export class SendRequestList extends RequestList {
  /** The same as in the base class, which V8 reads slower from here: see docs/performance.md. */
  readonly #native: NativeList;
  /** @ignore As that of `RecvRequestList`. */
  declare protected readonly requests: SendAttributes;

  /** Makes room for requests that send nothing. */
  constructor(init: RequestListInit) {
    const native = new NativeList(structs.ibv_send_wr, init);
    super(native);
    this.#native = native;
    for (let i = 0; i < native.capacity; i++) native.begin(i, WrOpcode.SEND, SIGNALED);
  }

  /**
   * Sets all attributes of a request.
   *
   * @throws {RangeError} Also if the opcode is not offered, or the remote address of an atomic is not a multiple of 8.
   */
  set(index: number, request: SendAttributes): void {
    this.#native.at(index);
    writeSend(this.#native, index, request);
  }

  /** Sets `SendFlags`, combined. Without SIGNALED the request has no completion if it succeeds. */
  setSendFlags(index: number, sendFlags: number): void {
    this.#native.at(index);
    this.#native.setFlags(index, uint32(sendFlags, "sendFlags"));
  }

  /** SEND_WITH_IMM, RDMA_WRITE_WITH_IMM: sets the immediate data, 32 bits in host order. */
  setImmData(index: number, immData: number): void {
    const bit = check32(IMM_DATA, this.#native.opcodeOf(index), immData);
    this.#native.setImmData(index, immData);
    this.#native.given[index]! |= bit;
  }

  /** SEND_WITH_INV, LOCAL_INV: sets the rkey to invalidate. */
  setInvalidateRkey(index: number, invalidateRkey: number): void {
    this.#set32(index, INVALIDATE_RKEY, invalidateRkey);
  }

  /** UD: sets the address handle of the peer. */
  setAh(index: number, ah: AddressHandle): void {
    const native = this.#native;
    const at = native.at(index);
    native.setAh(index, at, checkAh(native.opcodeAt(at), ah));
  }

  /**
   * UD: sets the queue pair of the peer.
   *
   * @param remoteQpn Its number, 24 bits.
   * @param remoteQkey Its qkey. If the highest bit is set, the qkey of the sending queue pair is sent instead.
   */
  setRemote(index: number, remoteQpn: number, remoteQkey: number): void {
    const native = this.#native;
    const at = native.at(index);
    checkHas(QPN, native.opcodeAt(at));
    const qpn = uint24(remoteQpn, "remoteQpn");
    native.setRemote(index, at, qpn, uint32(remoteQkey, "remoteQkey"));
  }

  /**
   * RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ, ATOMIC_WRITE: sets the memory of the peer.
   *
   * @param remoteAddr Its address. For ATOMIC_WRITE it is a multiple of 8.
   */
  setRdma(index: number, remoteAddr: number | bigint, rkey: number): void {
    const native = this.#native;
    const opcode = native.opcodeOf(index);
    if (has(ATOMICS, opcode)) throw useSetAtomic(opcode);
    const bits = checkRemoteAddr(opcode, remoteAddr) | check32(RKEY, opcode, rkey);
    native.set64(index, REMOTE_ADDR, remoteAddr);
    native.set32(index, RKEY, rkey);
    native.given[index]! |= bits;
  }

  /**
   * ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD: sets the memory of the peer and the operands.
   *
   * @param remoteAddr Its address, a multiple of 8.
   * @param compareAdd The value to compare with, or to add.
   * @param swap ATOMIC_CMP_AND_SWP: the new value.
   */
  setAtomic(
    index: number,
    remoteAddr: number | bigint,
    rkey: number,
    compareAdd: number | bigint,
    swap?: number | bigint,
  ): void {
    const native = this.#native;
    const opcode = native.opcodeOf(index);
    const bits = checkRemoteAddr(opcode, remoteAddr) | check32(ATOMIC_RKEY, opcode, rkey) |
      check64(COMPARE_ADD, opcode, compareAdd) | fit64(SWAP, opcode, swap);
    if (swap === undefined && has(SWAP.opcodes, opcode)) {
      throw new TypeError(`Cannot set request: ${nameOf(WrOpcode, opcode)} needs swap`);
    }
    native.set64(index, REMOTE_ADDR, remoteAddr);
    native.set64(index, COMPARE_ADD, compareAdd);
    native.set64(index, SWAP, swap ?? 0n);
    native.set32(index, ATOMIC_RKEY, rkey);
    native.given[index]! |= bits;
  }

  /**
   * BIND_MW: sets the memory window and what it is bound to.
   *
   * @param mw The memory window, of type 2.
   * @param rkey The new rkey of the window: `incRkey` gives the next one.
   */
  setBindMw(index: number, mw: MemoryWindow, rkey: number, bindInfo: MwBindInfo): void {
    const native = this.#native;
    const binding = readBinding(bindInfo);
    // No code of the caller runs from here on.
    const opcode = native.opcodeOf(index);
    const bits = checkMw(opcode, mw) | check32(BIND_RKEY, opcode, rkey) |
      checkBinding(opcode, binding);
    native.setBind(index, mw, rkey, binding);
    native.given[index]! |= bits;
  }

  /** XRC_SEND: sets the number of the peer's shared receive queue, 24 bits. */
  setRemoteSrqn(index: number, remoteSrqn: number): void {
    this.#set32(index, REMOTE_SRQN, remoteSrqn);
  }

  #set32(index: number, field: SendField, value: number): void {
    const opcode = this.#native.opcodeOf(index);
    this.#native.given[index]! |= check32(field, opcode, value);
    this.#native.set32(index, field, value);
  }
}

function useSetAtomic(opcode: number): TypeError {
  return new TypeError(
    `Cannot set request: ${nameOf(WrOpcode, opcode)} needs operands, which setAtomic() sets`,
  );
}

export function checkWrId(wrId: number | bigint): void {
  if (!(typeof wrId === "number" && wrId >>> 0 === wrId)) uint64(wrId, "wrId");
}

const RECV_NAMES: readonly (keyof RecvRequest)[] = ["wrId", "sge"];

export function writeRecv(list: NativeList, index: number, request: RecvRequest): void {
  try {
    layOutRecv(list, index, request);
  } catch (error) {
    throw toCaller(error, writeRecv);
  }
}

function layOutRecv(list: NativeList, index: number, request: RecvRequest): void {
  if (typeof request !== "object" || request === null) throw notRequest(request, "receive");
  let isNamed = false;
  for (const name in request) {
    if (name !== "wrId" && name !== "sge") throw unknownAttribute(request, name, "receive");
    isNamed = true;
  }
  if (!isNamed && isForeign(request, RECV_NAMES)) throw notRequest(request, "receive");
  const { wrId = 0, sge } = request;
  const memory = sge === undefined ? NO_MEMORY : readSge(sge, list.maxSge);
  checkWrId(wrId);
  list.setSge(index, memory);
  list.setWrId(index, wrId);
}

const SEND_NAMES: ReadonlySet<string> = new Set<keyof SendAttributes>([
  ...Object.values(FIELDS).map(({ name }) => name),
  "wrId",
  "opcode",
  "signaled",
  "inline",
  "fence",
  "solicited",
  "sendFlags",
  "sge",
]);

/** Reads and checks a send, each property of the caller once, then writes it. */
export function writeSend(list: NativeList, index: number, request: SendAttributes): void {
  try {
    layOutSend(list, index, request);
  } catch (error) {
    throw toCaller(error, writeSend);
  }
}

function layOutSend(list: NativeList, index: number, request: SendAttributes): void {
  if (typeof request !== "object" || request === null) throw notRequest(request, "send");
  let isNamed = false;
  for (const name in request) {
    if (!SEND_NAMES.has(name)) throw unknownAttribute(request, name, "send");
    isNamed = true;
  }
  if (!isNamed && isForeign(request, SEND_NAMES)) throw notRequest(request, "send");
  const { wrId = 0, opcode = SEND, signaled, inline, fence, solicited, sendFlags, sge } = request;
  const { immData, invalidateRkey, ah, remoteQpn, remoteQkey } = request;
  const { remoteAddr, rkey, compareAdd, swap, remoteSrqn, mw, bindInfo } = request;
  const binding = bindInfo === undefined ? undefined : readBinding(bindInfo);
  const memory = sge === undefined ? NO_MEMORY : readSge(sge, list.maxSge);
  // No code of the caller runs from here on, and nothing is written before all is checked.
  checkOpcode(opcode);
  checkWrId(wrId);
  const flags = flagsOf(sendFlags, signaled, inline, fence, solicited);
  const core = ah === undefined ? undefined : checkAh(opcode, ah);
  const given = (core === undefined ? 0 : AH.bit) | fit32(QPN, opcode, remoteQpn) |
    fit32(QKEY, opcode, remoteQkey) |
    (remoteAddr === undefined ? 0 : checkRemoteAddr(opcode, remoteAddr)) |
    fit32(rkeyOf(opcode), opcode, rkey) | fit64(COMPARE_ADD, opcode, compareAdd) |
    fit64(SWAP, opcode, swap) | fit32(IMM_DATA, opcode, immData) |
    fit32(INVALIDATE_RKEY, opcode, invalidateRkey) | fit32(REMOTE_SRQN, opcode, remoteSrqn) |
    (mw === undefined ? 0 : checkMw(opcode, mw)) |
    (binding === undefined ? 0 : checkBinding(opcode, binding));
  list.begin(index, opcode, flags, given);
  list.setSge(index, memory);
  list.setWrId(index, wrId);
  if (core !== undefined) list.setAh(index, list.at(index), core);
  if (remoteQpn !== undefined) list.set32(index, QPN, remoteQpn);
  if (remoteQkey !== undefined) list.set32(index, QKEY, remoteQkey);
  if (remoteAddr !== undefined) list.set64(index, REMOTE_ADDR, remoteAddr);
  if (rkey !== undefined) list.set32(index, rkeyOf(opcode), rkey);
  if (compareAdd !== undefined) list.set64(index, COMPARE_ADD, compareAdd);
  if (swap !== undefined) list.set64(index, SWAP, swap);
  if (immData !== undefined) list.setImmData(index, immData);
  if (invalidateRkey !== undefined) list.set32(index, INVALIDATE_RKEY, invalidateRkey);
  if (remoteSrqn !== undefined) list.set32(index, REMOTE_SRQN, remoteSrqn);
  if (mw !== undefined && binding !== undefined) list.setBind(index, mw, rkey ?? 0, binding);
}

function fit32(field: SendField, opcode: number, value: number | undefined): number {
  return value === undefined ? 0 : check32(field, opcode, value);
}

function fit64(field: SendField, opcode: number, value: number | bigint | undefined): number {
  return value === undefined ? 0 : check64(field, opcode, value);
}

function checkOpcode(opcode: number): void {
  const isOpcode = typeof opcode === "number" && opcode >>> 0 === opcode && opcode < 32;
  if (isOpcode && has(OFFERED, opcode)) return;
  if (typeof opcode !== "number") {
    throw new TypeError(`Cannot send: opcode ${show(opcode)} is none of WrOpcode`);
  }
  throw new RangeError(`Cannot send: opcode ${nameOf(WrOpcode, opcode)} is not offered`);
}

function checkAh(opcode: number, ah: AddressHandle): AhCore {
  checkHas(AH, opcode);
  return openCore(ah);
}

/** The inside of an address handle, which must be open. */
export function openCore(ah: AddressHandle): AhCore {
  const core = ahCore(ah);
  if (core?.isOpen) return core;
  instance(ah, AddressHandle, "ah");
  throw new TypeError("Cannot post send: the address handle is disposed");
}

function checkMw(opcode: number, mw: MemoryWindow): number {
  checkHas(MW, opcode);
  assertOpen(instance(mw, MemoryWindow, "mw"));
  if (windowCore(mw).type === MwType.TYPE_2) return MW.bit;
  throw new TypeError("Cannot use mw: it is of type 1, which QueuePair.bindMw() binds");
}

/** Checks what a memory window is bound to, once more: other code of the caller has run. Returns its bit. */
function checkBinding(opcode: number, { mr }: MwBindInfo): number {
  checkHas(BIND_INFO, opcode);
  assertOpen(mr);
  return BIND_INFO.bit;
}

function flagsOf(
  sendFlags: number | undefined,
  signaled: boolean | undefined,
  inline: boolean | undefined,
  fence: boolean | undefined,
  solicited: boolean | undefined,
): number {
  let flags: number = sendFlags === undefined ? SIGNALED : uint32(sendFlags, "sendFlags");
  if (signaled !== undefined) flags = withFlag(flags, SIGNALED, boolean(signaled, "signaled"));
  if (inline !== undefined) flags = withFlag(flags, INLINE, boolean(inline, "inline"));
  if (fence !== undefined) flags = withFlag(flags, FENCE, boolean(fence, "fence"));
  if (solicited !== undefined) flags = withFlag(flags, SOLICITED, boolean(solicited, "solicited"));
  return flags;
}

function withFlag(flags: number, flag: number, set: boolean): number {
  return (set ? flags | flag : flags & ~flag) >>> 0;
}

type Purpose = "send" | "receive";

/** Attributes of scatter/gather elements, and of a part of a memory region, which is one. */
const ELEMENT: readonly string[] = ["addr", "length", "lkey", "mr", "offset"];

/** The error of a property that is no attribute of a request. */
function unknownAttribute(request: object, name: string, purpose: Purpose): TypeError {
  const isElement = /^\d+$/.test(name);
  const names = purpose === "send" ? [...SEND_NAMES] : RECV_NAMES;
  if (isElement || request instanceof Resource) return notRequest(request, purpose);
  const error = noAttribute(`${purpose} request`, name, names);
  if (ELEMENT.includes(name) && !("sge" in request)) error.message += "; write { sge }";
  else if (name === "addr" && purpose === "send") {
    error.message += "; write remoteAddr: BigInt(addr)";
  }
  return error;
}

function notRequest(value: unknown, purpose: Purpose): TypeError {
  const reason = value instanceof RequestList
    ? "postSend() takes SendRequestList, postRecv() takes RecvRequestList, and each list is posted by itself"
    : `${classOf(value)} is not a request`;
  return new TypeError(`Cannot post ${purpose}: ${reason}${remedy(value)}`);
}

function remedy(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  if ("then" in value) return ", await it first";
  if (ArrayBuffer.isView(value) || value instanceof MemoryRegion) {
    return ": write { sge: mr.sge(offset, length) }, a part of registered memory";
  }
  return Symbol.iterator in value && !Array.isArray(value) ? ", make an array of its elements" : "";
}
