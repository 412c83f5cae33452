/**
 * The static-inline verbs of `verbs.h`. They have no symbol: the header jumps through a function pointer in
 * `ibv_context.ops`, in the `verbs_context` that encloses the context, or in the object itself. This file is the one
 * place that knows where each pointer lives.
 *
 * @module
 */

import type { IbvContext } from "./handles.ts";
import { type Field, type Structs, structs } from "./layout.ts";
import { Ah, Context, Cq, CqEx, Qp, QpEx, Srq, Table, Wq } from "./parameters.ts";
import { readNative } from "./struct.ts";

/** A struct of ours that is made for the call. */
const Buffer = "buffer";
/** A struct of ours that is made once and reused: passing its pointer is 5 ns cheaper than passing its buffer. */
const Pointer = "pointer";

/** Ops that `ibv_context.ops` holds itself; its other slots are frozen compatibility entries. */
export type ContextOp = "poll_cq" | "req_notify_cq" | "post_srq_recv" | "post_send" | "post_recv";
/** Fields of `verbs_context`, the ops among them. */
export type ExtendedField = keyof Structs["verbs_context"]["fields"];

/** Where a verb's function pointer lives, seen from its first argument, which is a struct `of` that tag. */
export type Op =
  | { readonly of: "ibv_cq" | "ibv_qp" | "ibv_srq"; readonly contextOp: ContextOp }
  | {
    readonly of: "ibv_context" | "ibv_wq" | "ibv_rwq_ind_table";
    readonly extendedOp: ExtendedField;
  }
  | { readonly of: "ibv_wq"; readonly ownOp: "post_recv" }
  | { readonly of: "ibv_qp_ex"; readonly ownOp: keyof Structs["ibv_qp_ex"]["fields"] }
  | { readonly of: "ibv_cq_ex"; readonly ownOp: keyof Structs["ibv_cq_ex"]["fields"] };

/** A static-inline verb: where its function pointer lives, and its prototype. */
export interface Inline {
  /** Where its function pointer lives. */
  readonly op: Op;
  /** Whether it reports by errno. */
  readonly errno?: true;
  /** Its C prototype. */
  readonly definition: Deno.ForeignFunction;
}

