/** What a table of verbs says about each verb. */

import type { AnyFunction } from "../function_pointer.ts";
import type { Handle } from "../handles.ts";
import type { Structs } from "../layout.ts";

/**
 * How a verb reports failure:
 * - `errno`: it returns NULL or -1 and sets errno
 * - `code`: it returns the errno value, 0 for success
 * - `negative`: it returns a count, or the negated errno value
 * - `never`: it cannot fail
 */
export type Fails = "errno" | "code" | "negative" | "never";

/** A struct whose verbs go through the context it belongs to, or through itself. */
export type Holder = keyof Structs;

/**
 * Function pointers of `ibv_context.ops` that verbs use. Its other slots are frozen for old programs.
 *
 * @category Operations of a device
 */
export type ContextOp =
  | "alloc_mw"
  | "bind_mw"
  | "dealloc_mw"
  | "poll_cq"
  | "post_recv"
  | "post_send"
  | "post_srq_recv"
  | "req_notify_cq";

/**
 * Function pointers of `verbs_context`, the struct that encloses an extended context.
 *
 * @category Operations of a device
 */
export type ExtendedOp = Exclude<
  keyof Structs["verbs_context"]["fields"],
  | `context${string}`
  | `${"_" | ""}ABI_placeholder${string}`
  | "priv"
  | "sz"
>;

/**
 * Structs that hold function pointers of their own.
 *
 * @category Operations of a device
 */
export type Owner = "efadv_cq" | "efadv_qp" | "ibv_cq_ex" | "ibv_dm" | "ibv_qp_ex" | "ibv_wq";

/**
 * Function pointers that an object holds itself.
 *
 * @category Operations of a device
 */
export interface OwnOps {
  /** Of `struct efadv_cq`. */
  readonly efadv_cq: "wc_read_sgid" | "wc_is_unsolicited";
  /** Of `struct efadv_qp`. */
  readonly efadv_qp: "wr_set_processing_hints";
  /** Of `struct ibv_cq_ex`. */
  readonly ibv_cq_ex: Extract<
    keyof Structs["ibv_cq_ex"]["fields"],
    "start_poll" | "next_poll" | "end_poll" | `read_${string}`
  >;
  /** Of `struct ibv_dm`. */
  readonly ibv_dm: "memcpy_to_dm" | "memcpy_from_dm";
  /** Of `struct ibv_qp_ex`. */
  readonly ibv_qp_ex: Exclude<
    Extract<keyof Structs["ibv_qp_ex"]["fields"], `wr_${string}`>,
    "wr_id" | "wr_flags"
  >;
  /** Of `struct ibv_wq`. */
  readonly ibv_wq: "post_recv";
}

/**
 * Where the function pointer of a static-inline verb lives: in `ibv_context.ops`, in the `verbs_context`, or in the
 * object itself. The first element is the struct of the object that the verb is called on.
 */
export type Op =
  | readonly [of: Holder, table: "ops", op: ContextOp]
  | readonly [of: Holder, table: "vctx", op: ExtendedOp]
  | { [K in Owner]: readonly [of: K, table: "own", op: OwnOps[K]] }[Owner];

/** A symbol of libibverbs. */
interface SymbolPlace {
  /** The symbol, if its name is not the verb's. */
  readonly symbol?: string;
}

/** An op. */
interface OpPlace {
  /** Where the function pointer lives. */
  readonly op: Op;
  /** The argument that is the object; the first one if left out. */
  readonly object?: 0 | 1;
  /** A verb of the hot path. It is not guarded: whoever makes the object checks once that it has the op. */
  readonly hot?: true;
}

/** What every native function has. */
interface Common<P, R> {
  /** The parameters, as FFI types. */
  readonly parameters: P;
  /** The result, as FFI type. */
  readonly result: R;
  /** How it reports failure. */
  readonly fails: Fails;
  /** It may block, so that it is offered on another thread as well. */
  readonly blocking?: true;
}

