import type { IbvPd } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { readNative } from "../../ffi/struct.ts";
import { uint32 } from "../../internal/checks.ts";
import { made, partsIn } from "../../internal/made.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import type { Resource } from "../core/resource.ts";
import { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";

/** What a protection domain is made from that exists natively. */
export interface PdParts {
  readonly context: Context;
  readonly handle: IbvPd;
  /** The domain that decides what works together, if that is another one. */
  readonly base?: ProtectionDomain | undefined;
  /** The objects that it was made from, besides the context. */
  readonly parents?: readonly Resource[] | undefined;
  readonly destroy?: ((handle: IbvPd) => void) | undefined;
}

/** What the library reads of a protection domain. */
export interface PdCore {
  readonly context: Context;
  /**
   * The domain that decides which objects work together: for a parent domain the one that it was made from, otherwise
   * itself.
   */
  readonly base: ProtectionDomain;
}

/** The inside of a protection domain. */
export let pdCore: (pd: ProtectionDomain) => PdCore;

/**
 * A protection domain (`struct ibv_pd`): a group of objects. A queue pair uses only memory regions and address handles of
 * its own domain. Most programs need one domain. Disposing it disposes all objects of the group.
 *
 * @example Memory of a protection domain
 * ```ts
 * import { AccessFlags, Context, MemoryRegion, ProtectionDomain } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * using mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
 * ```
 *
 * @category Protection domains
 */
export class ProtectionDomain extends NativeResource<IbvPd> {
  static readonly #KIND: NativeKind<IbvPd, ProtectionDomain> = {
    name: "protection domain",
    destroy: (handle, pd) => pd.#destroy(handle),
    describe: ({ context }) => ({ device: context.device.name }),
  };

  /** The device. */
  readonly context: Context;
  readonly #core: PdCore;
  readonly #destroy: (handle: IbvPd) => void;

  static {
    pdCore = (pd) => pd.#core;
  }

  /**
   * Allocates a protection domain (`ibv_alloc_pd`).
   *
   * @throws {VerbsError} If the device refuses. ENOMEM means that it has no protection domain left.
   */
  constructor(context: Context) {
    const parts: PdParts = partsIn(context) ?? alloc(context);
    super(ProtectionDomain.#KIND, parts.handle, [parts.context, ...parts.parents ?? []]);
    this.context = parts.context;
    this.#core = { context: parts.context, base: parts.base ?? this };
    this.#destroy = parts.destroy ?? dealloc;
  }

  /**
   * Imports a protection domain of another process that shares the device (`ibv_import_pd`). Closing the object leaves
   * the domain to the process that made it.
   *
   * @param context The device, which is imported from that process, too.
   * @param handle The number of the domain: `ProtectionDomain.handle` in the other process.
   * @throws {VerbsError} If there is no such domain, or the provider cannot import (EOPNOTSUPP).
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  static import(context: Context, handle: number): ProtectionDomain {
    instance(context, Context, "context");
    uint32(handle, "handle");
    const args = [context.unsafeHandle, handle] as const;
    const imported = call("ibv_import_pd", "import protection domain", args, {
      detail: () => `handle ${handle}`,
    });
    const destroy = (pd: IbvPd): void => verbs().ibv_unimport_pd(pd);
    return new ProtectionDomain(made<PdParts>({ context, handle: imported, destroy }));
  }

  /** The number of the domain in the kernel. Another process that shares the device can import the domain by it. */
  get handle(): number {
    return readNative(this.unsafeHandle, structs.ibv_pd.fields.handle);
  }
}

function alloc(context: Context): PdParts {
  const { unsafeHandle } = instance(context, Context, "context");
  const handle = call("ibv_alloc_pd", "allocate protection domain", [unsafeHandle], {
    countOf: countsOf(context),
  });
  return { context, handle };
}

function dealloc(handle: IbvPd): void {
  call("ibv_dealloc_pd", "deallocate protection domain", [handle]);
}
