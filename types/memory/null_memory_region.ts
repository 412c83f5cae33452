import { verbs } from "../../ffi/library.ts";
import { instance } from "../core/checks.ts";
import { checkHandle } from "../core/errors.ts";
import { MemoryRegion } from "./memory_region.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { Registration } from "./reg_mr.ts";

/**
 * The null memory region (`ibv_alloc_null_mr`): the device discards what it writes there, and reads zeros. It has no
 * memory, and a slice of it may have any offset.
 *
 * @example A receive that keeps the first 64 bytes only
 * ```ts
 * import type { MemoryRegion, NullMemoryRegion, QueuePair } from "@rdma/ibverbs";
 *
 * function receiveStart(qp: QueuePair, mr: MemoryRegion, nothing: NullMemoryRegion): void {
 *   qp.postRecv({ sge: [mr.slice(0, 64), nothing.slice(0, 4032)] });
 * }
 * ```
 *
 * @category Memory
 */
export class NullMemoryRegion extends MemoryRegion {
  /**
   * Allocates a null memory region.
   *
   * @throws {TypeError} If the protection domain is disposed.
   * @throws {VerbsError} If the device refuses, or its provider has no such region (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain) {
    instance(pd, ProtectionDomain, "pd");
    const handle = checkHandle(
      "ibv_alloc_null_mr",
      "allocate null memory region",
      verbs().ibv_alloc_null_mr(pd.unsafeHandle),
    );
    super(pd, new Registration({ handle, addr: 0n, length: Number.MAX_SAFE_INTEGER }));
  }
}
