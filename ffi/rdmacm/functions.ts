import type { IbvPd, RdmaCmId, RdmaEventChannel } from "../handles.ts";
import { Address, Buffer, CmId, EventChannel, Pd, Pointer } from "../parameters.ts";
import { exported, type Table } from "../table/row.ts";

/**
 * All functions of librdmacm that make connections, with their C names and prototypes.
 *
 * A function that returns a pointer returns `null` when it fails, another one -1, and the reason is in `errno()`.
 *
 * @category Prototypes of verbs
 */
export interface Rdmacm {
  /** `struct rdma_event_channel *rdma_create_event_channel(void)` */
  rdma_create_event_channel(): RdmaEventChannel | null;
  /** `void rdma_destroy_event_channel(struct rdma_event_channel *channel)` */
  rdma_destroy_event_channel(channel: RdmaEventChannel): void;
  /**
   * `int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps)`
   */
  rdma_create_id(channel: RdmaEventChannel, id: BufferSource, context: bigint, ps: number): number;
  /**
   * `int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)`
   */
  rdma_create_ep(
    id: BufferSource,
    res: Deno.PointerValue,
    pd: IbvPd | null,
    qp_init_attr: BufferSource | null,
  ): number;
  /** `void rdma_destroy_ep(struct rdma_cm_id *id)` */
  rdma_destroy_ep(id: RdmaCmId): void;
  /** `int rdma_destroy_id(struct rdma_cm_id *id)` */
  rdma_destroy_id(id: RdmaCmId): number;
  /** `int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)` */
  rdma_bind_addr(id: RdmaCmId, addr: BufferSource): number;
  /**
   * `int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr, int timeout_ms)`
   */
  rdma_resolve_addr(
    id: RdmaCmId,
    src_addr: BufferSource | null,
    dst_addr: BufferSource,
    timeout_ms: number,
  ): number;
  /** `int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)` */
  rdma_resolve_route(id: RdmaCmId, timeout_ms: number): number;
  /** `int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)` */
  rdma_create_qp(id: RdmaCmId, pd: IbvPd | null, qp_init_attr: BufferSource): number;
  /** `int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)` */
  rdma_create_qp_ex(id: RdmaCmId, qp_init_attr: BufferSource): number;
  /** `void rdma_destroy_qp(struct rdma_cm_id *id)` */
  rdma_destroy_qp(id: RdmaCmId): void;
  /** `int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)` */
  rdma_create_srq(id: RdmaCmId, pd: IbvPd | null, attr: BufferSource): number;
  /** `int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)` */
  rdma_create_srq_ex(id: RdmaCmId, attr: BufferSource): number;
  /** `void rdma_destroy_srq(struct rdma_cm_id *id)` */
  rdma_destroy_srq(id: RdmaCmId): void;
  /** `int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)` */
  rdma_connect(id: RdmaCmId, conn_param: BufferSource | null): number;
  /** `int rdma_establish(struct rdma_cm_id *id)` */
  rdma_establish(id: RdmaCmId): number;
  /** `int rdma_listen(struct rdma_cm_id *id, int backlog)` */
  rdma_listen(id: RdmaCmId, backlog: number): number;
  /** `int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)` */
  rdma_get_request(listen: RdmaCmId, id: BufferSource): number;
  /** `int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)` */
  rdma_accept(id: RdmaCmId, conn_param: BufferSource | null): number;
  /** `int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)` */
  rdma_reject(id: RdmaCmId, private_data: BufferSource | null, private_data_len: number): number;
  /** `int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)` */
  rdma_reject_ece(
    id: RdmaCmId,
    private_data: BufferSource | null,
    private_data_len: number,
  ): number;
  /** `int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)` */
  rdma_notify(id: RdmaCmId, event: number): number;
  /** `int rdma_disconnect(struct rdma_cm_id *id)` */
  rdma_disconnect(id: RdmaCmId): number;
  /** `int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)` */
  rdma_join_multicast(id: RdmaCmId, addr: BufferSource, context: bigint): number;
  /** `int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)` */
  rdma_leave_multicast(id: RdmaCmId, addr: BufferSource): number;
  /**
   * `int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *mc_join_attr, void *context)`
   */
  rdma_join_multicast_ex(id: RdmaCmId, mc_join_attr: BufferSource, context: bigint): number;
  /** `int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)` */
  rdma_get_cm_event(channel: RdmaEventChannel, event: BufferSource): number;
  /** `int rdma_ack_cm_event(struct rdma_cm_event *event)` */
  rdma_ack_cm_event(event: Deno.PointerValue): number;
  /** `__be16 rdma_get_src_port(struct rdma_cm_id *id)` */
  rdma_get_src_port(id: RdmaCmId): number;
  /** `__be16 rdma_get_dst_port(struct rdma_cm_id *id)` */
  rdma_get_dst_port(id: RdmaCmId): number;
  /** `struct ibv_context **rdma_get_devices(int *num_devices)` */
  rdma_get_devices(num_devices: BufferSource | null): Deno.PointerValue;
  /** `void rdma_free_devices(struct ibv_context **list)` */
  rdma_free_devices(list: Deno.PointerValue): void;
  /** `const char *rdma_event_str(enum rdma_cm_event_type event)` */
  rdma_event_str(event: number): Deno.PointerValue;
  /** `int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)` */
  rdma_set_option(
    id: RdmaCmId,
    level: number,
    optname: number,
    optval: BufferSource,
    optlen: bigint,
  ): number;
  /** `int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)` */
  rdma_migrate_id(id: RdmaCmId, channel: RdmaEventChannel): number;
  /**
   * `int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)`
   */
  rdma_getaddrinfo(
    node: BufferSource | null,
    service: BufferSource | null,
    hints: BufferSource | null,
    res: BufferSource,
  ): number;
  /**
   * `int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service, const struct rdma_addrinfo *hints)`
   */
  rdma_resolve_addrinfo(
    id: RdmaCmId,
    node: BufferSource | null,
    service: BufferSource | null,
    hints: BufferSource | null,
  ): number;
  /** `int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)` */
  rdma_query_addrinfo(id: RdmaCmId, info: BufferSource): number;
  /** `void rdma_freeaddrinfo(struct rdma_addrinfo *res)` */
  rdma_freeaddrinfo(res: Deno.PointerValue): void;
  /** `int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)` */
  rdma_write_cm_event(id: RdmaCmId, event: number, status: number, arg: bigint): number;
  /** `int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)` */
  rdma_init_qp_attr(id: RdmaCmId, qp_attr: BufferSource, qp_attr_mask: BufferSource): number;
  /** `int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)` */
  rdma_set_local_ece(id: RdmaCmId, ece: BufferSource): number;
  /** `int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)` */
  rdma_get_remote_ece(id: RdmaCmId, ece: BufferSource): number;
}

