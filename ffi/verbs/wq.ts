/**
 * Receive work queues and their indirection tables.
 *
 * @module
 */

import type { IbvContext, IbvRwqIndTable, IbvWq } from "../handles.ts";
import { Buffer, Context, Pointer, Table, Wq } from "../parameters.ts";
import { createWq } from "../table/header.ts";
import type { Table as Rows } from "../table/row.ts";

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
  ibv_create_wq: {
    op: ["ibv_context", "vctx", "create_wq"],
    parameters: [Context, Buffer],
    result: Wq,
    fails: "errno",
    header: createWq,
  },
  ibv_modify_wq: {
    op: ["ibv_wq", "vctx", "modify_wq"],
    parameters: [Wq, Buffer],
    result: "i32",
    fails: "code",
  },
  ibv_destroy_wq: {
    op: ["ibv_wq", "vctx", "destroy_wq"],
    parameters: [Wq],
    result: "i32",
    fails: "code",
  },
  ibv_post_wq_recv: {
    op: ["ibv_wq", "own", "post_recv"],
    hot: true,
    parameters: [Wq, Pointer, Pointer],
    result: "i32",
    fails: "code",
  },
  ibv_create_rwq_ind_table: {
    op: ["ibv_context", "vctx", "create_rwq_ind_table"],
    parameters: [Context, Buffer],
    result: Table,
    fails: "errno",
  },
  ibv_destroy_rwq_ind_table: {
    op: ["ibv_rwq_ind_table", "vctx", "destroy_rwq_ind_table"],
    parameters: [Table],
    result: "i32",
    fails: "code",
  },
};
