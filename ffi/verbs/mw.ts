import type { IbvMw, IbvPd, IbvQp } from "../handles.ts";
import { Buffer, Mw, Pd, Qp } from "../parameters.ts";
import { bindMw, nextRkey } from "../table/header.ts";
import { ops, type Table } from "../table/row.ts";

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
  ibv_alloc_mw: ops("ibv_pd", "alloc_mw", [Pd, "u32"], Mw, "errno"),
  ibv_dealloc_mw: ops("ibv_mw", "dealloc_mw", [Mw], "i32", "code"),
  ibv_bind_mw: ops("ibv_mw", "bind_mw", [Qp, Mw, Buffer], "i32", "code", {
    object: 1,
    header: bindMw,
  }),
  ibv_inc_rkey: { header: nextRkey },
};
