import type {
  EfadvCq,
  EfadvQp,
  IbvAh,
  IbvCompCntr,
  IbvContext,
  IbvCq,
  IbvCqEx,
  IbvMr,
  IbvPd,
  IbvQp,
  IbvQpEx,
} from "../handles.ts";
import {
  Ah,
  Buffer,
  CompCntr,
  Context,
  Cq,
  CqEx,
  EfaCq,
  EfaQp,
  Mr,
  Pd,
  Qp,
  QpEx,
} from "../parameters.ts";
import { exported, own, type Table } from "../table/row.ts";

/**
 * All functions of `efadv.h`, with their C names and prototypes. `inlen` is the size of the struct.
 *
 * For a device that is no Elastic Fabric Adapter they fail with EOPNOTSUPP. `efadv_qp_from_ibv_qp_ex` and
 * `efadv_cq_from_ibv_cq_ex` do not check: the object must be of such a device.
 *
 * @category Prototypes of verbs
 */
export interface Efa {
  /** `int efadv_query_device(struct ibv_context *ibvctx, struct efadv_device_attr *attr, uint32_t inlen)` */
  efadv_query_device(ibvctx: IbvContext, attr: BufferSource, inlen: number): number;
  /** `int efadv_get_max_sq_depth(struct ibv_context *ibvctx, struct efadv_sq_depth_attr *attr, uint32_t inlen)` */
  efadv_get_max_sq_depth(ibvctx: IbvContext, attr: BufferSource, inlen: number): number;
  /** `int efadv_get_max_rq_depth(struct ibv_context *ibvctx, struct efadv_rq_depth_attr *attr, uint32_t inlen)` */
  efadv_get_max_rq_depth(ibvctx: IbvContext, attr: BufferSource, inlen: number): number;
  /** `int efadv_query_ah(struct ibv_ah *ibvah, struct efadv_ah_attr *attr, uint32_t inlen)` */
  efadv_query_ah(ibvah: IbvAh, attr: BufferSource, inlen: number): number;
  /**
   * `struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *ibvpd, struct ibv_qp_init_attr *attr, uint32_t driver_qp_type)`
   */
  efadv_create_driver_qp(ibvpd: IbvPd, attr: BufferSource, driver_qp_type: number): IbvQp | null;
  /**
   * `struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ibvctx, struct ibv_qp_init_attr_ex *attr_ex, struct efadv_qp_init_attr *efa_attr, uint32_t inlen)`
   */
  efadv_create_qp_ex(
    ibvctx: IbvContext,
    attr_ex: BufferSource,
    efa_attr: BufferSource,
    inlen: number,
  ): IbvQp | null;
  /**
   * `int efadv_query_qp_wqs(struct ibv_qp *ibvqp, struct efadv_wq_attr *sq_attr, struct efadv_wq_attr *rq_attr, uint32_t inlen)`
   */
  efadv_query_qp_wqs(
    ibvqp: IbvQp,
    sq_attr: BufferSource,
    rq_attr: BufferSource,
    inlen: number,
  ): number;
  /** `struct efadv_qp *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *ibvqpx)` */
  efadv_qp_from_ibv_qp_ex(ibvqpx: IbvQpEx): EfadvQp | null;
  /**
   * `void efadv_wr_set_processing_hints(struct efadv_qp *efadv_qp, uint32_t hints)`, of a queue pair that was made with
   * `EFADV_WR_EX_WITH_PROCESSING_HINTS`
   */
  efadv_wr_set_processing_hints(efadv_qp: EfadvQp, hints: number): void;
  /**
   * `struct ibv_cq_ex *efadv_create_cq(struct ibv_context *ibvctx, struct ibv_cq_init_attr_ex *attr_ex, struct efadv_cq_init_attr *efa_attr, uint32_t inlen)`
   */
  efadv_create_cq(
    ibvctx: IbvContext,
    attr_ex: BufferSource,
    efa_attr: BufferSource,
    inlen: number,
  ): IbvCqEx | null;
  /** `int efadv_query_cq(struct ibv_cq *ibvcq, struct efadv_cq_attr *attr, uint32_t inlen)` */
  efadv_query_cq(ibvcq: IbvCq, attr: BufferSource, inlen: number): number;
  /** `struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *ibvcqx)` */
  efadv_cq_from_ibv_cq_ex(ibvcqx: IbvCqEx): EfadvCq | null;
  /**
   * `int efadv_wc_read_sgid(struct efadv_cq *efadv_cq, union ibv_gid *sgid)`, of a queue that was made with
   * `EFADV_WC_EX_WITH_SGID`; it returns a negative errno value
   */
  efadv_wc_read_sgid(efadv_cq: EfadvCq, sgid: BufferSource): number;
  /**
   * `bool efadv_wc_is_unsolicited(struct efadv_cq *efadv_cq)`, of a queue that was made with
   * `EFADV_WC_EX_WITH_IS_UNSOLICITED`
   */
  efadv_wc_is_unsolicited(efadv_cq: EfadvCq): number;
  /**
   * `struct ibv_comp_cntr *efadv_create_comp_cntr(struct ibv_context *ibvctx, struct ibv_comp_cntr_init_attr *attr, struct efadv_comp_cntr_init_attr *efa_attr, uint32_t inlen)`
   */
  efadv_create_comp_cntr(
    ibvctx: IbvContext,
    attr: BufferSource,
    efa_attr: BufferSource,
    inlen: number,
  ): IbvCompCntr | null;
  /** `int efadv_query_mr(struct ibv_mr *ibvmr, struct efadv_mr_attr *attr, uint32_t inlen)` */
  efadv_query_mr(ibvmr: IbvMr, attr: BufferSource, inlen: number): number;
}

/** The table of the functions of `efadv.h`. */
export const efaRows: Table<Efa> = {
  efadv_query_device: exported([Context, Buffer, "u32"], "i32", "code"),
  efadv_get_max_sq_depth: exported([Context, Buffer, "u32"], "i32", "negative"),
  efadv_get_max_rq_depth: exported([Context, Buffer, "u32"], "i32", "negative"),
  efadv_query_ah: exported([Ah, Buffer, "u32"], "i32", "code"),
  efadv_create_driver_qp: exported([Pd, Buffer, "u32"], Qp, "errno"),
  efadv_create_qp_ex: exported([Context, Buffer, Buffer, "u32"], Qp, "errno"),
  efadv_query_qp_wqs: exported([Qp, Buffer, Buffer, "u32"], "i32", "code"),
  efadv_qp_from_ibv_qp_ex: exported([QpEx], EfaQp, "errno"),
  efadv_wr_set_processing_hints: own(
    "efadv_qp",
    "wr_set_processing_hints",
    [EfaQp, "u32"],
    "void",
    "never",
    { hot: true },
  ),
  efadv_create_cq: exported([Context, Buffer, Buffer, "u32"], CqEx, "errno"),
  efadv_query_cq: exported([Cq, Buffer, "u32"], "i32", "code"),
  efadv_cq_from_ibv_cq_ex: exported([CqEx], EfaCq, "errno"),
  efadv_wc_read_sgid: own("efadv_cq", "wc_read_sgid", [EfaCq, Buffer], "i32", "negative", {
    hot: true,
  }),
  efadv_wc_is_unsolicited: own("efadv_cq", "wc_is_unsolicited", [EfaCq], "u8", "never", {
    hot: true,
  }),
  efadv_create_comp_cntr: exported([Context, Buffer, Buffer, "u32"], CompCntr, "errno"),
  efadv_query_mr: exported([Mr, Buffer, "u32"], "i32", "code"),
};
