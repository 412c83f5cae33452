/**
 * The parameters of verbs by what they are in C, so that the tables of verbs read as their prototypes.
 *
 * @module
 */

import type {
  IbvAh,
  IbvCompChannel,
  IbvContext,
  IbvCq,
  IbvCqEx,
  IbvDevice,
  IbvDm,
  IbvMr,
  IbvPd,
  IbvQp,
  IbvQpEx,
  IbvRwqIndTable,
  IbvSrq,
  IbvWq,
} from "./handles.ts";

export const Ah = "pointer" as Deno.NativeTypedPointer<IbvAh>;
export const CompChannel = "pointer" as Deno.NativeTypedPointer<IbvCompChannel>;
export const Context = "pointer" as Deno.NativeTypedPointer<IbvContext>;
export const Cq = "pointer" as Deno.NativeTypedPointer<IbvCq>;
export const CqEx = "pointer" as Deno.NativeTypedPointer<IbvCqEx>;
export const Device = "pointer" as Deno.NativeTypedPointer<IbvDevice>;
export const Dm = "pointer" as Deno.NativeTypedPointer<IbvDm>;
export const Mr = "pointer" as Deno.NativeTypedPointer<IbvMr>;
export const Pd = "pointer" as Deno.NativeTypedPointer<IbvPd>;
export const Qp = "pointer" as Deno.NativeTypedPointer<IbvQp>;
export const QpEx = "pointer" as Deno.NativeTypedPointer<IbvQpEx>;
export const Srq = "pointer" as Deno.NativeTypedPointer<IbvSrq>;
export const Table = "pointer" as Deno.NativeTypedPointer<IbvRwqIndTable>;
export const Wq = "pointer" as Deno.NativeTypedPointer<IbvWq>;
