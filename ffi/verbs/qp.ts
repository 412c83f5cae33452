/** Queue pairs. */

import type { IbvCompCntr, IbvContext, IbvPd, IbvQp, IbvQpEx } from "../handles.ts";
import { Buffer, CompCntr, Context, Pd, Pointer, Qp, QpEx } from "../parameters.ts";
import { createQpEx, flowLabelToSport, isTypeSupported } from "../table/header.ts";
import { exported, ops, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of queue pairs.
 *
 * @category Prototypes of verbs
 */
export interface QpVerbs {
  /** `struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)` */
  ibv_create_qp(pd: IbvPd, qp_init_attr: BufferSource): IbvQp | null;
  /**
   * `struct ibv_qp *ibv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_init_attr_ex)`
   *
   * Calls `ibv_create_qp` if `comp_mask` is `IBV_QP_INIT_ATTR_PD`.
   */
  ibv_create_qp_ex(context: IbvContext, qp_init_attr_ex: BufferSource): IbvQp | null;
  /** `struct ibv_qp *ibv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *qp_open_attr)` */
  ibv_open_qp(context: IbvContext, qp_open_attr: BufferSource): IbvQp | null;
  /** `int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)` */
  ibv_modify_qp(qp: IbvQp, attr: BufferSource, attr_mask: number): number;
  /** `int ibv_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)` */
  ibv_modify_qp_rate_limit(qp: IbvQp, attr: BufferSource): number;
  /**
   * `int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)`
   */
  ibv_query_qp(qp: IbvQp, attr: BufferSource, attr_mask: number, init_attr: BufferSource): number;
  /** `int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)` */
  ibv_query_qp_data_in_order(qp: IbvQp, op: number, flags: number): number;
  /** `int ibv_destroy_qp(struct ibv_qp *qp)` */
  ibv_destroy_qp(qp: IbvQp): number;
  /** `struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)` */
  ibv_qp_to_qp_ex(qp: IbvQp): IbvQpEx | null;
  /** `int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)` */
  ibv_attach_mcast(qp: IbvQp, gid: BufferSource, lid: number): number;
  /** `int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)` */
  ibv_detach_mcast(qp: IbvQp, gid: BufferSource, lid: number): number;
  /** `int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)` */
  ibv_set_ece(qp: IbvQp, ece: BufferSource): number;
  /** `int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)` */
  ibv_query_ece(qp: IbvQp, ece: BufferSource): number;
  /** `int ibv_is_qpt_supported(uint32_t caps, enum ibv_qp_type qpt)` */
  ibv_is_qpt_supported(caps: number, qpt: number): number;
  /** `uint16_t ibv_flow_label_to_udp_sport(uint32_t fl)` */
  ibv_flow_label_to_udp_sport(fl: number): number;
  /**
   * `int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *comp_cntr, struct ibv_qp_attach_comp_cntr_attr *attr)`
   */
  ibv_qp_attach_comp_cntr(qp: IbvQp, comp_cntr: IbvCompCntr, attr: BufferSource): number;
  /** `int ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)` */
  ibv_post_send(qp: IbvQp, wr: Deno.PointerValue, bad_wr: Deno.PointerValue): number;
  /** `int ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)` */
  ibv_post_recv(qp: IbvQp, wr: Deno.PointerValue, bad_wr: Deno.PointerValue): number;
  /** `const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode)` */
  ibv_wr_opcode_str(opcode: number): Deno.PointerValue;
}

/** The table of verbs of queue pairs. */
export const qpVerbs: Table<QpVerbs> = {
  ibv_create_qp: exported([Pd, Buffer], Qp, "errno"),
  ibv_create_qp_ex: vctx("ibv_context", "create_qp_ex", [Context, Buffer], Qp, "errno", {
    header: createQpEx,
  }),
  ibv_open_qp: vctx("ibv_context", "open_qp", [Context, Buffer], Qp, "errno"),
  // To RTR on RoCE it resolves the link address of the peer.
  ibv_modify_qp: exported([Qp, Buffer, "i32"], "i32", "code", { blocking: true }),
  ibv_modify_qp_rate_limit: vctx("ibv_qp", "modify_qp_rate_limit", [Qp, Buffer], "i32", "code"),
  ibv_query_qp: exported([Qp, Buffer, "i32", Buffer], "i32", "code"),
  ibv_query_qp_data_in_order: exported([Qp, "u32", "u32"], "i32", "never"),
  ibv_destroy_qp: exported([Qp], "i32", "code"),
  ibv_qp_to_qp_ex: exported([Qp], QpEx, "never"),
  ibv_attach_mcast: exported([Qp, Buffer, "u16"], "i32", "code"),
  ibv_detach_mcast: exported([Qp, Buffer, "u16"], "i32", "code"),
  ibv_set_ece: exported([Qp, Buffer], "i32", "code"),
  ibv_query_ece: exported([Qp, Buffer], "i32", "code"),
  ibv_is_qpt_supported: { header: isTypeSupported },
  ibv_flow_label_to_udp_sport: { header: flowLabelToSport },
  ibv_qp_attach_comp_cntr: exported([Qp, CompCntr, Buffer], "i32", "code"),
  ibv_post_send: ops("ibv_qp", "post_send", [Qp, Pointer, Pointer], "i32", "code", { hot: true }),
  ibv_post_recv: ops("ibv_qp", "post_recv", [Qp, Pointer, Pointer], "i32", "code", { hot: true }),
  ibv_wr_opcode_str: exported(["u32"], Pointer, "never"),
};
