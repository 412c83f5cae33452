/**
 * The verbs themselves, as C has them: every exported and static-inline verb of `verbs.h` under its name and prototype,
 * branded handles, and the layout of the structs they take. Arguments are not checked here: a wrong pointer ends the
 * process. Use the classes of `@rdma/ibverbs` where you can.
 *
 * ```ts
 * import { verbs } from "@rdma/ibverbs/ffi";
 *
 * const count = new Int32Array(1);
 * const list = verbs().ibv_get_device_list(count);
 * if (list !== null) verbs().ibv_free_device_list(list);
 * ```
 *
 * @module
 */

export { errno, errnoDescription, errnoName } from "./errno.ts";
export type * from "./handles.ts";
export {
  type Constants,
  constants,
  type Enums,
  enums,
  type Field,
  type FieldType,
  type Struct,
  type Structs,
  structs,
} from "./layout.ts";
export {
  type BlockingVerb,
  type Library,
  library,
  nonblocking,
  type NonblockingVerbs,
  verbs,
} from "./library.ts";
export type { Outcome } from "./library/calls.ts";
export { hasSymbol } from "./library/discovery.ts";
export { hasContextOp, hasOwnOp } from "./library/ops.ts";
export {
  bufferAddress,
  bufferPointer,
  handleAddress,
  handleAt,
  nativeView,
  readCString,
  readPointers,
} from "./pointers.ts";
export {
  allocStruct,
  camelCase,
  fieldBytes,
  type Place,
  readField,
  readNative,
  structToObject,
  type ValueOf,
  writeField,
} from "./struct.ts";
export { SystemError } from "./system_error.ts";
export type { Verbs } from "./verbs.ts";
export type { AhVerbs } from "./verbs/ah.ts";
export type { CqVerbs } from "./verbs/cq.ts";
export type { CqExVerbs } from "./verbs/cq_ex.ts";
export type { DeviceVerbs } from "./verbs/device.ts";
export type { DmVerbs } from "./verbs/dm.ts";
export type { FlowVerbs } from "./verbs/flow.ts";
export type { MrVerbs } from "./verbs/mr.ts";
export type { MwVerbs } from "./verbs/mw.ts";
export type { PdVerbs } from "./verbs/pd.ts";
export type { PortVerbs } from "./verbs/port.ts";
export type { QpVerbs } from "./verbs/qp.ts";
export type { QpExVerbs } from "./verbs/qp_ex.ts";
export type { ContextOp, ExtendedOp, Owner, OwnOps } from "./table/row.ts";
export type { SrqVerbs } from "./verbs/srq.ts";
export type { WqVerbs } from "./verbs/wq.ts";
