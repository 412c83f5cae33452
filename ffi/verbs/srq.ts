import type { IbvContext, IbvPd, IbvSrq, IbvXrcd } from "../handles.ts";
import { Buffer, Context, Pd, Pointer, Srq, Xrcd } from "../parameters.ts";
import { createSrqEx, postSrqOps } from "../table/header.ts";
import { exported, ops, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of shared receive queues and XRC domains.
 *
 * @category Prototypes of verbs
 */
export interface SrqVerbs {
  /** `struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr)` */
  ibv_create_srq(pd: IbvPd, srq_init_attr: BufferSource): IbvSrq | null;
  /**
   * `struct ibv_srq *ibv_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *srq_init_attr_ex)`
   *
   * Calls `ibv_create_srq` if the attributes ask for no more than a basic queue with a domain.
   */
  ibv_create_srq_ex(context: IbvContext, srq_init_attr_ex: BufferSource): IbvSrq | null;
  /** `int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask)` */
  ibv_modify_srq(srq: IbvSrq, srq_attr: BufferSource, srq_attr_mask: number): number;
  /** `int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr)` */
  ibv_query_srq(srq: IbvSrq, srq_attr: BufferSource): number;
  /** `int ibv_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)` */
  ibv_get_srq_num(srq: IbvSrq, srq_num: BufferSource): number;
  /** `int ibv_destroy_srq(struct ibv_srq *srq)` */
  ibv_destroy_srq(srq: IbvSrq): number;
  /** `int ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr)` */
  ibv_post_srq_recv(
    srq: IbvSrq,
    recv_wr: Deno.PointerValue,
    bad_recv_wr: Deno.PointerValue,
  ): number;
  /**
   * `int ibv_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)`
   *
   * Without the op, `bad_op` is `op`.
   */
  ibv_post_srq_ops(srq: IbvSrq, op: Deno.PointerValue, bad_op: BufferSource): number;
  /** `struct ibv_xrcd *ibv_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *xrcd_init_attr)` */
  ibv_open_xrcd(context: IbvContext, xrcd_init_attr: BufferSource): IbvXrcd | null;
  /** `int ibv_close_xrcd(struct ibv_xrcd *xrcd)` */
  ibv_close_xrcd(xrcd: IbvXrcd): number;
}

/** The table of verbs of shared receive queues and XRC domains. */
export const srqVerbs: Table<SrqVerbs> = {
  ibv_create_srq: exported([Pd, Buffer], Srq, "errno"),
  ibv_create_srq_ex: vctx("ibv_context", "create_srq_ex", [Context, Buffer], Srq, "errno", {
    header: createSrqEx,
  }),
  ibv_modify_srq: exported([Srq, Buffer, "i32"], "i32", "code"),
  ibv_query_srq: exported([Srq, Buffer], "i32", "code"),
  ibv_get_srq_num: vctx("ibv_srq", "get_srq_num", [Srq, Buffer], "i32", "code"),
  ibv_destroy_srq: exported([Srq], "i32", "code"),
  ibv_post_srq_recv: ops("ibv_srq", "post_srq_recv", [Srq, Pointer, Pointer], "i32", "code", {
    hot: true,
  }),
  ibv_post_srq_ops: vctx("ibv_srq", "post_srq_ops", [Srq, Pointer, Buffer], "i32", "code", {
    header: postSrqOps,
  }),
  ibv_open_xrcd: vctx("ibv_context", "open_xrcd", [Context, Buffer], Xrcd, "errno"),
  ibv_close_xrcd: vctx("ibv_xrcd", "close_xrcd", [Xrcd], "i32", "code"),
};
