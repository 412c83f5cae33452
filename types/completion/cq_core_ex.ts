import { errnoName } from "../../ffi/errno.ts";
import type { IbvCq, IbvCqEx } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { someVerbs } from "../../ffi/library.ts";
import { bufferPointer, nativeView } from "../../ffi/pointers.ts";
import { accessorsOf, allocStruct } from "../../ffi/struct.ts";
import type { Verbs } from "../../ffi/verbs.ts";
import { type BatchCore, CqCore, type Format } from "./cq_core.ts";
import { WcFlags, WcStatus } from "./work_completion.ts";
import {
  CreateCqWcFlags,
  EXTENDED,
  Extra,
  type WorkCompletionEx,
} from "./work_completion_list_ex.ts";

const { size: WC_SIZE } = structs.ibv_wc;
const { wr_id: WR_ID, status: STATUS } = structs.ibv_cq_ex.fields;
const NativeCq = accessorsOf({ wr_id: WR_ID, status: STATUS });
const Wc = accessorsOf(structs.ibv_wc.fields);
const TmInfo = accessorsOf(structs.ibv_wc_tm_info.fields);
const F = CreateCqWcFlags;

type Poll = `ibv_${"start" | "next" | "end"}_poll`;

/**
 * Polls by `ibv_start_poll`, `ibv_next_poll` and `ibv_end_poll`. Providers hold locks in between, so no code of the caller
 * runs there: each poll copies all values that the queue was created for, and ends.
 */
export class CqCoreEx<C = WorkCompletionEx> extends CqCore<C> {
  protected override readonly verb = "ibv_start_poll";
  /** The native object, whose `wr_id` and `status` change with each completion. */
  readonly #cq: InstanceType<typeof NativeCq>;
  readonly #flags: number;
  /** Says, at the first poll, whether each completion needs a poll of its own. */
  readonly #polls: () => boolean;
  #isSingle: boolean | undefined;
  readonly #attr: Deno.PointerObject = bufferPointer(allocStruct(structs.ibv_poll_cq_attr));
  readonly #tm: InstanceType<typeof TmInfo>;
  readonly #tmPointer: Deno.PointerObject;
  readonly #verbs: Pick<Verbs, Poll | keyof Verbs & `ibv_wc_read_${string}`>;

  /** Polls a queue that was created for these `CreateCqWcFlags`. */
  constructor(
    cq: IbvCqEx,
    flags: number,
    isSingle: () => boolean,
    format: Format<C> = EXTENDED as Format<unknown> as Format<C>,
  ) {
    super(format);
    this.#polls = isSingle;
    this.#cq = new NativeCq(nativeView(cq, structs.ibv_cq_ex.size));
    this.#flags = flags;
    const tm = allocStruct(structs.ibv_wc_tm_info);
    this.#tm = new TmInfo(tm);
    this.#tmPointer = bufferPointer(tm);
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
    const base = index * WC_SIZE;
    const extra = batch.extraAt(index);
    clear(words, base / 4, WC_SIZE / 4);
    clear(words, extra / 4, format.extra / 4);
    const { status, wr_id } = this.#cq;
    const wc = new Wc(view, base);
    wc.wr_id = wr_id;
    wc.status = status;
    const number = wc.qp_num = this.#verbs.ibv_wc_read_qp_num(cq);
    if (status === WcStatus.SUCCESS) {
      this.#readWc(cq, wc);
      if (format.extra > 0) this.readExtra(cq, batch, extra);
      return;
    }
    wc.vendor_err = this.#verbs.ibv_wc_read_vendor_err(cq);
    if (this.senders.get(number)?.countsFailed) wc.opcode = this.#verbs.ibv_wc_read_opcode(cq);
  }

  #readWc(cq: IbvCqEx, wc: InstanceType<typeof Wc>): void {
    const v = this.#verbs;
    const flags = this.#flags;
    const wcFlags = v.ibv_wc_read_wc_flags(cq);
    wc.opcode = v.ibv_wc_read_opcode(cq);
    wc.wc_flags = wcFlags;
    if (flags & F.BYTE_LEN) wc.byte_len = v.ibv_wc_read_byte_len(cq);
    if (flags & F.IMM && wcFlags & (WcFlags.WITH_IMM | WcFlags.WITH_INV)) {
      const isInv = (wcFlags & WcFlags.WITH_INV) !== 0;
      // Immediate data is at the same place, and is in network byte order already.
      wc.invalidated_rkey = isInv ? v.ibv_wc_read_invalidated_rkey(cq) : v.ibv_wc_read_imm_data(cq);
    }
    if (flags & F.SRC_QP) wc.src_qp = v.ibv_wc_read_src_qp(cq);
    if (flags & F.SLID) wc.slid = v.ibv_wc_read_slid(cq);
    if (flags & F.SL) wc.sl = v.ibv_wc_read_sl(cq);
    if (flags & F.DLID_PATH_BITS) wc.dlid_path_bits = v.ibv_wc_read_dlid_path_bits(cq);
  }

  /** Reads what only such queues report to the extra bytes of a completion, which start at an offset. */
  protected readExtra(cq: IbvCqEx, { view }: BatchCore<unknown>, at: number): void {
    const extra = new Extra(view, at);
    const v = this.#verbs;
    const flags = this.#flags;
    if (flags & F.COMPLETION_TIMESTAMP) extra.completionTs = v.ibv_wc_read_completion_ts(cq);
    if (flags & F.COMPLETION_TIMESTAMP_WALLCLOCK) {
      extra.completionWallclockNs = v.ibv_wc_read_completion_wallclock_ns(cq);
    }
    if (flags & F.CVLAN) extra.cvlan = v.ibv_wc_read_cvlan(cq);
    if (flags & F.FLOW_TAG) extra.flowTag = v.ibv_wc_read_flow_tag(cq);
    if (flags & F.TM_INFO) {
      v.ibv_wc_read_tm_info(cq, this.#tmPointer);
      extra.tmTag = this.#tm.tag;
      extra.tmPriv = this.#tm.priv;
    }
  }
}

/** For this few words the built-in `fill()` takes longer: see "Help for V8" in docs/performance.md. */
function clear(words: Int32Array, start: number, count: number): void {
  for (let i = start; i < start + count; i++) words[i] = 0;
}
