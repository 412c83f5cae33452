/**
 * Branded handle types: one for each object of verbs.h that is only ever held by pointer, so that passing a
 * context where a protection domain is wanted does not compile.
 *
 * @module
 */

/** A pointer to one kind of verbs object; `K` is the C struct's tag. */
export type Handle<K extends string = string> = Deno.PointerObject<K>;

/** `struct ibv_device *` */
export type IbvDevice = Handle<"ibv_device">;
/** `struct ibv_context *` */
export type IbvContext = Handle<"ibv_context">;
/** `struct ibv_pd *` */
export type IbvPd = Handle<"ibv_pd">;
/** `struct ibv_mr *` */
export type IbvMr = Handle<"ibv_mr">;
/** `struct ibv_dm *` */
export type IbvDm = Handle<"ibv_dm">;
/** `struct ibv_comp_channel *` */
export type IbvCompChannel = Handle<"ibv_comp_channel">;
/** `struct ibv_cq *` */
export type IbvCq = Handle<"ibv_cq">;
/** `struct ibv_cq_ex *` */
export type IbvCqEx = Handle<"ibv_cq_ex">;
/** `struct ibv_srq *` */
export type IbvSrq = Handle<"ibv_srq">;
/** `struct ibv_qp *` */
export type IbvQp = Handle<"ibv_qp">;
/** `struct ibv_qp_ex *` */
export type IbvQpEx = Handle<"ibv_qp_ex">;
/** `struct ibv_ah *` */
export type IbvAh = Handle<"ibv_ah">;
/** `struct ibv_wq *` */
export type IbvWq = Handle<"ibv_wq">;
/** `struct ibv_rwq_ind_table *` */
export type IbvRwqIndTable = Handle<"ibv_rwq_ind_table">;
/** `struct ibv_mw *` */
export type IbvMw = Handle<"ibv_mw">;
/** `struct ibv_td *` */
export type IbvTd = Handle<"ibv_td">;
/** `struct ibv_xrcd *` */
export type IbvXrcd = Handle<"ibv_xrcd">;
/** `struct ibv_flow *` */
export type IbvFlow = Handle<"ibv_flow">;
/** `struct ibv_flow_action *` */
export type IbvFlowAction = Handle<"ibv_flow_action">;
/** `struct ibv_counters *` */
export type IbvCounters = Handle<"ibv_counters">;
/** `struct ibv_dmah *` */
export type IbvDmah = Handle<"ibv_dmah">;
/** `struct ibv_comp_cntr *` */
export type IbvCompCntr = Handle<"ibv_comp_cntr">;
/** `struct ibv_buf *` */
export type IbvBuf = Handle<"ibv_buf">;