/** The table of the functions of librdmacm. */
export const rdmacmRows: Table<Rdmacm> = {
  rdma_create_event_channel: exported([], EventChannel, "errno"),
  rdma_destroy_event_channel: exported([EventChannel], "void", "never"),
  rdma_create_id: exported([EventChannel, Buffer, Address, "u32"], "i32", "errno"),
  rdma_create_ep: exported([Buffer, Pointer, Pd, Buffer], "i32", "errno"),
  rdma_destroy_ep: exported([CmId], "void", "never"),
  rdma_destroy_id: exported([CmId], "i32", "errno"),
  rdma_bind_addr: exported([CmId, Buffer], "i32", "errno"),
  rdma_resolve_addr: exported([CmId, Buffer, Buffer, "i32"], "i32", "errno"),
  rdma_resolve_route: exported([CmId, "i32"], "i32", "errno"),
  rdma_create_qp: exported([CmId, Pd, Buffer], "i32", "errno"),
  rdma_create_qp_ex: exported([CmId, Buffer], "i32", "errno"),
  rdma_destroy_qp: exported([CmId], "void", "never"),
  rdma_create_srq: exported([CmId, Pd, Buffer], "i32", "errno"),
  rdma_create_srq_ex: exported([CmId, Buffer], "i32", "errno"),
  rdma_destroy_srq: exported([CmId], "void", "never"),
  rdma_connect: exported([CmId, Buffer], "i32", "errno"),
  rdma_establish: exported([CmId], "i32", "errno"),
  rdma_listen: exported([CmId, "i32"], "i32", "errno"),
  rdma_get_request: exported([CmId, Buffer], "i32", "errno"),
  rdma_accept: exported([CmId, Buffer], "i32", "errno"),
  rdma_reject: exported([CmId, Buffer, "u8"], "i32", "errno"),
  rdma_reject_ece: exported([CmId, Buffer, "u8"], "i32", "errno"),
  rdma_notify: exported([CmId, "u32"], "i32", "errno"),
  rdma_disconnect: exported([CmId], "i32", "errno"),
  rdma_join_multicast: exported([CmId, Buffer, Address], "i32", "errno"),
  rdma_leave_multicast: exported([CmId, Buffer], "i32", "errno"),
  rdma_join_multicast_ex: exported([CmId, Buffer, Address], "i32", "errno"),
  rdma_get_cm_event: exported([EventChannel, Buffer], "i32", "errno"),
  rdma_ack_cm_event: exported([Pointer], "i32", "errno"),
  rdma_get_src_port: exported([CmId], "u16", "never"),
  rdma_get_dst_port: exported([CmId], "u16", "never"),
  rdma_get_devices: exported([Buffer], Pointer, "errno"),
  rdma_free_devices: exported([Pointer], "void", "never"),
  rdma_event_str: exported(["u32"], Pointer, "never"),
  rdma_set_option: exported([CmId, "i32", "i32", Buffer, "usize"], "i32", "errno"),
  rdma_migrate_id: exported([CmId, EventChannel], "i32", "errno"),
  rdma_getaddrinfo: exported([Buffer, Buffer, Buffer, Buffer], "i32", "errno", { blocking: true }),
  // It asks name servers before it returns.
  rdma_resolve_addrinfo: exported([CmId, Buffer, Buffer, Buffer], "i32", "errno", {
    blocking: true,
  }),
  rdma_query_addrinfo: exported([CmId, Buffer], "i32", "errno"),
  rdma_freeaddrinfo: exported([Pointer], "void", "never"),
  rdma_write_cm_event: exported([CmId, "u32", "i32", "u64"], "i32", "errno"),
  rdma_init_qp_attr: exported([CmId, Buffer, Buffer], "i32", "errno"),
  rdma_set_local_ece: exported([CmId, Buffer], "i32", "errno"),
  rdma_get_remote_ece: exported([CmId, Buffer], "i32", "errno"),
};
