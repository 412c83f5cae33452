/** Ports: their attributes, GIDs, P_Keys and rates. */

import type { IbvContext } from "../handles.ts";
import { Buffer, Context, Pointer } from "../parameters.ts";
import { queryGidEx, queryGidTable, queryPort } from "../table/header.ts";
import { exported, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of ports.
 *
 * @category Prototypes of verbs
 */
export interface PortVerbs {
  /**
   * `int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr)`
   *
   * Without the op it calls the exported function and zeroes the rest.
   */
  ibv_query_port(context: IbvContext, port_num: number, port_attr: BufferSource): number;
  /**
   * `int _compat_ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr)`
   *
   * The exported `ibv_query_port`. It fills the first 48 bytes of the attributes.
   */
  _compat_ibv_query_port(context: IbvContext, port_num: number, port_attr: BufferSource): number;
  /**
   * `int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)`
   */
  ibv_query_port_speed(context: IbvContext, port_num: number, port_speed: BufferSource): number;
  /** `const char *ibv_port_state_str(enum ibv_port_state port_state)` */
  ibv_port_state_str(port_state: number): Deno.PointerValue;
  /** `int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)` */
  ibv_query_gid(context: IbvContext, port_num: number, index: number, gid: BufferSource): number;
  /**
   * `int ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index, struct ibv_gid_entry *entry, uint32_t flags)`
   */
  ibv_query_gid_ex(
    context: IbvContext,
    port_num: number,
    gid_index: number,
    entry: BufferSource,
    flags: number,
  ): number;
  /**
   * `int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index, struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)`
   */
  _ibv_query_gid_ex(
    context: IbvContext,
    port_num: number,
    gid_index: number,
    entry: BufferSource,
    flags: number,
    entry_size: bigint,
  ): number;
  /**
   * `ssize_t ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries, uint32_t flags)`
   */
  ibv_query_gid_table(
    context: IbvContext,
    entries: BufferSource,
    max_entries: bigint,
    flags: number,
  ): bigint;
  /**
   * `ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries, uint32_t flags, size_t entry_size)`
   */
  _ibv_query_gid_table(
    context: IbvContext,
    entries: BufferSource,
    max_entries: bigint,
    flags: number,
    entry_size: bigint,
  ): bigint;
  /** `int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)` */
  ibv_query_pkey(context: IbvContext, port_num: number, index: number, pkey: BufferSource): number;
  /** `int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)` */
  ibv_get_pkey_index(context: IbvContext, port_num: number, pkey: number): number;
  /** `int ibv_rate_to_mult(enum ibv_rate rate)` */
  ibv_rate_to_mult(rate: number): number;
  /** `enum ibv_rate mult_to_ibv_rate(int mult)` */
  mult_to_ibv_rate(mult: number): number;
  /** `int ibv_rate_to_mbps(enum ibv_rate rate)` */
  ibv_rate_to_mbps(rate: number): number;
  /** `enum ibv_rate mbps_to_ibv_rate(int mbps)` */
  mbps_to_ibv_rate(mbps: number): number;
}

/** The table of verbs of ports. */
export const portVerbs: Table<PortVerbs> = {
  ibv_query_port: vctx(
    "ibv_context",
    "query_port",
    [Context, "u8", Buffer, "usize"],
    "i32",
    "code",
    { header: queryPort },
  ),
  _compat_ibv_query_port: exported([Context, "u8", Buffer], "i32", "code", {
    symbol: "ibv_query_port",
  }),
  ibv_query_port_speed: exported([Context, "u32", Buffer], "i32", "code"),
  ibv_port_state_str: exported(["u32"], Pointer, "never"),
  ibv_query_gid: exported([Context, "u8", "i32", Buffer], "i32", "errno"),
  ibv_query_gid_ex: { header: queryGidEx },
  _ibv_query_gid_ex: exported([Context, "u32", "u32", Buffer, "u32", "usize"], "i32", "code"),
  ibv_query_gid_table: { header: queryGidTable },
  _ibv_query_gid_table: exported([Context, Buffer, "usize", "u32", "usize"], "isize", "negative"),
  ibv_query_pkey: exported([Context, "u8", "i32", Buffer], "i32", "errno"),
  ibv_get_pkey_index: exported([Context, "u8", "u16"], "i32", "errno"),
  ibv_rate_to_mult: exported(["u32"], "i32", "never"),
  mult_to_ibv_rate: exported(["i32"], "u32", "never"),
  ibv_rate_to_mbps: exported(["u32"], "i32", "never"),
  mbps_to_ibv_rate: exported(["i32"], "u32", "never"),
};
