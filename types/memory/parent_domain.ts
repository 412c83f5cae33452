import { domainAllocators } from "../../ffi/library/domain_allocators.ts";
import type { IbvTd } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { boolean, integer, snapshot } from "../../internal/checks.ts";
import { made } from "../../internal/made.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { rootOf } from "../core/resource.ts";
import { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import { pdCore, type PdParts, ProtectionDomain } from "./protection_domain.ts";

const KIND: NativeKind<IbvTd, ThreadDomain> = {
  name: "thread domain",
  destroy: (handle) => call("ibv_dealloc_td", "deallocate thread domain", [handle]),
  describe: ({ context }) => ({ device: context.device.name }),
};

/**
 * A thread domain (`struct ibv_td`): it says that only one thread uses the objects that are made with it, so that the
 * provider may leave out locks. Make a `ParentDomain` with it, and make the objects with the parent domain.
 * All objects of this module belong to one thread of JavaScript, but calls that run on other threads, such as
 * `MemoryRegion.createAsync`, do not.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Protection domains
 */
export class ThreadDomain extends NativeResource<IbvTd> {
  /** The device. */
  readonly context: Context;

  /**
   * Allocates a thread domain (`ibv_alloc_td`).
   *
   * @throws {VerbsError} If the device refuses, or its provider has no thread domains (EOPNOTSUPP).
   */
  constructor(context: Context) {
    instance(context, Context, "context");
    const attr = allocStruct(structs.ibv_td_init_attr);
    const args = [context.unsafeHandle, attr] as const;
    super(KIND, call("ibv_alloc_td", "allocate thread domain", args), [context]);
    this.context = context;
  }
}

const MASK = members("ibv_parent_domain_init_attr_mask", "IBV_PARENT_DOMAIN_INIT_ATTR_");
const MAX_ALIGNMENT = 2 ** 30;

/**
 * Attributes of a `ParentDomain` (`struct ibv_parent_domain_init_attr`).
 *
 * @category Protection domains
 */
export interface ParentDomainInitAttr {
  /** The thread domain of the objects that are made with the parent domain. */
  readonly td?: ThreadDomain | undefined;
  /** A number for the provider, which defines its meaning (`pd_context`). */
  readonly pdContext?: bigint | number | undefined;
  /**
   * Gives the provider allocators (`alloc` and `free`) for the memory of queues: those of the C library, with at least
   * this alignment in bytes, a power of two from 8 to 2^30. With 2 MiB the memory can use huge pages. If it is left
   * out, the provider allocates memory itself.
   */
  readonly alignment?: number | undefined;
  /**
   * Allows memory that is not protected from the host, in a confidential guest
   * (`IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC`, since rdma-core 64). False if left out.
   */
  readonly allowCcUnprotectedAlloc?: boolean | undefined;
}

interface Attr extends Pick<ParentDomainInitAttr, "td" | "pdContext"> {
  readonly allowCcUnprotectedAlloc?: true | undefined;
  readonly pd: ProtectionDomain;
  readonly alloc?: bigint | undefined;
  readonly free?: bigint | undefined;
}

const codec: AttributeCodec<Attr> = codecOf("ibv_parent_domain_init_attr", "parent domain", {
  pd: { resource: ProtectionDomain, required: true },
  td: { resource: ThreadDomain },
  pdContext: { mask: MASK.PD_CONTEXT },
  alloc: { mask: MASK.ALLOCATORS },
  free: {},
  allowCcUnprotectedAlloc: { mask: MASK.ALLOW_CC_UNPROTECTED_ALLOC, other: true },
});

/**
 * A parent domain (`ibv_alloc_parent_domain`): a protection domain with further attributes for the objects that are made
 * with it, such as a thread domain. Its objects work together with those of the protection domain that it was made from.
 *
 * Allocators in JavaScript are not offered: memory of JavaScript may be freed while the device uses it, and the engine may
 * end the process in such a callback (https://github.com/denoland/deno/issues/31122).
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Protection domains
 */
export class ParentDomain extends ProtectionDomain {
  /** The protection domain that it was made from. */
  readonly parent: ProtectionDomain;
  /** Its thread domain, if it has one. */
  readonly td: ThreadDomain | undefined;

  /**
   * Allocates a parent domain.
   *
   * @param pd The protection domain whose objects those of the parent domain work with. It must not be a parent domain
   * itself.
   * @throws {TypeError} Also if the thread domain belongs to another context.
   * @throws {RangeError} Also if the alignment is not a power of two.
   * @throws {VerbsError} If the device refuses, or its provider has no parent domains (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain, init: ParentDomainInitAttr = {}) {
    instance(pd, ProtectionDomain, "pd");
    const { context, base } = pdCore(pd);
    if (base !== pd) throw new TypeError("Cannot use pd: it is a parent domain itself");
    const given = snapshot(init, "parent domain", [
      ...["td", "pdContext", "alignment", "allowCcUnprotectedAlloc"] as const,
    ]);
    const { td, pdContext, alignment, allowCcUnprotectedAlloc: allow = false } = given;
    const { view, writeHandles } = codec.write({
      pd,
      ...td !== undefined && { td },
      ...pdContext !== undefined && { pdContext },
      ...alignment !== undefined && domainAllocators(checkAlignment(alignment)),
      ...boolean(allow, "allowCcUnprotectedAlloc") && { allowCcUnprotectedAlloc: true },
    });
    if (td !== undefined && rootOf(td) !== context) {
      throw new TypeError("Cannot allocate parent domain: td belongs to another context");
    }
    writeHandles();
    const args = [context.unsafeHandle, view] as const;
    const countOf = countsOf(context);
    const handle = call("ibv_alloc_parent_domain", "allocate parent domain", args, { countOf });
    const parents = td === undefined ? [pd] : [pd, td];
    super(made<PdParts>({ context, handle, base: pd, parents }));
    this.parent = pd;
    this.td = td;
  }
}

function checkAlignment(alignment: number): number {
  integer(alignment, "alignment", 8, MAX_ALIGNMENT);
  if ((alignment & alignment - 1) === 0) return alignment;
  throw new RangeError(`Cannot use alignment ${alignment}: it is not a power of two`);
}
