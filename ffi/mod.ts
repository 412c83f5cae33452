/**
 * The verbs as C has them. Each public function of `verbs.h` has its C name and its C arguments, static-inline
 * functions included. The module needs `--allow-ffi`.
 *
 * **Nothing is checked here.** A wrong pointer ends the process, or overwrites its memory. Use the classes of
 * `@rdma/ibverbs` where you can.
 *
 * This program lists the devices:
 *
 * ```ts
 * import { type IbvDevice, readCString, readPointers, verbs } from "@rdma/ibverbs/ffi";
 *
 * const count = new Int32Array(1);
 * const list = verbs().ibv_get_device_list(count);
 * if (list === null) throw new Error("Cannot list devices");
 * for (const device of readPointers(list, count[0]!)) {
 *   const name = verbs().ibv_get_device_name(device as IbvDevice);
 *   if (name !== null) console.log(readCString(name));
 * }
 * verbs().ibv_free_device_list(list);
 * ```
 *
 * On a host with a soft-RoCE device it prints `rxe0`.
 *
 * **Objects.** `verbs` returns an object with all verbs, each of which is bound when it is first read. `nonblocking`
 * returns those that may block; they run on another thread and return promises. A verbs object is a pointer with a type
 * of its own: `IbvPd` for a protection domain.
 *
 * **Errors.** A verb that fails returns what it returns in C. `errno` returns the errno of the last verb that reports
 * failure by it. An operation that the device lacks fails with EOPNOTSUPP.
 *
 * **Structs.** `structs` has the size of each struct and the offset of each field. `allocStruct`,
 * `readField` and `writeField` use it. `enums` and `constants` have the numbers.
 *
 * **Where to go next.**
 *
 * - The prototypes of all verbs: `Verbs`.
 * - Whether a device has an operation: `hasContextOp`, `hasOwnOp`; whether libibverbs has a function:
 *   `hasSymbol`.
 * - From a class to its handle, to call a verb for it: `unsafeHandle` of each class of `@rdma/ibverbs`.
 *
 * @module
 */

export { errno, errnoDescription, errnoName } from "./errno.ts";
export type * from "./handles.ts";
export {
  type CEnum,
  type Constants,
  constants,
  type Enums,
  enums,
  type Field,
  type FieldType,
  type Struct,
  type Structs,
  structs,
  x86_64,
} from "./layout.ts";
export {
  type BlockingVerb,
  library,
  nonblocking,
  type NonblockingVerbs,
  verbs,
} from "./library.ts";
export type { Outcome } from "./library/bind.ts";
export type { Library } from "./library/bound.ts";
export { hasSymbol } from "./library/discovery.ts";
export { hasContextOp, hasOwnOp } from "./library/ops.ts";
export type { Members } from "./members.ts";
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
export { rdmacm } from "./rdmacm.ts";
export type { Rdmacm } from "./rdmacm/functions.ts";
export { efa } from "./efa.ts";
export type { Efa } from "./efa/functions.ts";
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
