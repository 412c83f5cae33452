/**
 * Memory windows.
 *
 * @module
 */

import type { IbvMw, IbvPd, IbvQp } from "../handles.ts";
import { Buffer, Mw, Pd, Qp } from "../parameters.ts";
import { bindMw, incRkey } from "../table/header.ts";
import type { Table } from "../table/row.ts";

/**
 * Verbs of memory windows.
 *
 * @category Prototypes of verbs
 */
export interface MwVerbs {
  /** `struct ibv_mw *ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)` */
  ibv_alloc_mw(pd: IbvPd, type: number): IbvMw | null;
  /** `int ibv_dealloc_mw(struct ibv_mw *mw)` */
  ibv_dealloc_mw(mw: IbvMw): number;
  /**
   * `int ibv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)`
   *
   * Refuses windows of type 2 (EINVAL) and memory of another domain (EPERM) itself.
   */
  ibv_bind_mw(qp: IbvQp, mw: IbvMw, mw_bind: BufferSource): number;
  /** `uint32_t ibv_inc_rkey(uint32_t rkey)` */
  ibv_inc_rkey(rkey: number): number;
}

/** The table of verbs of memory windows. */
export const mwVerbs: Table<MwVerbs> = {
  ibv_alloc_mw: {
    op: ["ibv_pd", "ops", "alloc_mw"],
    parameters: [Pd, "u32"],
    result: Mw,
    fails: "errno",
  },
  ibv_dealloc_mw: {
    op: ["ibv_mw", "ops", "dealloc_mw"],
    parameters: [Mw],
    result: "i32",
    fails: "code",
  },
  ibv_bind_mw: {
    op: ["ibv_mw", "ops", "bind_mw"],
    object: 1,
    parameters: [Qp, Mw, Buffer],
    result: "i32",
    fails: "code",
    header: bindMw,
  },
  ibv_inc_rkey: { header: incRkey },
};
