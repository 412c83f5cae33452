/**
 * Device memory.
 *
 * @module
 */

import type { IbvContext, IbvDm, IbvMr, IbvPd } from "../handles.ts";
import { Buffer, Context, Dm, Mr, Pd } from "../parameters.ts";
import type { Table } from "../table/row.ts";

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
  /**
   * `int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)`
   *
   * Newer than rdma-core 44.
   */
  ibv_dm_export_dmabuf_fd(dm: IbvDm): number;
}

/** The table of verbs of device memory. */
export const dmVerbs: Table<DmVerbs> = {
  ibv_alloc_dm: {
    op: ["ibv_context", "vctx", "alloc_dm"],
    parameters: [Context, Buffer],
    result: Dm,
    fails: "errno",
  },
  ibv_free_dm: {
    op: ["ibv_dm", "vctx", "free_dm"],
    parameters: [Dm],
    result: "i32",
    fails: "code",
  },
  ibv_memcpy_to_dm: {
    op: ["ibv_dm", "own", "memcpy_to_dm"],
    parameters: [Dm, "u64", Buffer, "usize"],
    result: "i32",
    fails: "code",
  },
  ibv_memcpy_from_dm: {
    op: ["ibv_dm", "own", "memcpy_from_dm"],
    object: 1,
    parameters: [Buffer, Dm, "u64", "usize"],
    result: "i32",
    fails: "code",
  },
  ibv_reg_dm_mr: {
    op: ["ibv_pd", "vctx", "reg_dm_mr"],
    parameters: [Pd, Dm, "u64", "usize", "u32"],
    result: Mr,
    fails: "errno",
  },
  ibv_import_dm: { parameters: [Context, "u32"], result: Dm, fails: "errno" },
  ibv_unimport_dm: { parameters: [Dm], result: "void", fails: "never" },
  ibv_dm_export_dmabuf_fd: { parameters: [Dm], result: "i32", fails: "errno" },
};
