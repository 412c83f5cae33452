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
  constructor(cq: IbvCqEx, flags: number) {
    super();
    this.#cq = nativeView(cq, structs.ibv_cq_ex.size);
    this.#flags = flags;
  }

  protected override makeBatch(capacity: number): WorkCompletionsEx {
    return new WorkCompletionsEx(capacity);
  }

  protected override fetch(handle: IbvCq, batch: WorkCompletions, most: number): number {
    const cq = handle as Deno.PointerObject as IbvCqEx;
    const result = this.#start(cq, this.#attr);
    if (result !== 0) return errnoName(result) === "ENOENT" ? 0 : -Math.abs(result);
    let count = 0;
    // An error of ibv_next_poll is left to the next poll, so that the completions before it are not lost.
    do this.#read(cq, batch, count++); while (count < most && this.#next(cq) === 0);
    this.#end(cq);
    return count;
  }

  #read(cq: IbvCqEx, batch: WorkCompletions, index: number): void {
    const view = viewOf(batch);
    const base = index * WC_SIZE;
    const status = this.#cq.getUint32(CQ.status.offset, true);
    view.setUint32(base + WC.wr_id.offset, this.#cq.getUint32(CQ.wr_id.offset, true), true);
    view.setUint32(base + WC.wr_id.offset + 4, this.#cq.getUint32(CQ.wr_id.offset + 4, true), true);
    view.setUint32(base + WC.status.offset, status, true);
    view.setUint32(base + WC.qp_num.offset, this.#qpNum(cq), true);
    const ok = status === WcStatus.SUCCESS;
    view.setUint32(base + WC.opcode.offset, ok ? this.#opcode(cq) : 0, true);
    view.setUint32(base + WC.vendor_err.offset, ok ? 0 : this.#vendorErr(cq), true);
    // Nothing else of a failed request is valid.
    this.#readMore(cq, view, base, ok ? this.#flags : 0, ok);
    if (extraOf(batch) !== 0) {
      const extra = capacityOf(batch) * WC_SIZE + index * EXTRA.size;
      this.#readExtra(cq, view, extra, ok ? this.#flags : 0);
    }
  }

  #readMore(cq: IbvCqEx, view: DataView, base: number, flags: number, ok: boolean): void {
    const F = CreateCqWcFlags;
    const wcFlags = ok ? this.#wcFlags(cq) : 0;
    view.setUint32(base + WC.wc_flags.offset, wcFlags, true);
    const byteLen = flags & F.WITH_BYTE_LEN ? this.#byteLen(cq) : 0;
    view.setUint32(base + WC.byte_len.offset, byteLen, true);
    view.setUint32(base + WC.imm_data.offset, this.#readImm(cq, flags, wcFlags), true);
    view.setUint32(base + WC.src_qp.offset, flags & F.WITH_SRC_QP ? this.#srcQp(cq) : 0, true);
    view.setUint16(base + WC.slid.offset, flags & F.WITH_SLID ? this.#slid(cq) : 0, true);
    view.setUint8(base + WC.sl.offset, flags & F.WITH_SL ? this.#sl(cq) : 0);
    const pathBits = flags & F.WITH_DLID_PATH_BITS ? this.#pathBits(cq) : 0;
    view.setUint8(base + WC.dlid_path_bits.offset, pathBits);
  }

  /** The bytes of the union of immediate data and invalidated rkey. */
  #readImm(cq: IbvCqEx, flags: number, wcFlags: number): number {
    if (!(flags & CreateCqWcFlags.WITH_IMM) || !(wcFlags & HAS_IMM)) return 0;
    return wcFlags & WcFlags.WITH_INV ? this.#invalidatedRkey(cq) : this.#immData(cq);
  }

  #readExtra(cq: IbvCqEx, view: DataView, extra: number, flags: number): void {
    const F = CreateCqWcFlags;
    const ts = flags & F.WITH_COMPLETION_TIMESTAMP ? this.#ts(cq) : 0n;
    view.setBigUint64(extra + EXTRA.completionTs, ts, true);
    const wallclock = flags & F.WITH_COMPLETION_TIMESTAMP_WALLCLOCK ? this.#wallclock(cq) : 0n;
    view.setBigUint64(extra + EXTRA.completionWallclockNs, wallclock, true);
    view.setUint16(extra + EXTRA.cvlan, flags & F.WITH_CVLAN ? this.#cvlan(cq) : 0, true);
    view.setUint32(extra + EXTRA.flowTag, flags & F.WITH_FLOW_TAG ? this.#flowTag(cq) : 0, true);
    const tm = (flags & F.WITH_TM_INFO) !== 0;
    if (tm) this.#tmInfo(cq, this.#tmPointer);
    const tag = tm ? this.#tm.getBigUint64(TM.tag.offset, true) : 0n;
    view.setBigUint64(extra + EXTRA.tmTag, tag, true);
    const priv = tm ? this.#tm.getUint32(TM.priv.offset, true) : 0;
    view.setUint32(extra + EXTRA.tmPriv, priv, true);
  }
}
