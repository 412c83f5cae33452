/** The parameters and results of verbs by what they are in C, so that the tables of verbs read as their prototypes. */

import type {
  Handle,
  IbvAh,
  IbvBuf,
  IbvCompChannel,
  IbvCompCntr,
  IbvContext,
  IbvCounters,
  IbvCq,
  IbvCqEx,
  IbvDevice,
  IbvDm,
  IbvDmah,
  IbvFlow,
  IbvFlowAction,
  IbvMr,
  IbvMw,
  IbvPd,
  IbvQp,
  IbvQpEx,
  IbvRwqIndTable,
  IbvSrq,
  IbvTd,
  IbvWq,
  IbvXrcd,
} from "./handles.ts";

/** A struct, an array or an out-parameter, given by its buffer. */
export const Buffer = "buffer";
/** Memory of the library, or a struct that is made once and reused: a pointer costs 5 ns less than a buffer. */
export const Pointer = "pointer";
/** Memory by its address: a `void *` that the verb only hands on, or one into a larger region. */
export const Address = "u64";

type Typed<H extends Handle> = Deno.NativeTypedPointer<H>;

export const Ah = "pointer" as Typed<IbvAh>;
export const Buf = "pointer" as Typed<IbvBuf>;
export const CompChannel = "pointer" as Typed<IbvCompChannel>;
export const CompCntr = "pointer" as Typed<IbvCompCntr>;
export const Context = "pointer" as Typed<IbvContext>;
export const Counters = "pointer" as Typed<IbvCounters>;
export const Cq = "pointer" as Typed<IbvCq>;
export const CqEx = "pointer" as Typed<IbvCqEx>;
export const Device = "pointer" as Typed<IbvDevice>;
export const Dm = "pointer" as Typed<IbvDm>;
export const Dmah = "pointer" as Typed<IbvDmah>;
export const Flow = "pointer" as Typed<IbvFlow>;
export const FlowAction = "pointer" as Typed<IbvFlowAction>;
export const Mr = "pointer" as Typed<IbvMr>;
export const Mw = "pointer" as Typed<IbvMw>;
export const Pd = "pointer" as Typed<IbvPd>;
export const Qp = "pointer" as Typed<IbvQp>;
export const QpEx = "pointer" as Typed<IbvQpEx>;
export const Srq = "pointer" as Typed<IbvSrq>;
export const Table = "pointer" as Typed<IbvRwqIndTable>;
export const Td = "pointer" as Typed<IbvTd>;
export const Wq = "pointer" as Typed<IbvWq>;
export const Xrcd = "pointer" as Typed<IbvXrcd>;
