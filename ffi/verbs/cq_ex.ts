/** Extended completion queues and completion counters. */

import type { IbvCompCntr, IbvContext, IbvCq, IbvCqEx } from "../handles.ts";
import { Buffer, CompCntr, Context, CqEx, Pointer } from "../parameters.ts";
import { cqExToCq, queryCompCntrCaps } from "../table/header.ts";
import { exported, type OpRow, own, type OwnOps, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of extended completion queues and completion counters.
 *
 * @category Prototypes of verbs
 */
export interface CqExVerbs {
  /** `struct ibv_cq_ex *ibv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *cq_attr)` */
  ibv_create_cq_ex(context: IbvContext, cq_attr: BufferSource): IbvCqEx | null;
  /** `struct ibv_cq *ibv_cq_ex_to_cq(struct ibv_cq_ex *cq)` */
  ibv_cq_ex_to_cq(cq: IbvCqEx): IbvCq | null;
  /** `int ibv_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)` */
  ibv_start_poll(cq: IbvCqEx, attr: Deno.PointerValue): number;
  /** `int ibv_next_poll(struct ibv_cq_ex *cq)` */
  ibv_next_poll(cq: IbvCqEx): number;
  /** `void ibv_end_poll(struct ibv_cq_ex *cq)` */
  ibv_end_poll(cq: IbvCqEx): void;
  /** `enum ibv_wc_opcode ibv_wc_read_opcode(struct ibv_cq_ex *cq)` */
  ibv_wc_read_opcode(cq: IbvCqEx): number;
  /** `uint32_t ibv_wc_read_vendor_err(struct ibv_cq_ex *cq)` */
  ibv_wc_read_vendor_err(cq: IbvCqEx): number;
  /** `uint32_t ibv_wc_read_byte_len(struct ibv_cq_ex *cq)` */
  ibv_wc_read_byte_len(cq: IbvCqEx): number;
  /** `__be32 ibv_wc_read_imm_data(struct ibv_cq_ex *cq)` */
  ibv_wc_read_imm_data(cq: IbvCqEx): number;
  /** `uint32_t ibv_wc_read_invalidated_rkey(struct ibv_cq_ex *cq)` */
  ibv_wc_read_invalidated_rkey(cq: IbvCqEx): number;
  /** `uint32_t ibv_wc_read_qp_num(struct ibv_cq_ex *cq)` */
  ibv_wc_read_qp_num(cq: IbvCqEx): number;
  /** `uint32_t ibv_wc_read_src_qp(struct ibv_cq_ex *cq)` */
  ibv_wc_read_src_qp(cq: IbvCqEx): number;
  /** `unsigned int ibv_wc_read_wc_flags(struct ibv_cq_ex *cq)` */
  ibv_wc_read_wc_flags(cq: IbvCqEx): number;
  /** `uint32_t ibv_wc_read_slid(struct ibv_cq_ex *cq)` */
  ibv_wc_read_slid(cq: IbvCqEx): number;
  /** `uint8_t ibv_wc_read_sl(struct ibv_cq_ex *cq)` */
  ibv_wc_read_sl(cq: IbvCqEx): number;
  /** `uint8_t ibv_wc_read_dlid_path_bits(struct ibv_cq_ex *cq)` */
  ibv_wc_read_dlid_path_bits(cq: IbvCqEx): number;
  /** `uint64_t ibv_wc_read_completion_ts(struct ibv_cq_ex *cq)` */
  ibv_wc_read_completion_ts(cq: IbvCqEx): bigint;
  /** `uint64_t ibv_wc_read_completion_wallclock_ns(struct ibv_cq_ex *cq)` */
  ibv_wc_read_completion_wallclock_ns(cq: IbvCqEx): bigint;
  /** `uint16_t ibv_wc_read_cvlan(struct ibv_cq_ex *cq)` */
  ibv_wc_read_cvlan(cq: IbvCqEx): number;
  /** `uint32_t ibv_wc_read_flow_tag(struct ibv_cq_ex *cq)` */
  ibv_wc_read_flow_tag(cq: IbvCqEx): number;
  /** `void ibv_wc_read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *tm_info)` */
  ibv_wc_read_tm_info(cq: IbvCqEx, tm_info: Deno.PointerValue): void;
  /**
   * `int ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps)`
   */
  ibv_query_comp_cntr_caps(context: IbvContext, caps: BufferSource): number;
  /**
   * `int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t caps_size)`
   */
  _ibv_query_comp_cntr_caps(context: IbvContext, caps: BufferSource, caps_size: bigint): number;
  /**
   * `struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *cc_attr)`
   */
  ibv_create_comp_cntr(context: IbvContext, cc_attr: BufferSource): IbvCompCntr | null;
  /** `int ibv_destroy_comp_cntr(struct ibv_comp_cntr *comp_cntr)` */
  ibv_destroy_comp_cntr(comp_cntr: IbvCompCntr): number;
  /** `int ibv_set_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value)` */
  ibv_set_comp_cntr(comp_cntr: IbvCompCntr, value: bigint): number;
  /** `int ibv_set_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value)` */
  ibv_set_err_comp_cntr(comp_cntr: IbvCompCntr, value: bigint): number;
  /** `int ibv_inc_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount)` */
  ibv_inc_comp_cntr(comp_cntr: IbvCompCntr, amount: bigint): number;
  /** `int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount)` */
  ibv_inc_err_comp_cntr(comp_cntr: IbvCompCntr, amount: bigint): number;
  /** `int ibv_read_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value)` */
  ibv_read_comp_cntr(comp_cntr: IbvCompCntr, value: BufferSource): number;
  /** `int ibv_read_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value)` */
  ibv_read_err_comp_cntr(comp_cntr: IbvCompCntr, value: BufferSource): number;
}

/** The row of a verb that reads a value of the current completion. */
function reader<const R>(
  op: OwnOps["ibv_cq_ex"],
  result: R,
): OpRow<readonly [typeof CqEx], R> {
  return own("ibv_cq_ex", op, [CqEx], result, "never", { hot: true });
}

/** The table of verbs of extended completion queues and completion counters. */
export const cqExVerbs: Table<CqExVerbs> = {
  ibv_create_cq_ex: vctx("ibv_context", "create_cq_ex", [Context, Buffer], CqEx, "errno"),
  ibv_cq_ex_to_cq: { header: cqExToCq },
  ibv_start_poll: own("ibv_cq_ex", "start_poll", [CqEx, Pointer], "i32", "code", { hot: true }),
  ibv_next_poll: own("ibv_cq_ex", "next_poll", [CqEx], "i32", "code", { hot: true }),
  ibv_end_poll: own("ibv_cq_ex", "end_poll", [CqEx], "void", "never", { hot: true }),
  ibv_wc_read_opcode: reader("read_opcode", "u32"),
  ibv_wc_read_vendor_err: reader("read_vendor_err", "u32"),
  ibv_wc_read_byte_len: reader("read_byte_len", "u32"),
  ibv_wc_read_imm_data: reader("read_imm_data", "u32"),
  ibv_wc_read_invalidated_rkey: reader("read_imm_data", "u32"),
  ibv_wc_read_qp_num: reader("read_qp_num", "u32"),
  ibv_wc_read_src_qp: reader("read_src_qp", "u32"),
  ibv_wc_read_wc_flags: reader("read_wc_flags", "u32"),
  ibv_wc_read_slid: reader("read_slid", "u32"),
  ibv_wc_read_sl: reader("read_sl", "u8"),
  ibv_wc_read_dlid_path_bits: reader("read_dlid_path_bits", "u8"),
  ibv_wc_read_completion_ts: reader("read_completion_ts", "u64"),
  ibv_wc_read_completion_wallclock_ns: reader("read_completion_wallclock_ns", "u64"),
  ibv_wc_read_cvlan: reader("read_cvlan", "u16"),
  ibv_wc_read_flow_tag: reader("read_flow_tag", "u32"),
  ibv_wc_read_tm_info: own("ibv_cq_ex", "read_tm_info", [CqEx, Pointer], "void", "never", {
    hot: true,
  }),
  ibv_query_comp_cntr_caps: { header: queryCompCntrCaps },
  _ibv_query_comp_cntr_caps: exported([Context, Buffer, "usize"], "i32", "code"),
  ibv_create_comp_cntr: exported([Context, Buffer], CompCntr, "errno"),
  ibv_destroy_comp_cntr: exported([CompCntr], "i32", "code"),
  ibv_set_comp_cntr: exported([CompCntr, "u64"], "i32", "code"),
  ibv_set_err_comp_cntr: exported([CompCntr, "u64"], "i32", "code"),
  ibv_inc_comp_cntr: exported([CompCntr, "u64"], "i32", "code"),
  ibv_inc_err_comp_cntr: exported([CompCntr, "u64"], "i32", "code"),
  ibv_read_comp_cntr: exported([CompCntr, Buffer], "i32", "code"),
  ibv_read_err_comp_cntr: exported([CompCntr, Buffer], "i32", "code"),
};
