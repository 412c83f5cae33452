/**
 * Protection domains.
 *
 * @module
 */

import type { IbvPd } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { readNative } from "../../ffi/struct.ts";
import { instance } from "../core/checks.ts";
import { check, checkHandle } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import type { Resource } from "../core/resource.ts";
import { Context } from "../device/context.ts";

/** A native protection domain that exists already, for the constructor of its class. */
export class AdoptedPd {
  /** The native object. */
  readonly handle: IbvPd;
  /** The domain whose rights apply, if that is another one. */
  readonly base: ProtectionDomain | undefined;
  /** The objects that it was made from, besides the context. */
  readonly parents: readonly Resource[];
  /** Destroys the native object. */
  readonly destroy: (handle: IbvPd) => void;

  /** Describes a native protection domain. */
  constructor(
    { handle, base, parents = [], destroy = dealloc }:
      & Pick<AdoptedPd, "handle">
      & Partial<AdoptedPd>,
  ) {
    this.handle = handle;
    this.base = base;
    this.parents = parents;
    this.destroy = destroy;
  }
}

/**
 * The domain that decides what works together: that of a parent domain is the one it was made from, that of any other
 * domain is itself.
 */
export let baseOf: (pd: ProtectionDomain) => ProtectionDomain;

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
  readonly #base: ProtectionDomain | undefined;
  readonly #destroy: (handle: IbvPd) => void;

  static {
    baseOf = (pd) => pd.#base ?? pd;
  }

  /**
   * Allocates a protection domain (`ibv_alloc_pd`).
   *
   * @throws {TypeError} If the context is disposed.
   * @throws {VerbsError} If the device refuses. ENOMEM means that it has no protection domain left.
   */
  constructor(context: Context);
  /** @ignore Adopts a native protection domain. */
  constructor(context: Context, adopted: AdoptedPd);
  /** @ignore */
  constructor(context: Context, adopted?: AdoptedPd) {
    instance(context, Context, "context");
    const { handle, base, parents, destroy } = adopted instanceof AdoptedPd
      ? adopted
      : new AdoptedPd({ handle: alloc(context) });
    super(ProtectionDomain.#KIND, handle, [context, ...parents]);
    this.context = context;
    this.#base = base;
    this.#destroy = destroy;
  }

  /** The handle of an object of this class. Called on an object of another class, a method stops here. */
  get #handle(): IbvPd {
    return this.unsafeHandle;
  }

  /** The number of the domain in the kernel. Another process that shares the device can import the domain by it. */
  get handle(): number {
    return readNative(this.#handle, structs.ibv_pd.fields.handle);
  }
}

function alloc(context: Context): IbvPd {
  const handle = verbs().ibv_alloc_pd(context.unsafeHandle);
  return checkHandle("ibv_alloc_pd", "allocate protection domain", handle);
}

function dealloc(handle: IbvPd): void {
  check("ibv_dealloc_pd", "deallocate protection domain", verbs().ibv_dealloc_pd(handle));
}
