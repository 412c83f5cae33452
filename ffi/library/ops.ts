/** The function pointers behind static-inline verbs: where they are, and whether an object has them. */

import type { Handle, IbvContext } from "../handles.ts";
import { type Field, structs } from "../layout.ts";
import { handleAddress, handleAt } from "../pointers.ts";
import { readNative } from "../struct.ts";
import type { ContextOp, ExtendedOp, Holder, Op, Owner, OwnOps } from "../table/row.ts";
import { hasSymbol } from "./discovery.ts";

const CONTEXT: Fields = structs.ibv_context.fields;
const EXTENDED: Fields = structs.verbs_context.fields;
/** The context lies within the `verbs_context`, and operations are found from it. */
const INNER = EXTENDED.context!.offset;

/**
 * Builders that older versions of `ibv_qp_ex` lack, each with a symbol of about the same age: without it the struct has
 * no place for the builder. The symbol of `wr_atomic_write`, which came with rdma-core 44, is of 36, because none came
 * in between. Providers of 36 to 43 refuse to make queue pairs for it.
 */
const MARKERS: Readonly<Record<string, string>> = {
  wr_atomic_write: "ibv_query_qp_data_in_order",
  wr_flush: "ibv_wr_opcode_str",
};

type Fields = Readonly<Record<string, Field>>;

function fieldsOf(of: Holder): Fields {
  return structs[of].fields;
}

function ownOffset(of: Holder, op: string): number {
  return fieldsOf(of)[op]!.offset;
}

/** Whether the installed libibverbs may have an op: otherwise there is no place for it. */
export function mayHaveOp(op: string): boolean {
  const marker = MARKERS[op];
  return marker === undefined || hasSymbol(marker);
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

/** The address of the function behind an op of an object. */
export function opAddress(op: Op, object: Handle): bigint {
  const load = (at: bigint, offset: number): bigint =>
    readNative(handleAt<Handle>(at)!, { offset, type: "ptr" });
  return opPath(op).reduce(load, handleAddress(object));
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

/** Whether there is a `verbs_context` that is long enough to have a field. */
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
  return mayHaveOp(op) && isSet(object, ownOffset(of, op));
}

function isSet(object: Handle, offset: number): boolean {
  return readNative(object, { offset, type: "ptr" }) !== 0n;
}
