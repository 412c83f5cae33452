import type { IbvQpEx } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { someVerbs } from "../../ffi/library.ts";
import { bufferAddress, bufferPointer, nativeView } from "../../ffi/pointers.ts";
import type { QpExVerbs } from "../../ffi/verbs/qp_ex.ts";
import { uint32 } from "../../internal/checks.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import { causeOf } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { nameOf } from "../core/enums.ts";
import { failure } from "../core/errors.ts";
import { assertOpen } from "../core/resource.ts";
import {
  DATAGRAM,
  DATAGRAMS,
  type Element,
  FIELDS,
  has,
  INLINE,
  NO_MEMORY,
  rkeyOf,
  setOf,
} from "../work/attributes.ts";
import type { NativeList } from "../work/native_list.ts";
import type { SendPoster } from "../work/posting.ts";
import { nativeOf, openCore, SendRequestList } from "../work/requests.ts";
import { SendFlags, WrOpcode } from "../work/work_request.ts";
import { SEND_CAUSES } from "./hints.ts";
import { QpType } from "./qp_enums.ts";
import { qpCore, type QueuePair } from "./queue_pair.ts";

/** A part of the copied bytes. */
export interface Part {
  readonly offset: number;
  readonly length: number;
}

/** The queue pair that a datagram goes to. */
interface Receiver {
  readonly remoteQpn: number;
  readonly remoteQkey: number;
}

/** What a request has beyond the fields of `struct ibv_send_wr`. */
export interface Extra {
  readonly inline?: readonly Part[] | undefined;
  /** TSO: the header of the packets, and the size of their payload. */
  readonly header?: Part & { readonly mss: number } | undefined;
  /** ATOMIC_WRITE: the 8 bytes. */
  readonly value?: Part | undefined;
  /** FLUSH: the memory that it makes persistent or visible. */
  readonly flush?:
    | { readonly length: bigint; readonly type: number; readonly level: number }
    | undefined;
}

const { wr_id, wr_flags } = structs.ibv_qp_ex.fields;
const WR_ID = wr_id.offset >> 2;
const WR_FLAGS = wr_flags.offset >> 2;

const dataBuf: AttributeCodec<{ addr: bigint; length: number }> = codecOf(
  "ibv_data_buf",
  "inline data",
  { addr: {}, length: { bits: 53 } },
);

/** The types of queue pairs each of whose requests has a receiver of its own. DRIVER is for those of a provider. */
export const DATAGRAM_TYPES: readonly QpType[] = [QpType.UD, QpType.DRIVER];

/** Opcodes whose data another verb sets, one bit each. */
const WITHOUT_DATA = setOf(
  ...[WrOpcode.LOCAL_INV, WrOpcode.BIND_MW, WrOpcode.ATOMIC_WRITE, WrOpcode.FLUSH],
);

/** Whether a request with an opcode has data that a setter sets. */
export function hasData(opcode: number): boolean {
  return !has(WITHOUT_DATA, opcode);
}

/**
 * The requests that are being built for one queue pair. Native code is reached only when they are complete: in between,
 * the provider would hold a lock, and any other post to the queue pair would wait for it forever.
 */
export class WrPoster {
  readonly type: QpType;
  readonly maxInline: number;
  /** The opcodes whose data can be inline, one bit each. */
  readonly inline: number;
  readonly list: SendRequestList;
  /** The builder that was started last. */
  current: object | undefined = undefined;
  readonly #qp: QueuePair;
  readonly #sender: SendPoster;
  readonly #handle: IbvQpEx;
  /** The words of `struct ibv_qp_ex` up to `wr_flags`. */
  readonly #qpEx: Uint32Array<ArrayBuffer>;
  readonly #verbs: QpExVerbs = someVerbs(/^ibv_wr_/);
  readonly #native: NativeList;
  readonly #extras: (Extra | undefined)[];
  readonly #isDatagram: boolean;
  readonly #receivers: (Receiver | undefined)[];
  /** Copies of inline data, headers and values. */
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(256);
  #address: bigint = bufferAddress(this.#bytes);
  #used = 0;

