import { cutTo } from "../../internal/caller.ts";
import { partsOf } from "../../internal/made.ts";
import {
  copyOfBytes,
  integer,
  listOf,
  uint16,
  uint24,
  uint32,
  uint64,
  uint8,
} from "../../internal/checks.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import { nameOf } from "../core/enums.ts";
import type { Sge } from "../memory/memory_region.ts";
import type { MemoryWindow } from "../memory/memory_window.ts";
import { has, readBinding, readSge } from "../work/attributes.ts";
import { checkWrId, type SendRequestList } from "../work/requests.ts";
import { type MwBindInfo, SendFlags, WrOpcode } from "../work/work_request.ts";
import { QpType, type SelectivityLevel } from "./qp_enums.ts";
import { DATAGRAM_TYPES, hasData, type WrPoster } from "./wr_poster.ts";

/** The parts of a builder. */
export interface Begun {
  readonly poster: WrPoster;
  /** The opcodes that the queue pair was made with, one bit each. */
  readonly opcodes: number;
}

/**
 * A builder of work requests (the `ibv_wr_*` verbs). `QueuePairEx.wrStart`
 * starts it. Begin a request with one of the methods named after an operation, then set its data, and on UD its
 * address. `WrBuilder.complete` posts all requests: either all of them are
 * posted, or none.
 *
 * A builder that is disposed or replaced by another one before it is complete posts nothing.
 *
 * @example Two RDMA writes, posted together
 * ```ts
 * import { type MemoryRegion, type QueuePairEx, SendFlags } from "@rdma/ibverbs";
 *
 * function write(qp: QueuePairEx, mr: MemoryRegion, remoteAddr: bigint, rkey: number): void {
 *   using wr = qp.wrStart();
 *   wr.wrFlags = 0;
 *   wr.rdmaWrite(rkey, remoteAddr).setSge(mr.sge(0, 64));
 *   wr.wrId = 1;
 *   wr.wrFlags = SendFlags.SIGNALED;
 *   wr.rdmaWrite(rkey, remoteAddr + 64n).setInlineData(new Uint8Array(8));
 *   wr.complete();
 * }
 * ```
 *
 * @category Queue pairs
 */
export class WrBuilder implements Disposable {
  readonly #poster: WrPoster;
  /** The opcodes that the queue pair was made with, one bit each. */
  readonly #opcodes: number;
  #wrId: number | bigint = 0;
  #wrFlags: number = SendFlags.SIGNALED;
  #count = 0;
  /** The opcode of the request that was begun last. */
  #opcode: WrOpcode = WrOpcode.SEND;
  #hasData = false;
  /** Why the builder cannot be used any more. */
  #ended: string | undefined;

  /** @ignore Made by `QueuePairEx.wrStart`. */
  constructor(begun: "QueuePairEx.wrStart() begins requests") {
    const { poster, opcodes } = partsOf<Begun>(
      begun,
      "WrBuilder",
      "QueuePairEx.wrStart() begins requests",
    );
    this.#poster = poster;
    this.#opcodes = opcodes;
    poster.current = this;
    poster.reset();
  }

  /** The number that completions carry, 64 bits, for requests that are begun from now on. It starts as 0. */
  get wrId(): number | bigint {
    return this.#wrId;
  }

  /** Sets `WrBuilder.wrId`. It throws a RangeError if the number does not fit 64 bits. */
  set wrId(wrId: number | bigint) {
    checkWrId(wrId);
    this.#wrId = wrId;
  }

  /** `SendFlags` of the requests that are begun from now on, combined with `|`. It starts as SIGNALED. */
  get wrFlags(): number {
    return this.#wrFlags;
  }

  /**
   * Sets `WrBuilder.wrFlags`. It throws a RangeError if the number is out of range, and a TypeError for INLINE: use
   * `WrBuilder.setInlineData` instead.
   */
  set wrFlags(wrFlags: number) {
    uint32(wrFlags, "wrFlags");
    if (wrFlags & SendFlags.INLINE) {
      throw new TypeError("Cannot use wrFlags: setInlineData() sends inline, not the flag INLINE");
    }
    this.#wrFlags = wrFlags;
  }

  /** The number of requests that were begun. */
  get length(): number {
    return this.#count;
  }

  /** Begins a send (`ibv_wr_send`). */
  send(): this {
    return this.#begin(WrOpcode.SEND);
  }

