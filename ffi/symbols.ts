/**
 * The exported verbs of `verbs.h`, each under its C prototype. Two tables: the verbs that report by errno, which are
 * called so that errno is kept, and those that return their error or cannot fail, which are called as they are.
 *
 * @module
 */

import { Ah, CompChannel, Context, Cq, Device, Dm, Mr, Pd, Qp, QpEx, Srq } from "./parameters.ts";

/** A struct or out-parameter of ours, given by its buffer. */
const Buffer = "buffer";
/** A string or array that the library owns, or a struct of ours that is made once and reused. */
const Pointer = "pointer";
/** `void *` and `size_t` values that name memory by address. */
const Address = "u64";

/** Verbs that report failure by errno: they return NULL, or -1. */
export const errnoSymbols = {
  // struct ibv_device **ibv_get_device_list(int *num_devices)
  ibv_get_device_list: { parameters: [Buffer], result: Pointer },
  // struct ibv_context *ibv_open_device(struct ibv_device *device)
  ibv_open_device: { parameters: [Device], result: Context },
  // int ibv_close_device(struct ibv_context *context)
  ibv_close_device: { parameters: [Context], result: "i32" },
  // struct ibv_context *ibv_import_device(int cmd_fd)
  ibv_import_device: { parameters: ["i32"], result: Context },
  // int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
  ibv_get_async_event: { parameters: [Context, Pointer], result: "i32" },
  // int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
  ibv_query_gid: { parameters: [Context, "u8", "i32", Buffer], result: "i32" },
  // int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
  ibv_query_pkey: { parameters: [Context, "u8", "i32", Buffer], result: "i32" },
  // int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
  ibv_get_pkey_index: { parameters: [Context, "u8", "u16"], result: "i32" },
  // struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
  ibv_alloc_pd: { parameters: [Context], result: Pd },
  // struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
  ibv_import_pd: { parameters: [Context, "u32"], result: Pd },
  // struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
  ibv_reg_mr: { parameters: [Pd, Address, "usize", "i32"], result: Mr },
  // struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
  ibv_reg_mr_iova: { parameters: [Pd, Address, "usize", "u64", "i32"], result: Mr },
  // struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
  ibv_reg_mr_iova2: { parameters: [Pd, Address, "usize", "u64", "u32"], result: Mr },
  // struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
  ibv_reg_dmabuf_mr: { parameters: [Pd, "u64", "usize", "u64", "i32", "i32"], result: Mr },
  // struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
  ibv_import_mr: { parameters: [Pd, "u32"], result: Mr },
  // int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
  ibv_rereg_mr: { parameters: [Mr, "i32", Pd, Address, "usize", "i32"], result: "i32" },
  // struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
  ibv_import_dm: { parameters: [Context, "u32"], result: Dm },
  // struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
  ibv_create_comp_channel: { parameters: [Context], result: CompChannel },
  // struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel, int comp_vector)
  ibv_create_cq: { parameters: [Context, "i32", Address, CompChannel, "i32"], result: Cq },
  // int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
  ibv_get_cq_event: { parameters: [CompChannel, Buffer, Buffer], result: "i32" },
  // struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr)
  ibv_create_srq: { parameters: [Pd, Buffer], result: Srq },
  // struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
  ibv_create_qp: { parameters: [Pd, Buffer], result: Qp },
  // struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
  ibv_create_ah: { parameters: [Pd, Buffer], result: Ah },
  // int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
  ibv_init_ah_from_wc: { parameters: [Context, "u8", Buffer, Buffer, Buffer], result: "i32" },
  // struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
  ibv_create_ah_from_wc: { parameters: [Pd, Buffer, Buffer, "u8"], result: Ah },
  // int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[6], uint16_t *vid)
  ibv_resolve_eth_l2_from_gid: { parameters: [Context, Buffer, Buffer, Buffer], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** Verbs that return an errno value, a count, or something that is always there. */
export const plainSymbols = {
  // void ibv_free_device_list(struct ibv_device **list)
  ibv_free_device_list: { parameters: [Pointer], result: "void" },
  // const char *ibv_get_device_name(struct ibv_device *device)
  ibv_get_device_name: { parameters: [Device], result: Pointer },
  // int ibv_get_device_index(struct ibv_device *device)
  ibv_get_device_index: { parameters: [Device], result: "i32" },
  // __be64 ibv_get_device_guid(struct ibv_device *device)
  ibv_get_device_guid: { parameters: [Device], result: "u64" },
  // const char *ibv_node_type_str(enum ibv_node_type node_type)
  ibv_node_type_str: { parameters: ["i32"], result: Pointer },
  // const char *ibv_port_state_str(enum ibv_port_state port_state)
  ibv_port_state_str: { parameters: ["u32"], result: Pointer },
  // const char *ibv_event_type_str(enum ibv_event_type event)
  ibv_event_type_str: { parameters: ["u32"], result: Pointer },
  // const char *ibv_wc_status_str(enum ibv_wc_status status)
  ibv_wc_status_str: { parameters: ["u32"], result: Pointer },
  // void ibv_ack_async_event(struct ibv_async_event *event)
  ibv_ack_async_event: { parameters: [Pointer], result: "void" },
  // int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
  ibv_query_device: { parameters: [Context, Buffer], result: "i32" },
  // int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr)
  ibv_query_port: { parameters: [Context, "u8", Buffer], result: "i32" },
  // int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index, struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
  _ibv_query_gid_ex: { parameters: [Context, "u32", "u32", Buffer, "u32", "usize"], result: "i32" },
  // ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries, uint32_t flags, size_t entry_size)
  _ibv_query_gid_table: { parameters: [Context, Buffer, "usize", "u32", "usize"], result: "isize" },
  // int ibv_dealloc_pd(struct ibv_pd *pd)
  ibv_dealloc_pd: { parameters: [Pd], result: "i32" },
  // void ibv_unimport_pd(struct ibv_pd *pd)
  ibv_unimport_pd: { parameters: [Pd], result: "void" },
  // int ibv_dereg_mr(struct ibv_mr *mr)
  ibv_dereg_mr: { parameters: [Mr], result: "i32" },
  // void ibv_unimport_mr(struct ibv_mr *mr)
  ibv_unimport_mr: { parameters: [Mr], result: "void" },
  // void ibv_unimport_dm(struct ibv_dm *dm)
  ibv_unimport_dm: { parameters: [Dm], result: "void" },
  // int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
  ibv_destroy_comp_channel: { parameters: [CompChannel], result: "i32" },
  // int ibv_resize_cq(struct ibv_cq *cq, int cqe)
  ibv_resize_cq: { parameters: [Cq, "i32"], result: "i32" },
  // int ibv_destroy_cq(struct ibv_cq *cq)
  ibv_destroy_cq: { parameters: [Cq], result: "i32" },
  // void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
  ibv_ack_cq_events: { parameters: [Cq, "u32"], result: "void" },
  // int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask)
  ibv_modify_srq: { parameters: [Srq, Buffer, "i32"], result: "i32" },
  // int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr)
  ibv_query_srq: { parameters: [Srq, Buffer], result: "i32" },
  // int ibv_destroy_srq(struct ibv_srq *srq)
  ibv_destroy_srq: { parameters: [Srq], result: "i32" },
  // int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
  ibv_modify_qp: { parameters: [Qp, Buffer, "i32"], result: "i32" },
  // int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
  ibv_query_qp: { parameters: [Qp, Buffer, "i32", Buffer], result: "i32" },
  // int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
  ibv_query_qp_data_in_order: { parameters: [Qp, "u32", "u32"], result: "i32" },
  // struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
  ibv_qp_to_qp_ex: { parameters: [Qp], result: QpEx },
  // int ibv_destroy_qp(struct ibv_qp *qp)
  ibv_destroy_qp: { parameters: [Qp], result: "i32" },
  // int ibv_destroy_ah(struct ibv_ah *ah)
  ibv_destroy_ah: { parameters: [Ah], result: "i32" },
  // int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
  ibv_attach_mcast: { parameters: [Qp, Buffer, "u16"], result: "i32" },
  // int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
  ibv_detach_mcast: { parameters: [Qp, Buffer, "u16"], result: "i32" },
  // int ibv_fork_init(void)
  ibv_fork_init: { parameters: [], result: "i32" },
  // enum ibv_fork_status ibv_is_fork_initialized(void)
  ibv_is_fork_initialized: { parameters: [], result: "u32" },
  // int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
  ibv_set_ece: { parameters: [Qp, Buffer], result: "i32" },
  // int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
  ibv_query_ece: { parameters: [Qp, Buffer], result: "i32" },
  // int ibv_rate_to_mult(enum ibv_rate rate)
  ibv_rate_to_mult: { parameters: ["u32"], result: "i32" },
  // enum ibv_rate mult_to_ibv_rate(int mult)
  mult_to_ibv_rate: { parameters: ["i32"], result: "u32" },
  // int ibv_rate_to_mbps(enum ibv_rate rate)
  ibv_rate_to_mbps: { parameters: ["u32"], result: "i32" },
  // enum ibv_rate mbps_to_ibv_rate(int mbps)
  mbps_to_ibv_rate: { parameters: ["i32"], result: "u32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** Errno-reporting verbs that may block, and so are offered off the event loop as well. */
export const blockingVerbs = [
  "ibv_reg_mr_iova2",
  "ibv_create_ah",
  "ibv_init_ah_from_wc",
  "ibv_create_ah_from_wc",
  "ibv_resolve_eth_l2_from_gid",
] as const satisfies readonly (keyof typeof errnoSymbols)[];
