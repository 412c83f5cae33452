/**
 * The static-inline verbs of `verbs.h`. They have no symbol: the header jumps through a function pointer in
 * `ibv_context.ops`, in the `verbs_context` that encloses the context, or in the object itself. This file is the one
 * place that knows where each pointer lives.
 *
 * @module
 */

import type {
  IbvAh,
  IbvContext,
  IbvCq,
  IbvCqEx,
  IbvQp,
  IbvQpEx,
  IbvRwqIndTable,
  IbvSrq,
  IbvWq,
} from "./handles.ts";
import { structs } from "./layout.ts";
import { readNative } from "./struct.ts";

const Ah = "pointer" as Deno.NativeTypedPointer<IbvAh>;
const Context = "pointer" as Deno.NativeTypedPointer<IbvContext>;
const Cq = "pointer" as Deno.NativeTypedPointer<IbvCq>;
const CqEx = "pointer" as Deno.NativeTypedPointer<IbvCqEx>;
const Qp = "pointer" as Deno.NativeTypedPointer<IbvQp>;
const QpEx = "pointer" as Deno.NativeTypedPointer<IbvQpEx>;
const Srq = "pointer" as Deno.NativeTypedPointer<IbvSrq>;
const Table = "pointer" as Deno.NativeTypedPointer<IbvRwqIndTable>;
const Wq = "pointer" as Deno.NativeTypedPointer<IbvWq>;
/** A struct of ours that is made for the call. */
const Buffer = "buffer";
/** A struct of ours that is made once and reused: passing its pointer is 5 ns cheaper than passing its buffer. */
const Pointer = "pointer";

/** The chain of loads that leads from a verb's first argument to its function pointer. */
export type Path = readonly number[];

/** A static-inline verb: where its function pointer lives, and its prototype. */
export interface Inline {
  /** Offsets to load through, from the first argument. */
  readonly path: Path;
  /** Whether it reports by errno. */
  readonly errno?: true;
  /** Its C prototype. */
  readonly definition: Deno.ForeignFunction;
}

const { fields: context } = structs.ibv_context;
const { fields: extended } = structs.verbs_context;

/** Ops that `ibv_context.ops` holds itself; its other slots are frozen compatibility entries. */
type ContextOp = "poll_cq" | "req_notify_cq" | "post_srq_recv" | "post_send" | "post_recv";
/** Fields of `verbs_context`. */
type ExtendedField = keyof typeof extended;

function contextOp(op: ContextOp, object: "ibv_cq" | "ibv_qp" | "ibv_srq"): Path {
  return [structs[object].fields.context.offset, context[`ops.${op}`].offset];
}

function extendedOffset(field: ExtendedField): number {
  return extended[field].offset - extended.context.offset;
}

function extendedOp(op: ExtendedField, object?: "ibv_wq" | "ibv_rwq_ind_table"): Path {
  const offset = extendedOffset(op);
  return object === undefined ? [offset] : [structs[object].fields.context.offset, offset];
}

function qpExOp(op: keyof typeof structs.ibv_qp_ex.fields): Path {
  return [structs.ibv_qp_ex.fields[op].offset];
}

function cqExOp(op: keyof typeof structs.ibv_cq_ex.fields): Path {
  return [structs.ibv_cq_ex.fields[op].offset];
}

