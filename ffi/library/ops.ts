/**
 * The function pointers behind static-inline verbs: where they are, and whether they are there.
 *
 * @module
 */

import type { Handle, IbvContext } from "../handles.ts";
import { type Field, type Structs, structs } from "../layout.ts";
import { handleAt } from "../pointers.ts";
import { readNative } from "../struct.ts";
import type { ContextOp, ExtendedOp, Holder, Op, Owner, OwnOps } from "../table/row.ts";
import { hasSymbol } from "./discovery.ts";

const context: Structs["ibv_context"]["fields"] = structs.ibv_context.fields;
const extended: Structs["verbs_context"]["fields"] = structs.verbs_context.fields;

/** `wr_flush` has no symbol to tell by. This one, of rdma-core 59, is the first that is newer, as its row says. */
const SINCE_WR_FLUSH = "ibv_alloc_dmah";
const POINTER_SIZE = 8;

function fieldsOf(of: Holder): Readonly<Record<string, Field>> {
  return structs[of].fields;
}

function contextOffset(of: Holder): number {
  return fieldsOf(of).context!.offset;
}

function contextOpOffset(op: ContextOp): number {
  return context[`ops.${op}`].offset;
}

/** From the context: the `verbs_context` lies before it. */
function extendedOffset(field: ExtendedOp | "sz"): number {
  return extended[field].offset - extended.context.offset;
}

function ownOffset(of: Holder, op: string): number {
  const fields = fieldsOf(of);
  // The struct grows at its end; the layout table is of a header that does not have this field.
  if (op === "wr_flush") return fields.wr_atomic_write!.offset + POINTER_SIZE;
  return fields[op]!.offset;
}

/** The chain of loads that leads from an object to a function pointer, as offsets in bytes. */
export function opPath([of, table, op]: Op): number[] {
  if (table === "own") return [ownOffset(of, op)];
  const offset = table === "ops" ? contextOpOffset(op) : extendedOffset(op);
  return of === "ibv_context" ? [offset] : [contextOffset(of), offset];
}

/** Whether an object has the op of a verb, by the header's own rules. */
export function hasOp(op: Op, object: Handle): boolean {
  const [of, table, name] = op;
  if (table === "own") return isSet(object, ownOffset(of, name));
  return hasContextOp(contextOf(of, object), name);
}

function contextOf(of: Holder, object: Handle): IbvContext {
  if (of === "ibv_context") return object as IbvContext;
  return handleAt<IbvContext>(readPointer(object, contextOffset(of)))!;
}

/**
 * Whether a context has an operation: a function pointer of `ibv_context.ops`, or of the `verbs_context`. A
 * `verbs_context` exists only if the ABI marker of the context and its size say so.
 *
 * @category Operations of a device
 */
export function hasContextOp(context: IbvContext, op: ContextOp | ExtendedOp): boolean {
  const { offset, size } = placeOf(op);
  return (size === 0n || isExtended(context) && extendedSize(context) >= size) &&
    isSet(context, offset);
}

/** Where a context has an operation. */
interface OpPlace {
  /** From the context, in bytes. */
  readonly offset: number;
  /** The size that the `verbs_context` has if it has the operation; 0 if the operation is not there. */
  readonly size: bigint;
}

/** Kept, because V8 looks up a name slowly that was put together: a completion queue asks for two. */
const places = new Map<ContextOp | ExtendedOp, OpPlace>();

function placeOf(op: ContextOp | ExtendedOp): OpPlace {
  const known = places.get(op);
  if (known !== undefined) return known;
  const place = isExtendedOp(op)
    ? {
      offset: extendedOffset(op),
      size: BigInt(structs.verbs_context.size - extended[op].offset),
    }
    : { offset: contextOpOffset(op), size: 0n };
  places.set(op, place);
  return place;
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

function isExtendedOp(op: ContextOp | ExtendedOp): op is ExtendedOp {
  return op in extended;
}

/** `__VERBS_ABI_IS_EXTENDED`: all bits set. */
function isExtended(handle: IbvContext): boolean {
  return readNative(handle, context.abi_compat) === 0xffff_ffff_ffff_ffffn;
}

function extendedSize(handle: IbvContext): bigint {
  return readNative(handle, { offset: extendedOffset("sz"), type: "u64" });
}

function readPointer(object: Handle, offset: number): bigint {
  return readNative(object, { offset, type: "ptr" });
}

function isSet(object: Handle, offset: number): boolean {
  return readPointer(object, offset) !== 0n;
}
