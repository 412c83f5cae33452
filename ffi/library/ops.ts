/** The function pointers behind static-inline verbs: where they are, and whether they are there. */

import type { Handle, IbvContext } from "../handles.ts";
import { type Field, structs } from "../layout.ts";
import { handleAt } from "../pointers.ts";
import { readNative } from "../struct.ts";
import type { ContextOp, ExtendedOp, Holder, Op, Owner, OwnOps } from "../table/row.ts";
import { hasSymbol } from "./discovery.ts";

const CONTEXT: Fields = structs.ibv_context.fields;
const EXTENDED: Fields = structs.verbs_context.fields;
/** The context lies within the `verbs_context`, and operations are found from it. */
const INNER = EXTENDED.context!.offset;

/** `wr_flush` has no symbol to tell by. This one, of rdma-core 59, is the first that is newer, as its row says. */
const SINCE_WR_FLUSH = "ibv_alloc_dmah";
const POINTER_SIZE = 8;

type Fields = Readonly<Record<string, Field>>;

function fieldsOf(of: Holder): Fields {
  return structs[of].fields;
}

function ownOffset(of: Holder, op: string): number {
  const fields = fieldsOf(of);
  // The struct grows at its end; the layout table is of a header that does not have this field.
  if (op === "wr_flush") return fields.wr_atomic_write!.offset + POINTER_SIZE;
  return fields[op]!.offset;
}

function contextOpOffset(op: ContextOp | ExtendedOp): number {
  const field = EXTENDED[op];
  return field === undefined ? CONTEXT[`ops.${op}`]!.offset : field.offset - INNER;
}

/** The chain of loads that leads from an object to a function pointer, as offsets in bytes. */
export function opPath([of, table, op]: Op): number[] {
  if (table === "own") return [ownOffset(of, op)];
  const offset = contextOpOffset(op);
  return of === "ibv_context" ? [offset] : [fieldsOf(of).context!.offset, offset];
}

/** Whether an object has the op of a verb, by the header's own rules. */
export function hasOp([of, table, op]: Op, object: Handle): boolean {
  if (table === "own") return isSet(object, ownOffset(of, op));
  if (of === "ibv_context") return hasContextOp(object as IbvContext, op);
  const context = readNative(object, { offset: fieldsOf(of).context!.offset, type: "ptr" });
  return hasContextOp(handleAt<IbvContext>(context)!, op);
}

/**
 * Whether a context has an operation: a function pointer of `ibv_context.ops`, or of the `verbs_context`. A
 * `verbs_context` exists only if the ABI marker of the context and its size say so.
 *
 * @category Operations of a device
 */
export function hasContextOp(context: IbvContext, op: ContextOp | ExtendedOp): boolean {
  return (!(op in EXTENDED) || reaches(context, EXTENDED[op]!)) &&
    isSet(context, contextOpOffset(op));
}

/** Whether there is a `verbs_context` that is as long as to have a field. */
function reaches(context: IbvContext, { offset }: Field): boolean {
  // __VERBS_ABI_IS_EXTENDED: all bits set
  if (readNative(context, structs.ibv_context.fields.abi_compat) !== 0xffff_ffff_ffff_ffffn) {
    return false;
  }
  const size = readNative(context, { offset: EXTENDED.sz!.offset - INNER, type: "u64" });
  return size >= BigInt(structs.verbs_context.size - offset);
}

/**
 * Whether an object has a function pointer of its own. Some providers leave out those that they do not support, for
 * instance `post_recv` of a work queue.
 *
 * @category Operations of a device
 */
export function hasOwnOp<K extends Owner>(object: Handle<K>, of: K, op: OwnOps[K]): boolean {
  if (op === "wr_flush" && !hasSymbol(SINCE_WR_FLUSH)) return false;
  return isSet(object, ownOffset(of, op));
}

function isSet(object: Handle, offset: number): boolean {
  return readNative(object, { offset, type: "ptr" }) !== 0n;
}