/** A native function: exported, or behind an op. */
export type NativeRow<
  P = readonly Deno.NativeType[],
  R extends Deno.NativeResultType = Deno.NativeResultType,
> = Common<P, R> & (SymbolPlace | OpPlace);

/** The row of a verb that calls an op. */
export type OpRow<P, R> = Common<P, R> & OpPlace;

/** What only a few verbs have. */
type Others = Partial<
  & Pick<OpRow<unknown, unknown>, "hot" | "object" | "blocking">
  & SymbolPlace
  & HeaderRow<AnyFunction>
>;

type Signature<P, R, O> = [parameters: P, result: R, fails: Fails, others?: O];

/** The row of a function that the library exports. */
export function exported<const P, const R, const O extends Others = object>(
  ...[parameters, result, fails, others]: Signature<P, R, O>
): Common<P, R> & NoInfer<O> {
  return { parameters, result, fails, ...others } as Common<P, R> & NoInfer<O>;
}

/** The row of a verb whose function pointer lives in `ibv_context.ops`. */
export function ops<const P, const R, const O extends Others = object>(
  of: Holder,
  op: ContextOp,
  ...signature: Signature<P, R, O>
): OpRow<P, R> & NoInfer<O> {
  return { op: [of, "ops", op], ...exported(...signature) };
}

/** The row of a verb whose function pointer lives in the `verbs_context`. */
export function vctx<const P, const R, const O extends Others = object>(
  of: Holder,
  op: ExtendedOp,
  ...signature: Signature<P, R, O>
): OpRow<P, R> & NoInfer<O> {
  return { op: [of, "vctx", op], ...exported(...signature) };
}

/** The row of a verb whose function pointer lives in the object. */
export function own<K extends Owner, const P, const R, const O extends Others = object>(
  of: K,
  op: OwnOps[K],
  ...signature: Signature<P, R, O>
): OpRow<P, R> & NoInfer<O> {
  return { op: [of, "own", op] as Op, ...exported(...signature) };
}

/** What a function of the header is made from. */
export interface Native {
  /** The row's own native function, guarded. */
  readonly call: AnyFunction;
  /** Whether the object that the verb is called on has the op. */
  readonly hasOp: (object: Handle) => boolean;
  /** The other verbs by name. */
  readonly verbs: Readonly<Record<string, AnyFunction>>;
}

/** A function that the header defines and that does more than call an op. */
export interface HeaderRow<F> {
  /** Makes the function; it gets the row's own native function and the other verbs. */
  readonly header: (native: Native) => F;
}

type Numbers = "u8" | "i8" | "u16" | "i16" | "u32" | "i32";
type BigInts = "u64" | "i64" | "usize" | "isize";

/** The FFI types that carry a TypeScript type. */
type FfiType<T> = T extends number ? Numbers
  : T extends bigint ? BigInts
  : T extends BufferSource ? "buffer"
  : T extends Deno.PointerObject<infer Brand>
    ? unknown extends Brand ? "pointer" : Deno.NativeTypedPointer<T>
  : never;

type FfiParameters<P extends readonly unknown[]> = {
  readonly [I in keyof P]: FfiType<NonNullable<P[I]>>;
};

type FfiResult<R> = [R] extends [void] ? "void" : FfiType<NonNullable<R>>;

/** The row of a verb whose TypeScript prototype is `F`: the FFI types must carry the TypeScript types. */
export type Row<F extends AnyFunction> =
  | (NativeRow<FfiParameters<Parameters<F>>, FfiResult<ReturnType<F>>> & {
    readonly header?: never;
  })
  | (HeaderRow<F> & (NativeRow | { readonly parameters?: never }));

/** The table of verbs `V`. */
export type Table<V extends { readonly [K in keyof V]: AnyFunction }> = {
  readonly [K in keyof V]-?: Row<V[K]>;
};

/** A row of any table. */
export type AnyRow = Row<AnyFunction> | NativeRow | HeaderRow<AnyFunction>;
