/**
 * Extended completion queues and completion counters.
 *
 * @module
 */

import type { IbvCompCntr, IbvContext, IbvCq, IbvCqEx } from "../handles.ts";
import { Buffer, CompCntr, Context, CqEx, Pointer } from "../parameters.ts";
import { cqExToCq, queryCompCntrCaps } from "../table/header.ts";
import type { Table } from "../table/row.ts";

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
   *
   * Newer than rdma-core 44.
   */
  ibv_query_comp_cntr_caps(context: IbvContext, caps: BufferSource): number;
  /**
   * `int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t caps_size)`
   *
   * Newer than rdma-core 44.
   */
  _ibv_query_comp_cntr_caps(context: IbvContext, caps: BufferSource, caps_size: bigint): number;
  /**
   * `struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *cc_attr)`
   *
   * Newer than rdma-core 44.
   */
  ibv_create_comp_cntr(context: IbvContext, cc_attr: BufferSource): IbvCompCntr | null;
  /**
   * `int ibv_destroy_comp_cntr(struct ibv_comp_cntr *comp_cntr)`
   *
   * Newer than rdma-core 44.
   */
  ibv_destroy_comp_cntr(comp_cntr: IbvCompCntr): number;
  /**
   * `int ibv_set_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value)`
   *
   * Newer than rdma-core 44.
   */
  ibv_set_comp_cntr(comp_cntr: IbvCompCntr, value: bigint): number;
  /**
   * `int ibv_set_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value)`
   *
   * Newer than rdma-core 44.
   */
  ibv_set_err_comp_cntr(comp_cntr: IbvCompCntr, value: bigint): number;
  /**
   * `int ibv_inc_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount)`
   *
   * Newer than rdma-core 44.
   */
  ibv_inc_comp_cntr(comp_cntr: IbvCompCntr, amount: bigint): number;
  /**
   * `int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount)`
   *
   * Newer than rdma-core 44.
   */
  ibv_inc_err_comp_cntr(comp_cntr: IbvCompCntr, amount: bigint): number;
  /**
   * `int ibv_read_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value)`
   *
   * Newer than rdma-core 44.
   */
  ibv_read_comp_cntr(comp_cntr: IbvCompCntr, value: BufferSource): number;
  /**
   * `int ibv_read_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value)`
   *
   * Newer than rdma-core 44.
   */
  ibv_read_err_comp_cntr(comp_cntr: IbvCompCntr, value: BufferSource): number;
}

/** The table of verbs of extended completion queues and completion counters. */
export const cqExVerbs: Table<CqExVerbs> = {
  ibv_create_cq_ex: {
    op: ["ibv_context", "vctx", "create_cq_ex"],
    parameters: [Context, Buffer],
    result: CqEx,
    fails: "errno",
  },
  ibv_cq_ex_to_cq: { header: cqExToCq },
  ibv_start_poll: {
    op: ["ibv_cq_ex", "own", "start_poll"],
    hot: true,
    parameters: [CqEx, Pointer],
    result: "i32",
    fails: "code",
  },
  ibv_next_poll: {
    op: ["ibv_cq_ex", "own", "next_poll"],
    hot: true,
    parameters: [CqEx],
    result: "i32",
    fails: "code",
  },
  ibv_end_poll: {
    op: ["ibv_cq_ex", "own", "end_poll"],
    hot: true,
    parameters: [CqEx],
    result: "void",
    fails: "never",
  },
  ibv_wc_read_opcode: {
    op: ["ibv_cq_ex", "own", "read_opcode"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_vendor_err: {
    op: ["ibv_cq_ex", "own", "read_vendor_err"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_byte_len: {
    op: ["ibv_cq_ex", "own", "read_byte_len"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_imm_data: {
    op: ["ibv_cq_ex", "own", "read_imm_data"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_invalidated_rkey: {
    op: ["ibv_cq_ex", "own", "read_imm_data"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_qp_num: {
    op: ["ibv_cq_ex", "own", "read_qp_num"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_src_qp: {
    op: ["ibv_cq_ex", "own", "read_src_qp"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_wc_flags: {
    op: ["ibv_cq_ex", "own", "read_wc_flags"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_slid: {
    op: ["ibv_cq_ex", "own", "read_slid"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_sl: {
    op: ["ibv_cq_ex", "own", "read_sl"],
    hot: true,
    parameters: [CqEx],
    result: "u8",
    fails: "never",
  },
  ibv_wc_read_dlid_path_bits: {
    op: ["ibv_cq_ex", "own", "read_dlid_path_bits"],
    hot: true,
    parameters: [CqEx],
    result: "u8",
    fails: "never",
  },
  ibv_wc_read_completion_ts: {
    op: ["ibv_cq_ex", "own", "read_completion_ts"],
    hot: true,
    parameters: [CqEx],
    result: "u64",
    fails: "never",
  },
  ibv_wc_read_completion_wallclock_ns: {
    op: ["ibv_cq_ex", "own", "read_completion_wallclock_ns"],
    hot: true,
    parameters: [CqEx],
    result: "u64",
    fails: "never",
  },
  ibv_wc_read_cvlan: {
    op: ["ibv_cq_ex", "own", "read_cvlan"],
    hot: true,
    parameters: [CqEx],
    result: "u16",
    fails: "never",
  },
  ibv_wc_read_flow_tag: {
    op: ["ibv_cq_ex", "own", "read_flow_tag"],
    hot: true,
    parameters: [CqEx],
    result: "u32",
    fails: "never",
  },
  ibv_wc_read_tm_info: {
    op: ["ibv_cq_ex", "own", "read_tm_info"],
    hot: true,
    parameters: [CqEx, Pointer],
    result: "void",
    fails: "never",
  },
  ibv_query_comp_cntr_caps: { header: queryCompCntrCaps },
  _ibv_query_comp_cntr_caps: {
    parameters: [Context, Buffer, "usize"],
    result: "i32",
    fails: "code",
  },
  ibv_create_comp_cntr: { parameters: [Context, Buffer], result: CompCntr, fails: "errno" },
  ibv_destroy_comp_cntr: { parameters: [CompCntr], result: "i32", fails: "code" },
  ibv_set_comp_cntr: { parameters: [CompCntr, "u64"], result: "i32", fails: "code" },
  ibv_set_err_comp_cntr: { parameters: [CompCntr, "u64"], result: "i32", fails: "code" },
  ibv_inc_comp_cntr: { parameters: [CompCntr, "u64"], result: "i32", fails: "code" },
  ibv_inc_err_comp_cntr: { parameters: [CompCntr, "u64"], result: "i32", fails: "code" },
  ibv_read_comp_cntr: { parameters: [CompCntr, Buffer], result: "i32", fails: "code" },
  ibv_read_err_comp_cntr: { parameters: [CompCntr, Buffer], result: "i32", fails: "code" },
};
