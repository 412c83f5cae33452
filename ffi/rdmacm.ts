/** The functions of librdmacm, which is opened when one of them is first called. */

import type { Outcome } from "./library/bind.ts";
import { BoundLibrary } from "./library/bound.ts";
import { librdmacm } from "./library/discovery.ts";
import { type Rdmacm, rdmacmRows } from "./rdmacm/functions.ts";

type Blocking = "rdma_getaddrinfo" | "rdma_resolve_addrinfo";

/** Those that may block, each on a thread of its own. */
type NonblockingRdmacm = {
  readonly [K in Blocking]: (...args: Parameters<Rdmacm[K]>) => Promise<Outcome<number>>;
};

const bound = new BoundLibrary<Rdmacm, NonblockingRdmacm>(librdmacm, () => rdmacmRows);

/**
 * All functions of librdmacm, by their C names. A function is bound when it is first read.
 *
 * @throws {Deno.errors.NotFound} If there is no librdmacm. The message names every path tried, and the package to
 * install.
 * @category Calls of verbs
 */
export function rdmacm(): Rdmacm {
  return bound.functions;
}

/** The functions of librdmacm that may block, on other threads. */
export function nonblockingRdmacm(): NonblockingRdmacm {
  return bound.nonblocking;
}

/** Opens the library and binds every function now, before tests look for resources that are left open. */
export function bindRdmacm(): void {
  bound.bindAll();
}
