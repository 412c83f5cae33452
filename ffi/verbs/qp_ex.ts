/** Builders of work requests. */

import type { IbvAh, IbvMw, IbvQpEx } from "../handles.ts";
import { Address, Ah, Mw, Pointer, QpEx } from "../parameters.ts";
import { type OpRow, own, type OwnOps, type Table } from "../table/row.ts";

/**
 * Verbs of extended queue pairs.
 *
 * @category Prototypes of verbs
 */
export interface QpExVerbs {
  /**
   * `void ibv_wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap)`
   */
  ibv_wr_atomic_cmp_swp(
    qp: IbvQpEx,
    rkey: number,
    remote_addr: bigint,
    compare: bigint,
    swap: bigint,
  ): void;
  /** `void ibv_wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t add)` */
  ibv_wr_atomic_fetch_add(qp: IbvQpEx, rkey: number, remote_addr: bigint, add: bigint): void;
  /**
   * `void ibv_wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *bind_info)`
   */
  ibv_wr_bind_mw(qp: IbvQpEx, mw: IbvMw, rkey: number, bind_info: Deno.PointerValue): void;
  /** `void ibv_wr_local_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)` */
  ibv_wr_local_inv(qp: IbvQpEx, invalidate_rkey: number): void;
  /** `void ibv_wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)` */
  ibv_wr_rdma_read(qp: IbvQpEx, rkey: number, remote_addr: bigint): void;
  /** `void ibv_wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)` */
  ibv_wr_rdma_write(qp: IbvQpEx, rkey: number, remote_addr: bigint): void;
  /** `void ibv_wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)` */
  ibv_wr_rdma_write_imm(qp: IbvQpEx, rkey: number, remote_addr: bigint, imm_data: number): void;
  /** `void ibv_wr_send(struct ibv_qp_ex *qp)` */
  ibv_wr_send(qp: IbvQpEx): void;
  /** `void ibv_wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)` */
  ibv_wr_send_imm(qp: IbvQpEx, imm_data: number): void;
  /** `void ibv_wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)` */
  ibv_wr_send_inv(qp: IbvQpEx, invalidate_rkey: number): void;
  /** `void ibv_wr_send_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss)` */
  ibv_wr_send_tso(qp: IbvQpEx, hdr: bigint, hdr_sz: number, mss: number): void;
  /** `void ibv_wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)` */
  ibv_wr_set_ud_addr(qp: IbvQpEx, ah: IbvAh, remote_qpn: number, remote_qkey: number): void;
  /** `void ibv_wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)` */
  ibv_wr_set_xrc_srqn(qp: IbvQpEx, remote_srqn: number): void;
  /** `void ibv_wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)` */
  ibv_wr_set_inline_data(qp: IbvQpEx, addr: bigint, length: bigint): void;
  /** `void ibv_wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf, const struct ibv_data_buf *buf_list)` */
  ibv_wr_set_inline_data_list(qp: IbvQpEx, num_buf: bigint, buf_list: Deno.PointerValue): void;
  /** `void ibv_wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)` */
  ibv_wr_set_sge(qp: IbvQpEx, lkey: number, addr: bigint, length: number): void;
  /** `void ibv_wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge, const struct ibv_sge *sg_list)` */
  ibv_wr_set_sge_list(qp: IbvQpEx, num_sge: bigint, sg_list: Deno.PointerValue): void;
  /** `void ibv_wr_start(struct ibv_qp_ex *qp)` */
  ibv_wr_start(qp: IbvQpEx): void;
  /** `int ibv_wr_complete(struct ibv_qp_ex *qp)` */
  ibv_wr_complete(qp: IbvQpEx): number;
  /** `void ibv_wr_abort(struct ibv_qp_ex *qp)` */
  ibv_wr_abort(qp: IbvQpEx): void;
  /** `void ibv_wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)` */
  ibv_wr_atomic_write(qp: IbvQpEx, rkey: number, remote_addr: bigint, atomic_wr: bigint): void;
  /**
   * `void ibv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type, uint8_t level)`
   */
  ibv_wr_flush(
    qp: IbvQpEx,
    rkey: number,
    remote_addr: bigint,
    len: bigint,
    type: number,
    level: number,
  ): void;
}

/** The row of a verb that builds requests, by the parameters behind the queue pair. */
function builder<const P extends readonly Deno.NativeType[]>(
  op: OwnOps["ibv_qp_ex"],
  ...parameters: P
): OpRow<readonly [typeof QpEx, ...P], "void"> {
  return own("ibv_qp_ex", op, [QpEx, ...parameters], "void", "never", { hot: true });
}

/** The table of verbs of extended queue pairs. */
export const qpExVerbs: Table<QpExVerbs> = {
  ibv_wr_atomic_cmp_swp: builder("wr_atomic_cmp_swp", "u32", "u64", "u64", "u64"),
  ibv_wr_atomic_fetch_add: builder("wr_atomic_fetch_add", "u32", "u64", "u64"),
  ibv_wr_bind_mw: builder("wr_bind_mw", Mw, "u32", Pointer),
  ibv_wr_local_inv: builder("wr_local_inv", "u32"),
  ibv_wr_rdma_read: builder("wr_rdma_read", "u32", "u64"),
  ibv_wr_rdma_write: builder("wr_rdma_write", "u32", "u64"),
  ibv_wr_rdma_write_imm: builder("wr_rdma_write_imm", "u32", "u64", "u32"),
  ibv_wr_send: builder("wr_send"),
  ibv_wr_send_imm: builder("wr_send_imm", "u32"),
  ibv_wr_send_inv: builder("wr_send_inv", "u32"),
  ibv_wr_send_tso: builder("wr_send_tso", Address, "u16", "u16"),
  ibv_wr_set_ud_addr: builder("wr_set_ud_addr", Ah, "u32", "u32"),
  ibv_wr_set_xrc_srqn: builder("wr_set_xrc_srqn", "u32"),
  ibv_wr_set_inline_data: builder("wr_set_inline_data", Address, "usize"),
  ibv_wr_set_inline_data_list: builder("wr_set_inline_data_list", "usize", Pointer),
  ibv_wr_set_sge: builder("wr_set_sge", "u32", "u64", "u32"),
  ibv_wr_set_sge_list: builder("wr_set_sge_list", "usize", Pointer),
  ibv_wr_start: builder("wr_start"),
  ibv_wr_complete: own("ibv_qp_ex", "wr_complete", [QpEx], "i32", "code", { hot: true }),
  ibv_wr_abort: builder("wr_abort"),
  ibv_wr_atomic_write: builder("wr_atomic_write", "u32", "u64", Address),
  ibv_wr_flush: builder("wr_flush", "u32", "u64", "usize", "u8", "u8"),
};
