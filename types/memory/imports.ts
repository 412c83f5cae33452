/**
 * Objects of another process that shares the device.
 *
 * @module
 */

import { verbs } from "../../ffi/library.ts";
import { structs } from "../../ffi/layout.ts";
import { readNative } from "../../ffi/struct.ts";
import { instance, snapshot, uint32, uint64 } from "../core/checks.ts";
import { checkHandle } from "../core/errors.ts";
import { Context } from "../device/context.ts";
import { MemoryRegion } from "./memory_region.ts";
import { AdoptedPd, ProtectionDomain } from "./protection_domain.ts";
import { Registration } from "./reg_mr.ts";

/**
 * A protection domain of another process that shares the device (`ibv_import_pd`). The context must be imported from that
 * process, too. Closing the object leaves the domain to the process that made it.
 *
 * @category Protection domains
 */
export class ImportedProtectionDomain extends ProtectionDomain {
  /**
   * Imports a protection domain.
   *
   * @param context The device, which the other process shares.
   * @param handle The number of the domain: {@linkcode ProtectionDomain.handle} in the other process.
   * @throws {TypeError} If the context is disposed.
   * @throws {RangeError} If the number does not fit 32 bits.
   * @throws {VerbsError} If there is no such domain, or the provider cannot import (EOPNOTSUPP).
   */
  constructor(context: Context, handle: number) {
    instance(context, Context, "context");
    uint32(handle, "handle");
    const imported = checkHandle(
      "ibv_import_pd",
      "import protection domain",
      verbs().ibv_import_pd(context.unsafeHandle, handle),
      { detail: () => `handle ${handle}` },
    );
    super(
      context,
      new AdoptedPd({ handle: imported, destroy: (pd) => verbs().ibv_unimport_pd(pd) }),
    );
  }
}

/**
 * Where an {@linkcode ImportedMemoryRegion} starts.
 *
 * @category Memory
 */
export interface ImportMrOptions {
  /** The address of the first byte in work requests: {@linkcode MemoryRegion.addr} in the other process. */
  readonly addr: bigint | number;
}

/**
 * A memory region of another process that shares the device (`ibv_import_mr`). This process cannot read its bytes; work
 * requests can use it. Closing the object leaves the region to the process that made it.
 *
 * @category Memory
 */
export class ImportedMemoryRegion extends MemoryRegion {
  /**
   * Imports a memory region.
   *
   * @param pd The protection domain of the region, which is imported too.
   * @param handle The number of the region: {@linkcode MemoryRegion.handle} in the other process.
   * @param options The address of the region, which the kernel does not tell.
   * @throws {TypeError} If the protection domain is disposed, or an option has the wrong type or is missing.
   * @throws {RangeError} If a number does not fit its C type.
   * @throws {VerbsError} If there is no such region, or the provider cannot import (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain, handle: number, options: ImportMrOptions) {
    instance(pd, ProtectionDomain, "pd");
    const addr = uint64(snapshot(options, "options", ["addr"]).addr, "addr");
    uint32(handle, "handle");
    const mr = checkHandle(
      "ibv_import_mr",
      "import memory region",
      verbs().ibv_import_mr(pd.unsafeHandle, handle),
      { detail: () => `handle ${handle}` },
    );
    const length = Number(readNative(mr, structs.ibv_mr.fields.length));
    const destroy = (handle: typeof mr): void => verbs().ibv_unimport_mr(handle);
    super(pd, new Registration({ handle: mr, addr, length, destroy }));
  }
}