/** Static-inline verbs by name. */
export const inlineVerbs = {
  // int ibv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
  ibv_poll_cq: {
    op: { of: "ibv_cq", contextOp: "poll_cq" },
    definition: { parameters: [Cq, "i32", Pointer], result: "i32" },
  },
  // int ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only)
  ibv_req_notify_cq: {
    op: { of: "ibv_cq", contextOp: "req_notify_cq" },
    definition: { parameters: [Cq, "i32"], result: "i32" },
  },
  // int ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
  ibv_post_send: {
    op: { of: "ibv_qp", contextOp: "post_send" },
    definition: { parameters: [Qp, Pointer, Pointer], result: "i32" },
  },
  // int ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
  ibv_post_recv: {
    op: { of: "ibv_qp", contextOp: "post_recv" },
    definition: { parameters: [Qp, Pointer, Pointer], result: "i32" },
  },
  // int ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr)
  ibv_post_srq_recv: {
    op: { of: "ibv_srq", contextOp: "post_srq_recv" },
    definition: { parameters: [Srq, Pointer, Pointer], result: "i32" },
  },
  // int ibv_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr)
  ibv_post_wq_recv: {
    op: { of: "ibv_wq", ownOp: "post_recv" },
    definition: { parameters: [Wq, Pointer, Pointer], result: "i32" },
  },
  // int ibv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr)
  // (the op takes the size of attr as well)
  ibv_query_device_ex: {
    op: { of: "ibv_context", extendedOp: "query_device_ex" },
    definition: { parameters: [Context, Buffer, Buffer, "usize"], result: "i32" },
  },
  // int ___ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr)
  // (what the macro ibv_query_port stands for; the op takes the size of port_attr as well)
  ___ibv_query_port: {
    op: { of: "ibv_context", extendedOp: "query_port" },
    definition: { parameters: [Context, "u8", Buffer, "usize"], result: "i32" },
  },
  // struct ibv_qp *ibv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_init_attr_ex)
  ibv_create_qp_ex: {
    op: { of: "ibv_context", extendedOp: "create_qp_ex" },
    errno: true,
    definition: { parameters: [Context, Buffer], result: Qp },
  },
  // struct ibv_wq *ibv_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *wq_init_attr)
  ibv_create_wq: {
    op: { of: "ibv_context", extendedOp: "create_wq" },
    errno: true,
    definition: { parameters: [Context, Buffer], result: Wq },
  },
  // int ibv_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *wq_attr)
  ibv_modify_wq: {
    op: { of: "ibv_wq", extendedOp: "modify_wq" },
    definition: { parameters: [Wq, Buffer], result: "i32" },
  },
  // int ibv_destroy_wq(struct ibv_wq *wq)
  ibv_destroy_wq: {
    op: { of: "ibv_wq", extendedOp: "destroy_wq" },
    definition: { parameters: [Wq], result: "i32" },
  },
  // struct ibv_rwq_ind_table *ibv_create_rwq_ind_table(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *init_attr)
  ibv_create_rwq_ind_table: {
    op: { of: "ibv_context", extendedOp: "create_rwq_ind_table" },
    errno: true,
    definition: { parameters: [Context, Buffer], result: Table },
  },
  // int ibv_destroy_rwq_ind_table(struct ibv_rwq_ind_table *rwq_ind_table)
  ibv_destroy_rwq_ind_table: {
    op: { of: "ibv_rwq_ind_table", extendedOp: "destroy_rwq_ind_table" },
    definition: { parameters: [Table], result: "i32" },
  },
  // void ibv_wr_start(struct ibv_qp_ex *qp)
  ibv_wr_start: {
    op: { of: "ibv_qp_ex", ownOp: "wr_start" },
    definition: { parameters: [QpEx], result: "void" },
  },
  // int ibv_wr_complete(struct ibv_qp_ex *qp)
  ibv_wr_complete: {
    op: { of: "ibv_qp_ex", ownOp: "wr_complete" },
    definition: { parameters: [QpEx], result: "i32" },
  },
  // void ibv_wr_abort(struct ibv_qp_ex *qp)
  ibv_wr_abort: {
    op: { of: "ibv_qp_ex", ownOp: "wr_abort" },
    definition: { parameters: [QpEx], result: "void" },
  },
  // void ibv_wr_send(struct ibv_qp_ex *qp)
  ibv_wr_send: {
    op: { of: "ibv_qp_ex", ownOp: "wr_send" },
    definition: { parameters: [QpEx], result: "void" },
  },
  // void ibv_wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)
  ibv_wr_send_imm: {
    op: { of: "ibv_qp_ex", ownOp: "wr_send_imm" },
    definition: { parameters: [QpEx, "u32"], result: "void" },
  },
  // void ibv_wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
  ibv_wr_set_ud_addr: {
    op: { of: "ibv_qp_ex", ownOp: "wr_set_ud_addr" },
    definition: { parameters: [QpEx, Ah, "u32", "u32"], result: "void" },
  },
  // void ibv_wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
  ibv_wr_set_sge: {
    op: { of: "ibv_qp_ex", ownOp: "wr_set_sge" },
    definition: { parameters: [QpEx, "u32", "u64", "u32"], result: "void" },
  },
  // int ibv_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
  ibv_start_poll: {
    op: { of: "ibv_cq_ex", ownOp: "start_poll" },
    definition: { parameters: [CqEx, Pointer], result: "i32" },
  },
  // int ibv_next_poll(struct ibv_cq_ex *cq)
  ibv_next_poll: {
    op: { of: "ibv_cq_ex", ownOp: "next_poll" },
    definition: { parameters: [CqEx], result: "i32" },
  },
  // void ibv_end_poll(struct ibv_cq_ex *cq)
  ibv_end_poll: {
    op: { of: "ibv_cq_ex", ownOp: "end_poll" },
    definition: { parameters: [CqEx], result: "void" },
  },
  // void ibv_wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap)
  ibv_wr_atomic_cmp_swp: {
    op: { of: "ibv_qp_ex", ownOp: "wr_atomic_cmp_swp" },
    definition: { parameters: [QpEx, "u32", "u64", "u64", "u64"], result: "void" },
  },
  // void ibv_wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t add)
  ibv_wr_atomic_fetch_add: {
    op: { of: "ibv_qp_ex", ownOp: "wr_atomic_fetch_add" },
    definition: { parameters: [QpEx, "u32", "u64", "u64"], result: "void" },
  },
  // void ibv_wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *bind_info)
  ibv_wr_bind_mw: {
    op: { of: "ibv_qp_ex", ownOp: "wr_bind_mw" },
    definition: { parameters: [QpEx, Pointer, "u32", Pointer], result: "void" },
  },
  // void ibv_wr_local_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
  ibv_wr_local_inv: {
    op: { of: "ibv_qp_ex", ownOp: "wr_local_inv" },
    definition: { parameters: [QpEx, "u32"], result: "void" },
  },
  // void ibv_wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
  ibv_wr_rdma_read: {
    op: { of: "ibv_qp_ex", ownOp: "wr_rdma_read" },
    definition: { parameters: [QpEx, "u32", "u64"], result: "void" },
  },
  // void ibv_wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
  ibv_wr_rdma_write: {
    op: { of: "ibv_qp_ex", ownOp: "wr_rdma_write" },
    definition: { parameters: [QpEx, "u32", "u64"], result: "void" },
  },
  // void ibv_wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
  ibv_wr_rdma_write_imm: {
    op: { of: "ibv_qp_ex", ownOp: "wr_rdma_write_imm" },
    definition: { parameters: [QpEx, "u32", "u64", "u32"], result: "void" },
  },
  // void ibv_wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
  ibv_wr_send_inv: {
    op: { of: "ibv_qp_ex", ownOp: "wr_send_inv" },
    definition: { parameters: [QpEx, "u32"], result: "void" },
  },
  // void ibv_wr_send_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss)
  ibv_wr_send_tso: {
    op: { of: "ibv_qp_ex", ownOp: "wr_send_tso" },
    definition: { parameters: [QpEx, Pointer, "u16", "u16"], result: "void" },
  },
  // void ibv_wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
  ibv_wr_set_xrc_srqn: {
    op: { of: "ibv_qp_ex", ownOp: "wr_set_xrc_srqn" },
    definition: { parameters: [QpEx, "u32"], result: "void" },
  },
  // void ibv_wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
  ibv_wr_set_inline_data: {
    op: { of: "ibv_qp_ex", ownOp: "wr_set_inline_data" },
    definition: { parameters: [QpEx, Pointer, "usize"], result: "void" },
  },
  // void ibv_wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf, const struct ibv_data_buf *buf_list)
  ibv_wr_set_inline_data_list: {
    op: { of: "ibv_qp_ex", ownOp: "wr_set_inline_data_list" },
    definition: { parameters: [QpEx, "usize", Pointer], result: "void" },
  },
  // void ibv_wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge, const struct ibv_sge *sg_list)
  ibv_wr_set_sge_list: {
    op: { of: "ibv_qp_ex", ownOp: "wr_set_sge_list" },
    definition: { parameters: [QpEx, "usize", Pointer], result: "void" },
  },
  // void ibv_wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
  ibv_wr_atomic_write: {
    op: { of: "ibv_qp_ex", ownOp: "wr_atomic_write" },
    definition: { parameters: [QpEx, "u32", "u64", Pointer], result: "void" },
  },
  // enum ibv_wc_opcode ibv_wc_read_opcode(struct ibv_cq_ex *cq)
  ibv_wc_read_opcode: {
    op: { of: "ibv_cq_ex", ownOp: "read_opcode" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // uint32_t ibv_wc_read_vendor_err(struct ibv_cq_ex *cq)
  ibv_wc_read_vendor_err: {
    op: { of: "ibv_cq_ex", ownOp: "read_vendor_err" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // uint32_t ibv_wc_read_byte_len(struct ibv_cq_ex *cq)
  ibv_wc_read_byte_len: {
    op: { of: "ibv_cq_ex", ownOp: "read_byte_len" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // __be32 ibv_wc_read_imm_data(struct ibv_cq_ex *cq)
  ibv_wc_read_imm_data: {
    op: { of: "ibv_cq_ex", ownOp: "read_imm_data" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // uint32_t ibv_wc_read_invalidated_rkey(struct ibv_cq_ex *cq)
  ibv_wc_read_invalidated_rkey: {
    op: { of: "ibv_cq_ex", ownOp: "read_imm_data" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // uint32_t ibv_wc_read_qp_num(struct ibv_cq_ex *cq)
  ibv_wc_read_qp_num: {
    op: { of: "ibv_cq_ex", ownOp: "read_qp_num" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // uint32_t ibv_wc_read_src_qp(struct ibv_cq_ex *cq)
  ibv_wc_read_src_qp: {
    op: { of: "ibv_cq_ex", ownOp: "read_src_qp" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // unsigned int ibv_wc_read_wc_flags(struct ibv_cq_ex *cq)
  ibv_wc_read_wc_flags: {
    op: { of: "ibv_cq_ex", ownOp: "read_wc_flags" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // uint32_t ibv_wc_read_slid(struct ibv_cq_ex *cq)
  ibv_wc_read_slid: {
    op: { of: "ibv_cq_ex", ownOp: "read_slid" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // uint8_t ibv_wc_read_sl(struct ibv_cq_ex *cq)
  ibv_wc_read_sl: {
    op: { of: "ibv_cq_ex", ownOp: "read_sl" },
    definition: { parameters: [CqEx], result: "u8" },
  },
  // uint8_t ibv_wc_read_dlid_path_bits(struct ibv_cq_ex *cq)
  ibv_wc_read_dlid_path_bits: {
    op: { of: "ibv_cq_ex", ownOp: "read_dlid_path_bits" },
    definition: { parameters: [CqEx], result: "u8" },
  },
  // uint64_t ibv_wc_read_completion_ts(struct ibv_cq_ex *cq)
  ibv_wc_read_completion_ts: {
    op: { of: "ibv_cq_ex", ownOp: "read_completion_ts" },
    definition: { parameters: [CqEx], result: "u64" },
  },
  // uint64_t ibv_wc_read_completion_wallclock_ns(struct ibv_cq_ex *cq)
  ibv_wc_read_completion_wallclock_ns: {
    op: { of: "ibv_cq_ex", ownOp: "read_completion_wallclock_ns" },
    definition: { parameters: [CqEx], result: "u64" },
  },
  // uint16_t ibv_wc_read_cvlan(struct ibv_cq_ex *cq)
  ibv_wc_read_cvlan: {
    op: { of: "ibv_cq_ex", ownOp: "read_cvlan" },
    definition: { parameters: [CqEx], result: "u16" },
  },
  // uint32_t ibv_wc_read_flow_tag(struct ibv_cq_ex *cq)
  ibv_wc_read_flow_tag: {
    op: { of: "ibv_cq_ex", ownOp: "read_flow_tag" },
    definition: { parameters: [CqEx], result: "u32" },
  },
  // void ibv_wc_read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *tm_info)
  ibv_wc_read_tm_info: {
    op: { of: "ibv_cq_ex", ownOp: "read_tm_info" },
    definition: { parameters: [CqEx, Pointer], result: "void" },
  },
} as const satisfies Record<string, Inline>;

const context: Structs["ibv_context"]["fields"] = structs.ibv_context.fields;
const extended: Structs["verbs_context"]["fields"] = structs.verbs_context.fields;

function extendedOffset(field: ExtendedField): number {
  return extended[field].offset - extended.context.offset;
}

/** The chain of loads that leads from a verb's first argument to its function pointer, as offsets in bytes. */
export function opPath(op: Op): number[] {
  if ("ownOp" in op) {
    const fields: Readonly<Record<string, Field>> = structs[op.of].fields;
    return [fields[op.ownOp]!.offset];
  }
  const offset = "contextOp" in op
    ? context[`ops.${op.contextOp}`].offset
    : extendedOffset(op.extendedOp);
  return op.of === "ibv_context" ? [offset] : [structs[op.of].fields.context.offset, offset];
}

/** Whether a context has the extended op, by the header's own guards: the ABI marker, the struct's size, the pointer. */
export function hasExtendedOp(handle: IbvContext, op: ExtendedField): boolean {
  return isExtended(handle) &&
    extendedSize(handle) >= BigInt(structs.verbs_context.size - extended[op].offset) &&
    readNative(handle, { offset: extendedOffset(op), type: "ptr" }) !== 0n;
}

/** Whether a context's own ops table has the op. */
export function hasContextOp(handle: IbvContext, op: ContextOp): boolean {
  return readNative(handle, context[`ops.${op}`]) !== 0n;
}

/** `__VERBS_ABI_IS_EXTENDED`: all bits set. */
function isExtended(handle: IbvContext): boolean {
  return readNative(handle, context.abi_compat) === 0xffff_ffff_ffff_ffffn;
}

function extendedSize(handle: IbvContext): bigint {
  return readNative(handle, { offset: extendedOffset("sz"), type: "u64" });
}
