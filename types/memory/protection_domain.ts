/**
 * Protection domains.
 *
 * @module
 */

import type { IbvPd } from "../../ffi/handles.ts";
import { verbs } from "../../ffi/library.ts";
import { instance } from "../core/checks.ts";
import { check, checkHandle } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { Context } from "../device/context.ts";

const KIND: NativeKind<IbvPd, ProtectionDomain> = {
  name: "protection domain",
  destroy: (handle) => {
    check("ibv_dealloc_pd", "deallocate protection domain", verbs().ibv_dealloc_pd(handle));
  },
  describe: ({ context }) => ({ device: context.device.name }),
};

/**
 * A protection domain (`struct ibv_pd`). Queue pairs, memory regions and address handles work together only within one.
 * Disposing it disposes all of them.
 *
 * @example Memory of a protection domain
 * ```ts
 * import { AccessFlags, Context, MemoryRegion, ProtectionDomain } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * using mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
 * ```
 */
export class ProtectionDomain extends NativeResource<IbvPd> {
  /** The device. */
  readonly context: Context;

  /**
   * Allocates a protection domain (`ibv_alloc_pd`).
   *
   * @throws {TypeError} If the context is disposed.
   * @throws {VerbsError} If the device refuses. ENOMEM means that it has no protection domain left.
   */
  constructor(context: Context) {
    instance(context, Context, "context");
    const handle = verbs().ibv_alloc_pd(context.unsafeHandle);
    super(
      KIND,
      checkHandle("ibv_alloc_pd", "allocate protection domain", handle),
      [context],
    );
    this.context = context;
  }
}
