/**
 * The verbs themselves, as C has them: every exported and static-inline verb under its name and prototype, branded
 * handles, and the layout of the structs they take. Nothing is checked here: a wrong pointer ends the process. The
 * classes of `@rdma/ibverbs` are the safe way in.
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
  type ContextOp,
  type ExtendedField,
  hasContextOp,
  hasExtendedOp,
  type Inline,
  inlineVerbs,
  type Op,
  opPath,
} from "./inlines.ts";
export {
  aarch64,
  constants,
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
  type Functions,
  type InlineDefinitions,
  type Library,
  library,
  nonblocking,
  type NonblockingVerbs,
  type Outcome,
  type Verbs,
  verbs,
} from "./library.ts";
export {
  allocStruct,
  fieldBytes,
  type Place,
  readField,
  readNative,
  type ValueOf,
  writeField,
} from "./struct.ts";
export { blockingVerbs, errnoSymbols, plainSymbols } from "./symbols.ts";
