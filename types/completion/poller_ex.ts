/**
 * Polling an extended completion queue.
 *
 * @module
 */

import { errnoName } from "../../ffi/errno.ts";
import type { IbvCq, IbvCqEx } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { bufferPointer, nativeView } from "../../ffi/pointers.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { CreateCqWcFlags } from "./cq_init_attr_ex.ts";
import { Poller } from "./poller.ts";
import { WcFlags, WcStatus } from "./work_completion.ts";
import { capacityOf, extraOf, viewOf, type WorkCompletions } from "./work_completions.ts";
import { EXTRA, WorkCompletionsEx } from "./work_completions_ex.ts";

const { size: WC_SIZE, fields: WC } = structs.ibv_wc;
const { fields: CQ } = structs.ibv_cq_ex;
const { fields: TM } = structs.ibv_wc_tm_info;
const { SUCCESS } = WcStatus;
const F = CreateCqWcFlags;
const { WITH_BYTE_LEN, WITH_IMM, WITH_SRC_QP, WITH_SLID, WITH_SL, WITH_DLID_PATH_BITS } = F;
const WITH_LOCAL = WITH_SLID | WITH_SL | WITH_DLID_PATH_BITS;
/** The values that do not have a place in `struct ibv_wc`. */
const WITH_EXTRA = F.WITH_COMPLETION_TIMESTAMP | F.WITH_COMPLETION_TIMESTAMP_WALLCLOCK |
  F.WITH_CVLAN | F.WITH_FLOW_TAG | F.WITH_TM_INFO;
/** `slid`, `sl` and `dlid_path_bits` share a word. */
const LOCAL = WC.slid.offset;
const SL_SHIFT = 8 * (WC.sl.offset - LOCAL);
const PATH_BITS_SHIFT = 8 * (WC.dlid_path_bits.offset - LOCAL);
const HAS_IMM = WcFlags.WITH_IMM | WcFlags.WITH_INV;

type Verb = keyof ReturnType<typeof verbs>;
type Reader<V extends Verb> = ReturnType<typeof verbs>[V];

/**
 * Polls by `ibv_start_poll`, `ibv_next_poll` and `ibv_end_poll`. Providers hold locks in between, so no code of the caller
 * runs there: each poll copies all values that the queue was created for, and ends.
 *
 * Each reader has a call of its own: a call through a table of functions takes ten times as long.
 */
export class PollerEx extends Poller {
  protected override readonly verb = "ibv_start_poll";
  /** The native object, whose `wr_id` and `status` change with each completion. */
  readonly #cq: DataView<ArrayBuffer>;
  readonly #flags: number;
  /** Tells, at the first poll, whether each completion takes a poll of its own. */
  readonly #polls: () => boolean;
  #isSingle: boolean | undefined;
  readonly #attr: Deno.PointerObject = bufferPointer(allocStruct(structs.ibv_poll_cq_attr));
  readonly #tm: DataView<ArrayBuffer> = allocStruct(structs.ibv_wc_tm_info);
  readonly #tmPointer: Deno.PointerObject = bufferPointer(this.#tm);
  readonly #start: Reader<"ibv_start_poll"> = verbs().ibv_start_poll;
  readonly #next: Reader<"ibv_next_poll"> = verbs().ibv_next_poll;
  readonly #end: Reader<"ibv_end_poll"> = verbs().ibv_end_poll;
  readonly #opcode: Reader<"ibv_wc_read_opcode"> = verbs().ibv_wc_read_opcode;
  readonly #vendorErr: Reader<"ibv_wc_read_vendor_err"> = verbs().ibv_wc_read_vendor_err;
  readonly #wcFlags: Reader<"ibv_wc_read_wc_flags"> = verbs().ibv_wc_read_wc_flags;
  readonly #byteLen: Reader<"ibv_wc_read_byte_len"> = verbs().ibv_wc_read_byte_len;
  readonly #immData: Reader<"ibv_wc_read_imm_data"> = verbs().ibv_wc_read_imm_data;
  readonly #invalidatedRkey: Reader<"ibv_wc_read_invalidated_rkey"> =
    verbs().ibv_wc_read_invalidated_rkey;
  readonly #qpNum: Reader<"ibv_wc_read_qp_num"> = verbs().ibv_wc_read_qp_num;
  readonly #srcQp: Reader<"ibv_wc_read_src_qp"> = verbs().ibv_wc_read_src_qp;
  readonly #slid: Reader<"ibv_wc_read_slid"> = verbs().ibv_wc_read_slid;
  readonly #sl: Reader<"ibv_wc_read_sl"> = verbs().ibv_wc_read_sl;
  readonly #pathBits: Reader<"ibv_wc_read_dlid_path_bits"> = verbs().ibv_wc_read_dlid_path_bits;
  readonly #ts: Reader<"ibv_wc_read_completion_ts"> = verbs().ibv_wc_read_completion_ts;
  readonly #wallclock: Reader<"ibv_wc_read_completion_wallclock_ns"> =
    verbs().ibv_wc_read_completion_wallclock_ns;
  readonly #cvlan: Reader<"ibv_wc_read_cvlan"> = verbs().ibv_wc_read_cvlan;
  readonly #flowTag: Reader<"ibv_wc_read_flow_tag"> = verbs().ibv_wc_read_flow_tag;
  readonly #tmInfo: Reader<"ibv_wc_read_tm_info"> = verbs().ibv_wc_read_tm_info;

  /** Polls a queue that was created for these {@linkcode CreateCqWcFlags}. */
  constructor(cq: IbvCqEx, flags: number, isSingle: () => boolean) {
    super();
    this.#polls = isSingle;
    this.#cq = nativeView(cq, structs.ibv_cq_ex.size);
    this.#flags = flags;
  }