  /** Begins a send with immediate data (`ibv_wr_send_imm`): 32 bits in host order. */
  sendImm(immData: number): this {
    return this.#begin(WrOpcode.SEND_WITH_IMM, (list, i) => list.setImmData(i, immData));
  }

  /** Begins a send that invalidates an rkey of the peer (`ibv_wr_send_inv`). */
  sendInv(rkey: number): this {
    return this.#begin(WrOpcode.SEND_WITH_INV, (list, i) => list.setInvalidateRkey(i, rkey));
  }

  /**
   * Begins a send of a large packet that the device segments (`ibv_wr_send_tso`).
   *
   * @param hdr The header of each packet. It is copied.
   * @param mss The size of the payload of each packet in bytes.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  sendTso(hdr: Uint8Array, mss: number): this {
    const bytes = copyOfBytes(hdr, "hdr");
    uint16(bytes.length, "length of hdr");
    uint16(mss, "mss");
    const poster = this.#poster;
    return this.#begin(WrOpcode.TSO, (_, i) => {
      poster.setExtra(i, { header: { ...poster.copy(bytes), mss } });
    });
  }

  /** Begins an RDMA write (`ibv_wr_rdma_write`). */
  rdmaWrite(rkey: number, remoteAddr: number | bigint): this {
    return this.#begin(WrOpcode.RDMA_WRITE, (list, i) => list.setRdma(i, remoteAddr, rkey));
  }