/** Static-inline verbs by name. */
export const inlineVerbs = {
  // int ibv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
  ibv_poll_cq: {
    path: contextOp("poll_cq", "ibv_cq"),
    definition: { parameters: [Cq, "i32", Pointer], result: "i32" },
  },
  // int ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only)
  ibv_req_notify_cq: {
    path: contextOp("req_notify_cq", "ibv_cq"),
    definition: { parameters: [Cq, "i32"], result: "i32" },
  },
  // int ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
  ibv_post_send: {
    path: contextOp("post_send", "ibv_qp"),
    definition: { parameters: [Qp, Pointer, Pointer], result: "i32" },
  },
  // int ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
  ibv_post_recv: {
    path: contextOp("post_recv", "ibv_qp"),
    definition: { parameters: [Qp, Pointer, Pointer], result: "i32" },
  },
  // int ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr)
  ibv_post_srq_recv: {
    path: contextOp("post_srq_recv", "ibv_srq"),
    definition: { parameters: [Srq, Pointer, Pointer], result: "i32" },
  },
  // int ibv_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr)
  ibv_post_wq_recv: {
    path: [structs.ibv_wq.fields.post_recv.offset],
    definition: { parameters: [Wq, Pointer, Pointer], result: "i32" },
  },
  // int ibv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr)
  // (the op takes the size of attr as well)
  ibv_query_device_ex: {
    path: extendedOp("query_device_ex"),
    definition: { parameters: [Context, Buffer, Buffer, "usize"], result: "i32" },
  },
  // int ___ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr)
  // (what the macro ibv_query_port stands for; the op takes the size of port_attr as well)
  ___ibv_query_port: {
    path: extendedOp("query_port"),
    definition: { parameters: [Context, "u8", Buffer, "usize"], result: "i32" },
  },
  // struct ibv_qp *ibv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_init_attr_ex)
  ibv_create_qp_ex: {
    path: extendedOp("create_qp_ex"),
    errno: true,
    definition: { parameters: [Context, Buffer], result: Qp },
  },
  // struct ibv_wq *ibv_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *wq_init_attr)
  ibv_create_wq: {
    path: extendedOp("create_wq"),
    errno: true,
    definition: { parameters: [Context, Buffer], result: Wq },
  },
  // int ibv_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *wq_attr)
  ibv_modify_wq: {
    path: extendedOp("modify_wq", "ibv_wq"),
    definition: { parameters: [Wq, Buffer], result: "i32" },
  },
  // int ibv_destroy_wq(struct ibv_wq *wq)
  ibv_destroy_wq: {
    path: extendedOp("destroy_wq", "ibv_wq"),
    definition: { parameters: [Wq], result: "i32" },
  },
  // struct ibv_rwq_ind_table *ibv_create_rwq_ind_table(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *init_attr)
  ibv_create_rwq_ind_table: {
    path: extendedOp("create_rwq_ind_table"),
    errno: true,
    definition: { parameters: [Context, Buffer], result: Table },
  },
  // int ibv_destroy_rwq_ind_table(struct ibv_rwq_ind_table *rwq_ind_table)
  ibv_destroy_rwq_ind_table: {
    path: extendedOp("destroy_rwq_ind_table", "ibv_rwq_ind_table"),
    definition: { parameters: [Table], result: "i32" },
  },
  // void ibv_wr_start(struct ibv_qp_ex *qp)
  ibv_wr_start: {
    path: qpExOp("wr_start"),
    definition: { parameters: [QpEx], result: "void" },
  },
  // int ibv_wr_complete(struct ibv_qp_ex *qp)
  ibv_wr_complete: {
    path: qpExOp("wr_complete"),
    definition: { parameters: [QpEx], result: "i32" },
  },
  // void ibv_wr_abort(struct ibv_qp_ex *qp)
  ibv_wr_abort: {
    path: qpExOp("wr_abort"),
    definition: { parameters: [QpEx], result: "void" },
  },
  // void ibv_wr_send(struct ibv_qp_ex *qp)
  ibv_wr_send: {
    path: qpExOp("wr_send"),
    definition: { parameters: [QpEx], result: "void" },
  },
  // void ibv_wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)
  ibv_wr_send_imm: {
    path: qpExOp("wr_send_imm"),
    definition: { parameters: [QpEx, "u32"], result: "void" },
  },
  // void ibv_wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
  ibv_wr_set_ud_addr: {
    path: qpExOp("wr_set_ud_addr"),
    definition: { parameters: [QpEx, Ah, "u32", "u32"], result: "void" },
  },
  // void ibv_wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
  ibv_wr_set_sge: {
    path: qpExOp("wr_set_sge"),
    definition: { parameters: [QpEx, "u32", "u64", "u32"], result: "void" },
  },
  // int ibv_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
  ibv_start_poll: {
    path: cqExOp("start_poll"),
    definition: { parameters: [CqEx, Pointer], result: "i32" },
  },
  // int ibv_next_poll(struct ibv_cq_ex *cq)
  ibv_next_poll: {
    path: cqExOp("next_poll"),
    definition: { parameters: [CqEx], result: "i32" },
  },
  // void ibv_end_poll(struct ibv_cq_ex *cq)
  ibv_end_poll: {
    path: cqExOp("end_poll"),
    definition: { parameters: [CqEx], result: "void" },
  },
} as const satisfies Record<string, Inline>;

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
