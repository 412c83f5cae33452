/** Memory regions, DMA handles and buffers of the provider. */

import type { IbvBuf, IbvContext, IbvDmah, IbvMr, IbvPd } from "../handles.ts";
import { Address, Buf, Buffer, Context, Dmah, Mr, Pd } from "../parameters.ts";
import { regMr, regMrIova } from "../table/header.ts";
import { exported, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of memory regions.
 *
 * @category Prototypes of verbs
 */
export interface MrVerbs {
  /**
   * `struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)`
   *
   * Calls `ibv_reg_mr_iova2` if `access` has optional bits.
   */
  ibv_reg_mr(pd: IbvPd, addr: bigint, length: bigint, access: number): IbvMr | null;
  /**
   * `struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)`
   *
   * Calls `ibv_reg_mr_iova2` if `access` has optional bits.
   */
  ibv_reg_mr_iova(
    pd: IbvPd,
    addr: bigint,
    length: bigint,
    iova: bigint,
    access: number,
  ): IbvMr | null;
  /**
   * `struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)`
   */
  ibv_reg_mr_iova2(
    pd: IbvPd,
    addr: bigint,
    length: bigint,
    iova: bigint,
    access: number,
  ): IbvMr | null;
  /**
   * `struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)`
   */
  ibv_reg_dmabuf_mr(
    pd: IbvPd,
    offset: bigint,
    length: bigint,
    iova: bigint,
    fd: number,
    access: number,
  ): IbvMr | null;
  /**
   * `struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *mr_init_attr)`
   */
  ibv_reg_mr_ex(pd: IbvPd, mr_init_attr: BufferSource): IbvMr | null;
  /** `struct ibv_mr *ibv_alloc_null_mr(struct ibv_pd *pd)` */
  ibv_alloc_null_mr(pd: IbvPd): IbvMr | null;
  /** `struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)` */
  ibv_import_mr(pd: IbvPd, mr_handle: number): IbvMr | null;
  /** `void ibv_unimport_mr(struct ibv_mr *mr)` */
  ibv_unimport_mr(mr: IbvMr): void;
  /** `int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)` */
  ibv_rereg_mr(
    mr: IbvMr,
    flags: number,
    pd: IbvPd | null,
    addr: bigint,
    length: bigint,
    access: number,
  ): number;
  /** `int ibv_dereg_mr(struct ibv_mr *mr)` */
  ibv_dereg_mr(mr: IbvMr): number;
  /**
   * `int ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)`
   */
  ibv_advise_mr(
    pd: IbvPd,
    advice: number,
    flags: number,
    sg_list: BufferSource,
    num_sge: number,
  ): number;
  /**
   * `struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)`
   */
  ibv_alloc_dmah(context: IbvContext, attr: BufferSource): IbvDmah | null;
  /** `int ibv_dealloc_dmah(struct ibv_dmah *dmah)` */
  ibv_dealloc_dmah(dmah: IbvDmah): number;
  /** `void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)` */
  ibv_alloc_buf(pd: IbvPd, size: bigint, buf: BufferSource): bigint;
  /** `void ibv_free_buf(struct ibv_buf *buf)` */
  ibv_free_buf(buf: IbvBuf): void;
  /**
   * `struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access)`
   */
  ibv_reg_buf_mr(
    pd: IbvPd,
    buf: IbvBuf,
    addr: bigint,
    length: bigint,
    access: number,
  ): IbvMr | null;
  /** `int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)` */
  ibv_export_buf_dmabuf_fd(buf: IbvBuf): number;
}

/** The table of verbs of memory regions. */
export const mrVerbs: Table<MrVerbs> = {
  ibv_reg_mr: exported([Pd, Address, "usize", "i32"], Mr, "errno", { header: regMr }),
  ibv_reg_mr_iova: exported([Pd, Address, "usize", "u64", "i32"], Mr, "errno", {
    header: regMrIova,
  }),
  ibv_reg_mr_iova2: exported([Pd, Address, "usize", "u64", "u32"], Mr, "errno", { blocking: true }),
  ibv_reg_dmabuf_mr: exported([Pd, "u64", "usize", "u64", "i32", "i32"], Mr, "errno"),
  ibv_reg_mr_ex: exported([Pd, Buffer], Mr, "errno"),
  ibv_alloc_null_mr: vctx("ibv_pd", "alloc_null_mr", [Pd], Mr, "errno"),
  ibv_import_mr: exported([Pd, "u32"], Mr, "errno"),
  ibv_unimport_mr: exported([Mr], "void", "never"),
  ibv_rereg_mr: exported([Mr, "i32", Pd, Address, "usize", "i32"], "i32", "errno"),
  ibv_dereg_mr: exported([Mr], "i32", "code"),
  ibv_advise_mr: vctx("ibv_pd", "advise_mr", [Pd, "u32", "u32", Buffer, "u32"], "i32", "code"),
  ibv_alloc_dmah: exported([Context, Buffer], Dmah, "errno"),
  ibv_dealloc_dmah: exported([Dmah], "i32", "code"),
  ibv_alloc_buf: exported([Pd, "usize", Buffer], Address, "errno"),
  ibv_free_buf: exported([Buf], "void", "never"),
  ibv_reg_buf_mr: exported([Pd, Buf, Address, "usize", "i32"], Mr, "errno"),
  ibv_export_buf_dmabuf_fd: exported([Buf], "i32", "errno"),
};