  /** Makes room for as many requests as the send queue of a queue pair has. */
  constructor(qp: QueuePair, handle: IbvQpEx) {
    const { type, cap: { maxSendWr, maxSendSge, maxInlineData }, sender } = qpCore(qp);
    if (sender === undefined) {
      throw new TypeError("Cannot start work requests: the queue pair has no send queue");
    }
    this.#qp = qp;
    this.#sender = sender;
    this.#handle = handle;
    this.type = type;
    this.maxInline = maxInlineData;
    // Some providers would write inline data over the peer's address.
    this.inline = type === QpType.DRIVER ? DATAGRAMS : INLINE;
    this.#qpEx = new Uint32Array(nativeView(handle, (WR_FLAGS + 1) * 4).buffer);
    this.list = new SendRequestList({
      capacity: Math.max(1, maxSendWr),
      maxSge: Math.max(1, maxSendSge),
    });
    this.#native = nativeOf(this.list);
    this.#extras = new Array(this.list.capacity).fill(undefined);
    this.#isDatagram = DATAGRAM_TYPES.includes(type);
    this.#receivers = new Array(this.list.capacity).fill(undefined);
  }

  reset(): void {
    this.#used = 0;
  }

  /** Begins a request, which has neither data nor attributes yet. */
  begin(index: number, opcode: WrOpcode, wrId: number | bigint, wrFlags: number): void {
    this.#native.begin(index, opcode, wrFlags);
    this.#native.setSge(index, NO_MEMORY);
    this.#native.setWrId(index, wrId);
    this.#extras[index] = undefined;
  }

  /** Sets the receiver of a request: in a native one it would lie where RDMA has the memory of the peer. */
  setReceiver(index: number, ah: AddressHandle, remoteQpn: number, remoteQkey: number): void {
    const receiver = { remoteQpn, remoteQkey: uint32(remoteQkey, "remoteQkey") };
    this.#native.noteAh(index, openCore(ah), DATAGRAM);
    this.#receivers[index] = receiver;
  }

  /** Sets the memory of a request, which was read and checked. */
  setMemory(index: number, memory: Element | readonly Element[]): void {
    this.#native.setSge(index, memory);
  }

  /** Sets what a request has beyond its fields, and the length of its data. */
  setExtra(index: number, extra: Extra, length = 0): void {
    this.#extras[index] = extra;
    this.#native.lengths[index] = length;
  }

  /** Copies bytes of the caller, which may change afterwards. */
  copy(bytes: Uint8Array): Part {
    const offset = this.#used;
    const { length } = bytes;
    if (offset + length > this.#bytes.length) {
      const larger = new Uint8Array(2 * (offset + length));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#address = bufferAddress(larger);
    }
    this.#bytes.set(bytes, offset);
    this.#used = offset + length;
    return { offset, length };
  }

