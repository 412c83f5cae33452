/**
 * A pointer to one kind of verbs object; `K` is the C struct's tag.
 *
 * @category Native handles
 */
export type Handle<K extends string = string> = Deno.PointerObject<K>;

/**
 * A device in the list of devices: `struct ibv_device *`.
 *
 * @category Native handles
 */
export type IbvDevice = Handle<"ibv_device">;
/**
 * An open device: `struct ibv_context *`.
 *
 * @category Native handles
 */
export type IbvContext = Handle<"ibv_context">;
/**
 * A protection domain: `struct ibv_pd *`.
 *
 * @category Native handles
 */
export type IbvPd = Handle<"ibv_pd">;
/**
 * A memory region: `struct ibv_mr *`.
 *
 * @category Native handles
 */
export type IbvMr = Handle<"ibv_mr">;
/**
 * Memory of the device: `struct ibv_dm *`.
 *
 * @category Native handles
 */
export type IbvDm = Handle<"ibv_dm">;
/**
 * A completion channel: `struct ibv_comp_channel *`.
 *
 * @category Native handles
 */
export type IbvCompChannel = Handle<"ibv_comp_channel">;
/**
 * A completion queue: `struct ibv_cq *`.
 *
 * @category Native handles
 */
export type IbvCq = Handle<"ibv_cq">;
/**
 * A completion queue of `ibv_create_cq_ex`: `struct ibv_cq_ex *`.
 *
 * @category Native handles
 */
export type IbvCqEx = Handle<"ibv_cq_ex">;
/**
 * A shared receive queue: `struct ibv_srq *`.
 *
 * @category Native handles
 */
export type IbvSrq = Handle<"ibv_srq">;
/**
 * A queue pair: `struct ibv_qp *`.
 *
 * @category Native handles
 */
export type IbvQp = Handle<"ibv_qp">;
/**
 * A queue pair of `ibv_create_qp_ex`, to build requests with `ibv_wr_start`: `struct ibv_qp_ex *`.
 *
 * @category Native handles
 */
export type IbvQpEx = Handle<"ibv_qp_ex">;
/**
 * An address handle: `struct ibv_ah *`.
 *
 * @category Native handles
 */
export type IbvAh = Handle<"ibv_ah">;
/**
 * A work queue: `struct ibv_wq *`.
 *
 * @category Native handles
 */
export type IbvWq = Handle<"ibv_wq">;
/**
 * A receive work queue (RWQ) indirection table: `struct ibv_rwq_ind_table *`.
 *
 * @category Native handles
 */
export type IbvRwqIndTable = Handle<"ibv_rwq_ind_table">;
/**
 * A memory window: `struct ibv_mw *`.
 *
 * @category Native handles
 */
export type IbvMw = Handle<"ibv_mw">;
/**
 * A thread domain: `struct ibv_td *`.
 *
 * @category Native handles
 */
export type IbvTd = Handle<"ibv_td">;
/**
 * An XRC domain: `struct ibv_xrcd *`.
 *
 * @category Native handles
 */
export type IbvXrcd = Handle<"ibv_xrcd">;
/**
 * A flow rule: `struct ibv_flow *`.
 *
 * @category Native handles
 */
export type IbvFlow = Handle<"ibv_flow">;
/**
 * A flow action: `struct ibv_flow_action *`.
 *
 * @category Native handles
 */
export type IbvFlowAction = Handle<"ibv_flow_action">;
/**
 * A set of counters: `struct ibv_counters *`.
 *
 * @category Native handles
 */
export type IbvCounters = Handle<"ibv_counters">;
/**
 * A DMA handle: `struct ibv_dmah *`.
 *
 * @category Native handles
 */
export type IbvDmah = Handle<"ibv_dmah">;
/**
 * A completion counter: `struct ibv_comp_cntr *`.
 *
 * @category Native handles
 */
export type IbvCompCntr = Handle<"ibv_comp_cntr">;
/**
 * A connection identifier: `struct rdma_cm_id *`.
 *
 * @category Native handles
 */
export type RdmaCmId = Handle<"rdma_cm_id">;
/**
 * A channel of connection events: `struct rdma_event_channel *`.
 *
 * @category Native handles
 */
export type RdmaEventChannel = Handle<"rdma_event_channel">;
/**
 * Memory that a verb allocated: `struct ibv_buf *`.
 *
 * @category Native handles
 */
export type IbvBuf = Handle<"ibv_buf">;
/**
 * What an Elastic Fabric Adapter adds to an `ibv_cq_ex`: `struct efadv_cq *`.
 *
 * @category Native handles
 */
export type EfadvCq = Handle<"efadv_cq">;
/**
 * What an Elastic Fabric Adapter adds to an `ibv_qp_ex`: `struct efadv_qp *`.
 *
 * @category Native handles
 */
export type EfadvQp = Handle<"efadv_qp">;