  protected override makeBatch(capacity: number): WorkCompletionsEx {
    return new WorkCompletionsEx(capacity);
  }

  protected override fetch(handle: IbvCq, batch: WorkCompletions, most: number): number {
    const cq = handle as Deno.PointerObject as IbvCqEx;
    const isSingle = this.#isSingle ??= this.#polls();
    // An error of ibv_next_poll is left to the next poll, so that the completions before it are not lost.
    const view = viewOf(batch);
    const extras = extraOf(batch) === 0 ? -1 : capacityOf(batch) * WC_SIZE;
    let count = 0;
    do {
      const result = this.#start(cq, this.#attr);
      if (result !== 0) {
        return count > 0 || errnoName(result) === "ENOENT" ? count : -Math.abs(result);
      }
      do {
        this.#read(cq, view, count * WC_SIZE);
        if (extras >= 0) this.#readExtra(cq, view, extras + count * EXTRA.size);
      } while (++count < most && !isSingle && this.#next(cq) === 0);
      this.#end(cq);
    } while (isSingle && count < most);
    return count;
  }

  #read(cq: IbvCqEx, view: DataView, base: number): void {
    const own = this.#cq;
    const status = own.getUint32(CQ.status.offset, true);
    view.setUint32(base + WC.wr_id.offset, own.getUint32(CQ.wr_id.offset, true), true);
    view.setUint32(base + WC.wr_id.offset + 4, own.getUint32(CQ.wr_id.offset + 4, true), true);
    view.setUint32(base + WC.status.offset, status, true);
    view.setUint32(base + WC.qp_num.offset, this.#qpNum(cq), true);
    if (status !== SUCCESS) return this.#readFailed(cq, view, base);
    view.setUint32(base + WC.opcode.offset, this.#opcode(cq), true);
    view.setUint32(base + WC.vendor_err.offset, 0);
    const wcFlags = this.#wcFlags(cq);
    view.setUint32(base + WC.wc_flags.offset, wcFlags, true);
    const flags = this.#flags;
    view.setUint32(base + WC.byte_len.offset, flags & WITH_BYTE_LEN ? this.#byteLen(cq) : 0, true);
    const imm = flags & WITH_IMM && wcFlags & HAS_IMM ? this.#readImm(cq, wcFlags) : 0;
    view.setUint32(base + WC.imm_data.offset, imm, true);
    view.setUint32(base + WC.src_qp.offset, flags & WITH_SRC_QP ? this.#srcQp(cq) : 0, true);
    view.setUint32(base + LOCAL, flags & WITH_LOCAL ? this.#readLocal(cq, flags) : 0, true);
  }

  /** Nothing but `wr_id`, `status`, `qp_num` and `vendor_err` of a failed request is valid. */
  #readFailed(cq: IbvCqEx, view: DataView, base: number): void {
    view.setUint32(base + WC.opcode.offset, 0);
    view.setUint32(base + WC.vendor_err.offset, this.#vendorErr(cq), true);
    for (const field of [WC.wc_flags, WC.byte_len, WC.imm_data, WC.src_qp]) {
      view.setUint32(base + field.offset, 0);
    }
    view.setUint32(base + LOCAL, 0);
  }

  /** The word that holds `slid`, `sl` and `dlid_path_bits`. */
  #readLocal(cq: IbvCqEx, flags: number): number {
    const slid = flags & WITH_SLID ? this.#slid(cq) : 0;
    const sl = flags & WITH_SL ? this.#sl(cq) : 0;
    const pathBits = flags & WITH_DLID_PATH_BITS ? this.#pathBits(cq) : 0;
    return slid | sl << SL_SHIFT | pathBits << PATH_BITS_SHIFT;
  }

  /** The bytes of the union of immediate data and invalidated rkey. */
  #readImm(cq: IbvCqEx, wcFlags: number): number {
    return wcFlags & WcFlags.WITH_INV ? this.#invalidatedRkey(cq) : this.#immData(cq);
  }

  #readExtra(cq: IbvCqEx, view: DataView, extra: number): void {
    for (let at = 0; at < EXTRA.size; at += 4) view.setUint32(extra + at, 0);
    const flags = this.#flags;
    if (!(flags & WITH_EXTRA) || this.#cq.getUint32(CQ.status.offset, true) !== SUCCESS) return;
    if (flags & F.WITH_COMPLETION_TIMESTAMP) {
      view.setBigUint64(extra + EXTRA.completionTs, this.#ts(cq), true);
    }
    if (flags & F.WITH_COMPLETION_TIMESTAMP_WALLCLOCK) {
      view.setBigUint64(extra + EXTRA.completionWallclockNs, this.#wallclock(cq), true);
    }
    if (flags & F.WITH_CVLAN) view.setUint16(extra + EXTRA.cvlan, this.#cvlan(cq), true);
    if (flags & F.WITH_FLOW_TAG) view.setUint32(extra + EXTRA.flowTag, this.#flowTag(cq), true);
    if (flags & F.WITH_TM_INFO) this.#readTmInfo(cq, view, extra);
  }

  #readTmInfo(cq: IbvCqEx, view: DataView, extra: number): void {
    this.#tmInfo(cq, this.#tmPointer);
    view.setBigUint64(extra + EXTRA.tmTag, this.#tm.getBigUint64(TM.tag.offset, true), true);
    view.setUint32(extra + EXTRA.tmPriv, this.#tm.getUint32(TM.priv.offset, true), true);
  }
}
