import type { IbvContext, IbvPd, IbvTd } from "../handles.ts";
import { Buffer, Context, Pd, Td } from "../parameters.ts";
import { exported, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of protection, thread and parent domains.
 *
 * @category Prototypes of verbs
 */
export interface PdVerbs {
  /** `struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)` */
  ibv_alloc_pd(context: IbvContext): IbvPd | null;
  /** `int ibv_dealloc_pd(struct ibv_pd *pd)` */
  ibv_dealloc_pd(pd: IbvPd): number;
  /** `struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)` */
  ibv_import_pd(context: IbvContext, pd_handle: number): IbvPd | null;
  /** `void ibv_unimport_pd(struct ibv_pd *pd)` */
  ibv_unimport_pd(pd: IbvPd): void;
  /** `struct ibv_td *ibv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr)` */
  ibv_alloc_td(context: IbvContext, init_attr: BufferSource): IbvTd | null;
  /** `int ibv_dealloc_td(struct ibv_td *td)` */
  ibv_dealloc_td(td: IbvTd): number;
  /** `struct ibv_pd *ibv_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)` */
  ibv_alloc_parent_domain(context: IbvContext, attr: BufferSource): IbvPd | null;
}

/** The table of verbs of protection, thread and parent domains. */
export const pdVerbs: Table<PdVerbs> = {
  ibv_alloc_pd: exported([Context], Pd, "errno"),
  ibv_dealloc_pd: exported([Pd], "i32", "code"),
  ibv_import_pd: exported([Context, "u32"], Pd, "errno"),
  ibv_unimport_pd: exported([Pd], "void", "never"),
  ibv_alloc_td: vctx("ibv_context", "alloc_td", [Context, Buffer], Td, "errno"),
  ibv_dealloc_td: vctx("ibv_td", "dealloc_td", [Td], "i32", "code"),
  ibv_alloc_parent_domain: vctx(
    "ibv_context",
    "alloc_parent_domain",
    [Context, Buffer],
    Pd,
    "errno",
  ),
};
