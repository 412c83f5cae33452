import type { IbvAh, IbvContext, IbvPd } from "../handles.ts";
import { Ah, Buffer, Context, Pd } from "../parameters.ts";
import { exported, type Table } from "../table/row.ts";

/**
 * Verbs of address handles.
 *
 * @category Prototypes of verbs
 */
export interface AhVerbs {
  /** `struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)` */
  ibv_create_ah(pd: IbvPd, attr: BufferSource): IbvAh | null;
  /**
   * `struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)`
   */
  ibv_create_ah_from_wc(
    pd: IbvPd,
    wc: BufferSource,
    grh: BufferSource,
    port_num: number,
  ): IbvAh | null;
  /**
   * `int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)`
   */
  ibv_init_ah_from_wc(
    context: IbvContext,
    port_num: number,
    wc: BufferSource,
    grh: BufferSource,
    ah_attr: BufferSource,
  ): number;
  /** `int ibv_destroy_ah(struct ibv_ah *ah)` */
  ibv_destroy_ah(ah: IbvAh): number;
  /**
   * `int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[6], uint16_t *vid)`
   */
  ibv_resolve_eth_l2_from_gid(
    context: IbvContext,
    attr: BufferSource,
    eth_mac: BufferSource,
    vid: BufferSource,
  ): number;
}

/** The table of verbs of address handles. */
export const ahVerbs: Table<AhVerbs> = {
  ibv_create_ah: exported([Pd, Buffer], Ah, "errno", { blocking: true }),
  ibv_create_ah_from_wc: exported([Pd, Buffer, Buffer, "u8"], Ah, "errno", { blocking: true }),
  ibv_init_ah_from_wc: exported([Context, "u8", Buffer, Buffer, Buffer], "i32", "errno", {
    blocking: true,
  }),
  ibv_destroy_ah: exported([Ah], "i32", "code"),
  ibv_resolve_eth_l2_from_gid: exported([Context, Buffer, Buffer, Buffer], "i32", "errno", {
    blocking: true,
  }),
};
