/** Device memory. */

import type { IbvContext, IbvDm, IbvMr, IbvPd } from "../handles.ts";
import { Buffer, Context, Dm, Mr, Pd } from "../parameters.ts";
import { exported, own, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of device memory.
 *
 * @category Prototypes of verbs
 */
export interface DmVerbs {
  /** `struct ibv_dm *ibv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)` */
  ibv_alloc_dm(context: IbvContext, attr: BufferSource): IbvDm | null;
  /** `int ibv_free_dm(struct ibv_dm *dm)` */
  ibv_free_dm(dm: IbvDm): number;
  /** `int ibv_memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length)` */
  ibv_memcpy_to_dm(dm: IbvDm, dm_offset: bigint, host_addr: BufferSource, length: bigint): number;
  /** `int ibv_memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length)` */
  ibv_memcpy_from_dm(host_addr: BufferSource, dm: IbvDm, dm_offset: bigint, length: bigint): number;
  /**
   * `struct ibv_mr *ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset, size_t length, unsigned int access)`
   */
  ibv_reg_dm_mr(
    pd: IbvPd,
    dm: IbvDm,
    dm_offset: bigint,
    length: bigint,
    access: number,
  ): IbvMr | null;
  /** `struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)` */
  ibv_import_dm(context: IbvContext, dm_handle: number): IbvDm | null;
  /** `void ibv_unimport_dm(struct ibv_dm *dm)` */
  ibv_unimport_dm(dm: IbvDm): void;
  /** `int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)` */
  ibv_dm_export_dmabuf_fd(dm: IbvDm): number;
}

/** The table of verbs of device memory. */
export const dmVerbs: Table<DmVerbs> = {
  ibv_alloc_dm: vctx("ibv_context", "alloc_dm", [Context, Buffer], Dm, "errno"),
  ibv_free_dm: vctx("ibv_dm", "free_dm", [Dm], "i32", "code"),
  ibv_memcpy_to_dm: own("ibv_dm", "memcpy_to_dm", [Dm, "u64", Buffer, "usize"], "i32", "code"),
  ibv_memcpy_from_dm: own("ibv_dm", "memcpy_from_dm", [Buffer, Dm, "u64", "usize"], "i32", "code", {
    object: 1,
  }),
  ibv_reg_dm_mr: vctx("ibv_pd", "reg_dm_mr", [Pd, Dm, "u64", "usize", "u32"], Mr, "errno"),
  ibv_import_dm: exported([Context, "u32"], Dm, "errno"),
  ibv_unimport_dm: exported([Dm], "void", "never"),
  ibv_dm_export_dmabuf_fd: exported([Dm], "i32", "errno"),
};
