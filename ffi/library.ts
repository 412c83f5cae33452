import { libc } from "./libc.ts";
import type { Outcome } from "./library/bind.ts";
import { BoundLibrary, type Library } from "./library/bound.ts";
import { libibverbs } from "./library/discovery.ts";
import { rows, type Verbs } from "./verbs.ts";

/**
 * A verb that may block.
 *
 * @category Calls of verbs
 */
export type BlockingVerb =
  | "ibv_create_ah"
  | "ibv_create_ah_from_wc"
  | "ibv_init_ah_from_wc"
  | "ibv_modify_qp"
  | "ibv_reg_mr_iova2"
  | "ibv_resolve_eth_l2_from_gid";

/**
 * The verbs that may block, each on a thread of its own. The buffers they get must not change until they return.
 *
 * @category Calls of verbs
 */
export type NonblockingVerbs = {
  readonly [K in BlockingVerb]: (
    ...args: Parameters<Verbs[K]>
  ) => Promise<Outcome<ReturnType<Verbs[K]>>>;
};

const bound = new BoundLibrary<Verbs, NonblockingVerbs>(libibverbs, rows);

/**
 * The library, opened on the first call.
 *
 * @throws {Deno.errors.NotFound} If there is no libibverbs. The message names every path tried.
 * @throws {Deno.errors.NotSupported} If the system is not supported, or Deno is older than 2.7.12.
 * @category Calls of verbs
 */
export function library(): Library {
  return bound.opened();
}

/**
 * All verbs, by their C names. A verb is bound when it is first read, which throws if libibverbs cannot be opened.
 *
 * @category Calls of verbs
 */
export function verbs(): Verbs {
  return bound.functions;
}

/**
 * The verbs that may block, on other threads.
 *
 * @category Calls of verbs
 */
export function nonblocking(): NonblockingVerbs {
  return bound.nonblocking;
}

/**
 * Opens the library and the C library and binds every verb now, for programs in which this must not happen later: tests
 * that look for resources left open, or code that must not wait.
 */
export function bindAll(): void {
  libc();
  bound.bindAll();
}

/** The verbs whose names match, in an object of their own: they are read faster there than among all verbs. */
export function someVerbs<K extends keyof Verbs>(names: RegExp): Pick<Verbs, K> {
  const all = Object.keys(rows()) as K[];
  return Object.fromEntries(
    all.filter((name) => names.test(name)).map((name) => [name, verbs()[name]]),
  ) as Pick<Verbs, K>;
}
