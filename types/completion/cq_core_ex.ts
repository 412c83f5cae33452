import { errnoName } from "../../ffi/errno.ts";
import type { IbvCq, IbvCqEx } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { someVerbs } from "../../ffi/library.ts";
import { bufferPointer, nativeView } from "../../ffi/pointers.ts";
import { allocStruct } from "../../ffi/struct.ts";
import type { Verbs } from "../../ffi/verbs.ts";
import { CqCore } from "./cq_core.ts";
import { WcFlags, WcStatus } from "./work_completion.ts";
import type { BatchCore } from "./work_completions.ts";
import { CreateCqWcFlags, EXTENDED, EXTRA, type WorkCompletionEx } from "./work_completions_ex.ts";

const { size: WC_SIZE, fields: WC } = structs.ibv_wc;
const { fields: CQ } = structs.ibv_cq_ex;
const { fields: TM } = structs.ibv_wc_tm_info;
const F = CreateCqWcFlags;

type Poll = `ibv_${"start" | "next" | "end"}_poll`;

/**
 * Polls by `ibv_start_poll`, `ibv_next_poll` and `ibv_end_poll`. Providers hold locks in between, so no code of the caller
 * runs there: each poll copies all values that the queue was created for, and ends.
 */
export class CqCoreEx extends CqCore<WorkCompletionEx> {
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
  readonly #verbs: Pick<Verbs, Poll | keyof Verbs & `ibv_wc_read_${string}`>;

  /** Polls a queue that was created for these {@linkcode CreateCqWcFlags}. */
  constructor(cq: IbvCqEx, flags: number, isSingle: () => boolean) {
    super(EXTENDED);
    this.#polls = isSingle;
    this.#cq = nativeView(cq, structs.ibv_cq_ex.size);
    this.#flags = flags;
    this.#verbs = someVerbs(/^ibv_(wc_read_|(start|next|end)_poll)/);
  }

  protected override fetch(handle: IbvCq, batch: BatchCore<unknown>, most: number): number {
    const cq = handle as Deno.PointerObject as IbvCqEx;
    const { ibv_start_poll, ibv_next_poll, ibv_end_poll } = this.#verbs;
    const isSingle = this.#isSingle ??= this.#polls();
    // An error of ibv_next_poll is left to the next poll, so that the completions before it are not lost.
    let count = 0;
    do {
      const result = ibv_start_poll(cq, this.#attr);
      if (result !== 0) {
        return count > 0 || errnoName(result) === "ENOENT" ? count : -Math.abs(result);
      }
      do this.#read(cq, batch, count); while (
        ++count < most && !isSingle && ibv_next_poll(cq) === 0
      );
      ibv_end_poll(cq);
    } while (isSingle && count < most);
    return count;
  }

  #read(cq: IbvCqEx, batch: BatchCore<unknown>, index: number): void {
    const { view, words, format } = batch;
    const own = this.#cq;
    const base = index * WC_SIZE;
    const extra = batch.extraAt(index);
    clear(words, base / 4, WC_SIZE / 4);
    clear(words, extra / 4, format.extra / 4);
    const status = own.getUint32(CQ.status.offset, true);
    view.setBigUint64(base + WC.wr_id.offset, own.getBigUint64(CQ.wr_id.offset, true), true);
    view.setUint32(base + WC.status.offset, status, true);
    view.setUint32(base + WC.qp_num.offset, this.#verbs.ibv_wc_read_qp_num(cq), true);
    if (status === WcStatus.SUCCESS) {
      this.#readWc(cq, view, base);
      if (format.extra > 0) this.#readExtra(cq, view, extra);
    } else {
      view.setUint32(base + WC.vendor_err.offset, this.#verbs.ibv_wc_read_vendor_err(cq), true);
    }
  }

  #readWc(cq: IbvCqEx, view: DataView, base: number): void {
    const v = this.#verbs;
    const flags = this.#flags;
    const wcFlags = v.ibv_wc_read_wc_flags(cq);
    view.setUint32(base + WC.opcode.offset, v.ibv_wc_read_opcode(cq), true);
    view.setUint32(base + WC.wc_flags.offset, wcFlags, true);
    if (flags & F.WITH_BYTE_LEN) {
      view.setUint32(base + WC.byte_len.offset, v.ibv_wc_read_byte_len(cq), true);
    }
    if (flags & F.WITH_IMM && wcFlags & (WcFlags.WITH_IMM | WcFlags.WITH_INV)) {
      const isInv = (wcFlags & WcFlags.WITH_INV) !== 0;
      const imm = isInv ? v.ibv_wc_read_invalidated_rkey(cq) : v.ibv_wc_read_imm_data(cq);
      view.setUint32(base + WC.imm_data.offset, imm, true);
    }
    if (flags & F.WITH_SRC_QP) {
      view.setUint32(base + WC.src_qp.offset, v.ibv_wc_read_src_qp(cq), true);
    }
    if (flags & F.WITH_SLID) view.setUint16(base + WC.slid.offset, v.ibv_wc_read_slid(cq), true);
    if (flags & F.WITH_SL) view.setUint8(base + WC.sl.offset, v.ibv_wc_read_sl(cq));
    if (flags & F.WITH_DLID_PATH_BITS) {
      view.setUint8(base + WC.dlid_path_bits.offset, v.ibv_wc_read_dlid_path_bits(cq));
    }
  }

  #readExtra(cq: IbvCqEx, view: DataView, extra: number): void {
    const v = this.#verbs;
    const flags = this.#flags;
    if (flags & F.WITH_COMPLETION_TIMESTAMP) {
      view.setBigUint64(extra + EXTRA.completionTs, v.ibv_wc_read_completion_ts(cq), true);
    }
    if (flags & F.WITH_COMPLETION_TIMESTAMP_WALLCLOCK) {
      const time = v.ibv_wc_read_completion_wallclock_ns(cq);
      view.setBigUint64(extra + EXTRA.completionWallclockNs, time, true);
    }
    if (flags & F.WITH_CVLAN) view.setUint16(extra + EXTRA.cvlan, v.ibv_wc_read_cvlan(cq), true);
    if (flags & F.WITH_FLOW_TAG) {
      view.setUint32(extra + EXTRA.flowTag, v.ibv_wc_read_flow_tag(cq), true);
    }
    if (flags & F.WITH_TM_INFO) {
      v.ibv_wc_read_tm_info(cq, this.#tmPointer);
      view.setBigUint64(extra + EXTRA.tmTag, this.#tm.getBigUint64(TM.tag.offset, true), true);
      view.setUint32(extra + EXTRA.tmPriv, this.#tm.getUint32(TM.priv.offset, true), true);
    }
  }
}

/** For so few words the built-in `fill()` takes longer: see "Help for V8" in docs/performance.md. */
function clear(words: Int32Array, start: number, count: number): void {
  for (let i = start; i < start + count; i++) words[i] = 0;
}