  /** Begins an RDMA write with immediate data (`ibv_wr_rdma_write_imm`): 32 bits in host order. */
  rdmaWriteImm(rkey: number, remoteAddr: number | bigint, immData: number): this {
    return this.#begin(WrOpcode.RDMA_WRITE_WITH_IMM, (list, i) => {
      list.setRdma(i, remoteAddr, rkey);
      list.setImmData(i, immData);
    });
  }

  /** Begins an RDMA read (`ibv_wr_rdma_read`). */
  rdmaRead(rkey: number, remoteAddr: number | bigint): this {
    return this.#begin(WrOpcode.RDMA_READ, (list, i) => list.setRdma(i, remoteAddr, rkey));
  }

  /** Begins an atomic compare and swap (`ibv_wr_atomic_cmp_swp`). The old value is written to the data, 8 bytes. */
  atomicCmpSwp(
    rkey: number,
    remoteAddr: number | bigint,
    compare: number | bigint,
    swap: number | bigint,
  ): this {
    return this.#begin(WrOpcode.ATOMIC_CMP_AND_SWP, (list, i) => {
      list.setAtomic(i, remoteAddr, rkey, compare, swap);
    });
  }

  /** Begins an atomic fetch and add (`ibv_wr_atomic_fetch_add`). The old value is written to the data, 8 bytes. */
  atomicFetchAdd(rkey: number, remoteAddr: number | bigint, add: number | bigint): this {
    return this.#begin(WrOpcode.ATOMIC_FETCH_AND_ADD, (list, i) => {
      list.setAtomic(i, remoteAddr, rkey, add);
    });
  }

  /**
   * Begins an atomic write (`ibv_wr_atomic_write`, since rdma-core 44). The 8 bytes are copied. Soft-RoCE needs a
   * kernel newer than Linux 6.1, where the request still completes with LOC_QP_OP_ERR.
   */
  atomicWrite(rkey: number, remoteAddr: number | bigint, value: Uint8Array): this {
    const bytes = copyOfBytes(value, "value");
    integer(bytes.length, "length of value", 8, 8);
    const poster = this.#poster;
    return this.#begin(WrOpcode.ATOMIC_WRITE, (list, i) => {
      list.setRdma(i, remoteAddr, rkey);
      poster.setExtra(i, { value: poster.copy(bytes) }, bytes.length);
    });
  }

  /** Begins the invalidation of an rkey of this side (`ibv_wr_local_inv`). */
  localInv(rkey: number): this {
    return this.#begin(WrOpcode.LOCAL_INV, (list, i) => list.setInvalidateRkey(i, rkey));
  }

  /**
   * Begins the binding of a memory window of type 2 (`ibv_wr_bind_mw`).
   *
   * @param mw The window.
   * @param rkey Its new rkey: `incRkey` gives the next one.
   * @param bindInfo What it is bound to.
   */
  bindMw(mw: MemoryWindow, rkey: number, bindInfo: MwBindInfo): this {
    // Code of the caller that this runs may begin other requests.
    const binding = readBinding(bindInfo);
    return this.#begin(WrOpcode.BIND_MW, (list, i) => list.setBindMw(i, mw, rkey, binding));
  }

  /**
   * Begins a flush (`ibv_wr_flush`): it completes when what earlier requests wrote to the peer's memory is where `type`
   * says. The peer's region and queue pair need `AccessFlags`.FLUSH_GLOBAL or FLUSH_PERSISTENT. It needs rdma-core 49
   * or newer, and for soft-RoCE a kernel newer than Linux 6.1.
   *
   * @param rkey The rkey of the peer's memory region.
   * @param remoteAddr The address of the first byte.
   * @param len Bytes to flush.
   * @param type `PlacementType`, combined with `|`.
   * @param level Whether to flush these bytes, or the whole region.
   */
  flush(
    rkey: number,
    remoteAddr: number | bigint,
    len: number | bigint,
    type: number,
    level: SelectivityLevel,
  ): this {
    const flush = {
      length: uint64(len, "len"),
      type: uint8(type, "type"),
      level: uint8(level, "level"),
    };
    return this.#begin(WrOpcode.FLUSH, (list, i) => {
      list.setRdma(i, remoteAddr, rkey);
      this.#poster.setExtra(i, { flush });
    });
  }

  /** Begins a request with an opcode and sets its attributes. If that throws, it is not begun. */
  #begin(opcode: WrOpcode, set: (list: SendRequestList, index: number) => void = () => {}): this {
    this.#assertUsable();
    if (!has(this.#opcodes, opcode)) {
      throw new TypeError(
        `Cannot begin request: the queue pair was not made with SendOpsFlags.${
          nameOf(WrOpcode, opcode)
        }`,
      );
    }
    const { list } = this.#poster;
    const index = this.#count;
    if (index >= list.capacity) {
      throw new RangeError(`Cannot begin request: the send queue has room for ${list.capacity}`);
    }
    this.#poster.begin(index, opcode, this.#wrId, this.#wrFlags);
    cutTo(this.#begin, () => set(list, index));
    this.#count = index + 1;
    this.#opcode = opcode;
    this.#hasData = !hasData(opcode);
    return this;
  }

  /**
   * UD, and datagrams that a provider adds: sets the receiver of the request that was begun last
   * (`ibv_wr_set_ud_addr`).
   *
   * @throws {TypeError} If no request was begun, the queue pair is of another type, or the address handle is disposed.
   * @throws {RangeError} If a number is out of range.
   */
  setUdAddr(ah: AddressHandle, remoteQpn: number, remoteQkey: number): this {
    const index = this.#current("setUdAddr");
    this.#assertType("setUdAddr", ...DATAGRAM_TYPES);
    this.#poster.setReceiver(index, ah, uint24(remoteQpn, "remoteQpn"), remoteQkey);
    return this;
  }

  /**
   * XRC_SEND: sets the shared receive queue of the request that was begun last (`ibv_wr_set_xrc_srqn`).
   *
   * @throws {TypeError} If no request was begun, or the queue pair is not of type XRC_SEND.
   * @throws {RangeError} If the number is out of range.
   */
  setXrcSrqn(remoteSrqn: number): this {
    const index = this.#current("setXrcSrqn");
    this.#assertType("setXrcSrqn", QpType.XRC_SEND);
    this.#poster.list.setRemoteSrqn(index, remoteSrqn);
    return this;
  }

  /**
   * Sets the memory of the request that was begun last (`ibv_wr_set_sge`).
   *
   * @throws {TypeError} If no request was begun, its data is set already or it has none, or the memory region is disposed.
   * @throws {RangeError} If a number is out of range.
   */
  setSge(sge: Sge): this {
    return this.#setMemory("setSge", sge);
  }

  /**
   * Sets the memory of the request that was begun last to several elements (`ibv_wr_set_sge_list`).
   *
   * @throws {TypeError} As `WrBuilder.setSge`.
   * @throws {RangeError} If there are more elements than `cap.maxSendSge`, or a number is out of range.
   */
  setSgeList(sges: readonly Sge[]): this {
    return this.#setMemory("setSgeList", listOf(sges, "sges"));
  }

  #setMemory(method: string, sge: Sge | readonly Sge[]): this {
    const memory = readSge(sge, this.#poster.list.maxSge);
    // No code of the caller runs from here on.
    const index = this.#withoutData(method);
    this.#poster.setMemory(index, memory);
    this.#hasData = true;
    return this;
  }

  /**
   * Sends bytes inline with the request that was begun last (`ibv_wr_set_inline_data`). They are copied. They need not
   * lie in a memory region.
   *
   * @throws {TypeError} If no request was begun, its data is set already, or it has none that can be inline.
   * @throws {RangeError} If there are more bytes than `cap.maxInlineData`.
   */
  setInlineData(bytes: Uint8Array): this {
    return this.#setInline("setInlineData", [bytes]);
  }

  /**
   * Sends several pieces of bytes inline, one after the other (`ibv_wr_set_inline_data_list`).
   *
   * @throws As `WrBuilder.setInlineData`.
   */
  setInlineDataList(pieces: readonly Uint8Array[]): this {
    return this.#setInline("setInlineDataList", listOf(pieces, "pieces"));
  }

  #setInline(method: string, pieces: readonly Uint8Array[]): this {
    const copies = cutTo(
      this.#setInline,
      () => pieces.map((piece) => copyOfBytes(piece, "bytes")),
    );
    const index = this.#withoutData(method);
    if (!has(this.#poster.inline, this.#opcode)) {
      throw new TypeError(
        `Cannot use ${method}(): ${nameOf(WrOpcode, this.#opcode)} has no data that can be inline`,
      );
    }
    const poster = this.#poster;
    const { maxInline } = poster;
    const length = copies.reduce((sum, copy) => sum + copy.length, 0);
    if (length > maxInline) {
      throw new RangeError(
        `Cannot use ${method}(): there are ${length} bytes, and the queue pair allows ${maxInline} (cap.maxInlineData)`,
      );
    }
    poster.setExtra(index, { inline: copies.map((copy) => poster.copy(copy)) }, length);
    this.#hasData = true;
    return this;
  }

  /** The request that was begun last, if its data is not set. */
  #withoutData(method: string): number {
    const index = this.#current(method);
    if (!this.#hasData) return index;
    const name = nameOf(WrOpcode, this.#opcode);
    throw new TypeError(
      `Cannot use ${method}(): ${
        hasData(this.#opcode) ? "the data of the request is set already" : `${name} has no data`
      }`,
    );
  }

  #current(method: string): number {
    this.#assertUsable();
    if (this.#count === 0) {
      throw new TypeError(`Cannot use ${method}(): no work request was begun`);
    }
    return this.#count - 1;
  }

  #assertType(method: string, ...types: readonly QpType[]): void {
    if (types.includes(this.#poster.type)) return;
    throw new TypeError(
      `Cannot use ${method}(): the type of the queue pair is ${nameOf(QpType, this.#poster.type)}`,
    );
  }

  #assertUsable(): void {
    if (this.#ended === undefined && this.#poster.current !== this) {
      this.#ended = "another builder was started before it was complete";
    }
    if (this.#ended !== undefined) {
      throw new TypeError(`Cannot use builder of work requests: ${this.#ended}`);
    }
  }

  /**
   * Posts the requests (`ibv_wr_start`, the verbs of each request, `ibv_wr_complete`). On UD each request keeps its
   * address handle until its completion is polled.
   *
   * @throws {TypeError} If the builder was completed or aborted, or another one was started; if a request lacks its
   * address; if a memory region or address handle is disposed. Nothing is posted then.
   * @throws {RangeError} If a message is too large, or an atomic is not on 8 aligned bytes. Nothing is posted then.
   * @throws {VerbsError} If the queue is full (ENOMEM) or the state is wrong (EINVAL).
   */
  complete(): void {
    this.#assertUsable();
    this.#ended = "it is complete";
    if (this.#count > 0) this.#poster.post(this.#count);
  }

  /** Drops the requests: nothing is posted. A builder that is complete stays as it is. */
  abort(): void {
    this.#ended ??= "it was aborted";
  }

  /** Aborts the builder unless it is complete. */
  [Symbol.dispose](): void {
    this.abort();
  }

  /** The number of requests on one line, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }

  /** The number of requests. */
  toString(): string {
    return `WrBuilder { length: ${this.#count} }`;
  }
}