  /** Checks the first `count` requests and posts them: all, or none. */
  post(count: number): void {
    const sender = this.#sender;
    assertOpen(this.#qp);
    const run = sender.check(this.#native, 0, count, sender.rules.built);
    const { ibv_wr_start, ibv_wr_complete, ibv_wr_abort } = this.#verbs;
    ibv_wr_start(this.#handle);
    try {
      for (let i = 0; i < count; i++) this.#build(i, this.#address);
    } catch (error) {
      ibv_wr_abort(this.#handle);
      throw error;
    }
    const result = ibv_wr_complete(this.#handle);
    if (result === 0) return sender.posted(run);
    // Some providers refuse after all requests are in the queue: their address handles are kept. Others take them back.
    if (!sender.tracker?.countsFailed) sender.postedOnly(run, count);
    throw failure("ibv_wr_complete", "post send", Math.abs(result), {
      detail: () => `${count} requests of ${nameOf(QpType, this.type)} ${this.#qp.qpNum}`,
      hint: (code) =>
        causeOf(SEND_CAUSES, code, { state: this.#qp.state, size: this.#qp.cap.maxSendWr }),
    });
  }

  #build(index: number, address: bigint): void {
    const list = this.#native;
    const qp = this.#handle;
    const at = index * list.stride;
    const extra = this.#extras[index];
    const opcode = list.opcodeOf(index);
    this.#qpEx[WR_ID] = list.words[at]!;
    this.#qpEx[WR_ID + 1] = list.words[at + 1]!;
    // Only rxe reads the flag.
    const inline = extra?.inline === undefined ? 0 : SendFlags.INLINE;
    this.#qpEx[WR_FLAGS] = list.flags(index) | inline;
    this.#begin(index, opcode, extra, address);
    if (this.#isDatagram) {
      const { unsafeHandle } = list.ahs[index]!.handle;
      const { remoteQpn, remoteQkey } = this.#receivers[index]!;
      this.#verbs.ibv_wr_set_ud_addr(qp, unsafeHandle, remoteQpn, remoteQkey);
    }
    if (!hasData(opcode)) return;
    if (this.type === QpType.XRC_SEND) {
      this.#verbs.ibv_wr_set_xrc_srqn(qp, list.get32(index, FIELDS.remoteSrqn));
    }
    if (extra?.inline !== undefined) this.#setInline(extra.inline, address);
    else this.#setSges(index);
  }

  #begin(index: number, opcode: number, extra: Extra | undefined, address: bigint): void {
    const list = this.#native;
    const qp = this.#handle;
    const v = this.#verbs;
    switch (opcode) {
      case WrOpcode.SEND:
        return v.ibv_wr_send(qp);
      case WrOpcode.SEND_WITH_IMM:
        return v.ibv_wr_send_imm(qp, list.get32(index, FIELDS.immData));
      case WrOpcode.SEND_WITH_INV:
        return v.ibv_wr_send_inv(qp, list.get32(index, FIELDS.invalidateRkey));
      case WrOpcode.LOCAL_INV:
        return v.ibv_wr_local_inv(qp, list.get32(index, FIELDS.invalidateRkey));
      case WrOpcode.TSO: {
        const { offset, length, mss } = extra!.header!;
        return v.ibv_wr_send_tso(qp, address + BigInt(offset), length, mss);
      }
    }
    const rkey = list.get32(index, rkeyOf(opcode));
    if (opcode === WrOpcode.BIND_MW) {
      const { mw } = list.binds![index]!;
      return v.ibv_wr_bind_mw(qp, mw.unsafeHandle, rkey, list.bindInfo(index));
    }
    const remoteAddr = list.get64(index, FIELDS.remoteAddr);
    switch (opcode) {
      case WrOpcode.RDMA_WRITE:
        return v.ibv_wr_rdma_write(qp, rkey, remoteAddr);
      case WrOpcode.RDMA_WRITE_WITH_IMM:
        return v.ibv_wr_rdma_write_imm(qp, rkey, remoteAddr, list.get32(index, FIELDS.immData));
      case WrOpcode.RDMA_READ:
        return v.ibv_wr_rdma_read(qp, rkey, remoteAddr);
      case WrOpcode.ATOMIC_WRITE:
        return v.ibv_wr_atomic_write(qp, rkey, remoteAddr, address + BigInt(extra!.value!.offset));
      case WrOpcode.FLUSH: {
        const { length, type, level } = extra!.flush!;
        return v.ibv_wr_flush(qp, rkey, remoteAddr, length, type, level);
      }
    }
    const compareAdd = list.get64(index, FIELDS.compareAdd);
    if (opcode === WrOpcode.ATOMIC_FETCH_AND_ADD) {
      return v.ibv_wr_atomic_fetch_add(qp, rkey, remoteAddr, compareAdd);
    }
    v.ibv_wr_atomic_cmp_swp(qp, rkey, remoteAddr, compareAdd, list.get64(index, FIELDS.swap));
  }

  #setSges(index: number): void {
    const list = this.#native;
    const count = list.numSge(index);
    if (count === 1) {
      const { lkey, addr, length } = list.firstSge(index);
      this.#verbs.ibv_wr_set_sge(this.#handle, lkey, addr, length);
    } else {
      this.#verbs.ibv_wr_set_sge_list(this.#handle, BigInt(count), list.sgeList(index));
    }
  }

  #setInline(parts: readonly Part[], address: bigint): void {
    if (parts.length === 1) {
      const { offset, length } = parts[0]!;
      const start = address + BigInt(offset);
      this.#verbs.ibv_wr_set_inline_data(this.#handle, start, BigInt(length));
      return;
    }
    const { size } = dataBuf;
    const list = new DataView(new ArrayBuffer(size * Math.max(1, parts.length)));
    parts.forEach(({ offset, length }, i) => {
      dataBuf.write({ addr: address + BigInt(offset), length }, {}, list, i * size);
    });
    const pointer = bufferPointer(list);
    this.#verbs.ibv_wr_set_inline_data_list(this.#handle, BigInt(parts.length), pointer);
  }
}
