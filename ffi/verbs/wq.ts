import type { IbvContext, IbvRwqIndTable, IbvWq } from "../handles.ts";
import { Buffer, Context, Pointer, Table, Wq } from "../parameters.ts";
import { createWq } from "../table/header.ts";
import { own, type Table as Rows, vctx } from "../table/row.ts";

/**
 * Verbs of receive work queues and their indirection tables.
 *
 * @category Prototypes of verbs
 */
export interface WqVerbs {
  /** `struct ibv_wq *ibv_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *wq_init_attr)` */
  ibv_create_wq(context: IbvContext, wq_init_attr: BufferSource): IbvWq | null;
  /** `int ibv_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *wq_attr)` */
  ibv_modify_wq(wq: IbvWq, wq_attr: BufferSource): number;
  /** `int ibv_destroy_wq(struct ibv_wq *wq)` */
  ibv_destroy_wq(wq: IbvWq): number;
  /** `int ibv_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr)` */
  ibv_post_wq_recv(wq: IbvWq, recv_wr: Deno.PointerValue, bad_recv_wr: Deno.PointerValue): number;
  /**
   * `struct ibv_rwq_ind_table *ibv_create_rwq_ind_table(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *init_attr)`
   */
  ibv_create_rwq_ind_table(context: IbvContext, init_attr: BufferSource): IbvRwqIndTable | null;
  /** `int ibv_destroy_rwq_ind_table(struct ibv_rwq_ind_table *rwq_ind_table)` */
  ibv_destroy_rwq_ind_table(rwq_ind_table: IbvRwqIndTable): number;
}

/** The table of verbs of receive work queues and their indirection tables. */
export const wqVerbs: Rows<WqVerbs> = {
  ibv_create_wq: vctx("ibv_context", "create_wq", [Context, Buffer], Wq, "errno", {
    header: createWq,
  }),
  ibv_modify_wq: vctx("ibv_wq", "modify_wq", [Wq, Buffer], "i32", "code"),
  ibv_destroy_wq: vctx("ibv_wq", "destroy_wq", [Wq], "i32", "code"),
  ibv_post_wq_recv: own("ibv_wq", "post_recv", [Wq, Pointer, Pointer], "i32", "code", {
    hot: true,
  }),
  ibv_create_rwq_ind_table: vctx(
    "ibv_context",
    "create_rwq_ind_table",
    [Context, Buffer],
    Table,
    "errno",
  ),
  ibv_destroy_rwq_ind_table: vctx(
    "ibv_rwq_ind_table",
    "destroy_rwq_ind_table",
    [Table],
    "i32",
    "code",
  ),
};
