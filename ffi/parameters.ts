/** The parameters and results of verbs by what they are in C, so that the tables of verbs read as their prototypes. */

import type { Handle } from "./handles.ts";

/** A struct, an array or an out-parameter, given by its buffer. */
export const Buffer = "buffer";
/** Memory of the library, or a struct that is made once and reused: a pointer costs 5 ns less than a buffer. */
export const Pointer = "pointer";
/** Memory by its address: a `void *` that the verb only passes on, or one into a larger region. */
export const Address = "u64";

/** A pointer to a kind of verbs object, by its C struct. */
type Typed<K extends string> = Deno.NativeTypedPointer<Handle<K>>;

export const Ah = "pointer" as Typed<"ibv_ah">;
export const Buf = "pointer" as Typed<"ibv_buf">;
export const CmId = "pointer" as Typed<"rdma_cm_id">;
export const CompChannel = "pointer" as Typed<"ibv_comp_channel">;
export const CompCntr = "pointer" as Typed<"ibv_comp_cntr">;
export const Context = "pointer" as Typed<"ibv_context">;
export const Counters = "pointer" as Typed<"ibv_counters">;
export const Cq = "pointer" as Typed<"ibv_cq">;
export const CqEx = "pointer" as Typed<"ibv_cq_ex">;
export const Device = "pointer" as Typed<"ibv_device">;
export const Dm = "pointer" as Typed<"ibv_dm">;
export const Dmah = "pointer" as Typed<"ibv_dmah">;
export const EfaCq = "pointer" as Typed<"efadv_cq">;
export const EfaQp = "pointer" as Typed<"efadv_qp">;
export const EventChannel = "pointer" as Typed<"rdma_event_channel">;
export const Flow = "pointer" as Typed<"ibv_flow">;
export const FlowAction = "pointer" as Typed<"ibv_flow_action">;
export const Mr = "pointer" as Typed<"ibv_mr">;
export const Mw = "pointer" as Typed<"ibv_mw">;
export const Pd = "pointer" as Typed<"ibv_pd">;
export const Qp = "pointer" as Typed<"ibv_qp">;
export const QpEx = "pointer" as Typed<"ibv_qp_ex">;
export const Srq = "pointer" as Typed<"ibv_srq">;
export const Table = "pointer" as Typed<"ibv_rwq_ind_table">;
export const Td = "pointer" as Typed<"ibv_td">;
export const Wq = "pointer" as Typed<"ibv_wq">;
export const Xrcd = "pointer" as Typed<"ibv_xrcd">;
