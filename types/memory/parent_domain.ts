/**
 * Parent domains.
 *
 * @module
 */

import { enums } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance, snapshot } from "../core/checks.ts";
import { checkHandle } from "../core/errors.ts";
import { AdoptedPd, baseOf, ProtectionDomain } from "./protection_domain.ts";
import { ThreadDomain } from "./thread_domain.ts";

const { IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT: PD_CONTEXT } =
  enums.ibv_parent_domain_init_attr_mask;

/** Attributes of a {@linkcode ParentDomain} (`struct ibv_parent_domain_init_attr`). */
export interface ParentDomainInitAttr {
  /** The thread domain of the objects that are made with the parent domain. */
  readonly td?: ThreadDomain;
  /** A number for the provider, which defines its meaning (`pd_context`). */
  readonly pdContext?: bigint | number;
}

interface Attr extends ParentDomainInitAttr {
  readonly pd: ProtectionDomain;
  readonly compMask: number;
}

const codec: AttributeCodec<Attr> = codecOf<"ibv_parent_domain_init_attr", Attr>(
  "ibv_parent_domain_init_attr",
  "parent domain",
  {
    pd: { resource: ProtectionDomain, required: true },
    td: { resource: ThreadDomain },
    pdContext: {},
    compMask: { max: PD_CONTEXT },
  },
);

/**
 * A parent domain (`ibv_alloc_parent_domain`): a protection domain with further attributes for the objects that are made
 * with it, such as a thread domain. Its objects work together with those of the protection domain that it was made from.
 *
 * The allocators of C (`IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS`) are not offered. The provider would call them while
 * JavaScript waits for it, and the engine ends the process if such a call changes code that is being run
 * (https://github.com/denoland/deno/issues/31122).
 */
export class ParentDomain extends ProtectionDomain {
  /** The protection domain that it was made from. */
  readonly parent: ProtectionDomain;
  /** Its thread domain, if it has one. */
  readonly td: ThreadDomain | undefined;

  /**
   * Allocates a parent domain.
   *
   * @param pd The protection domain that decides what works together. It is not a parent domain.
   * @param init Further attributes.
   * @throws {TypeError} If an attribute has the wrong type or is unknown; if the thread domain belongs to another
   * context; if an object is disposed.
   * @throws {VerbsError} If the device refuses, or its provider has no parent domains (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain, init: ParentDomainInitAttr = {}) {
    instance(pd, ProtectionDomain, "pd");
    if (baseOf(pd) !== pd) throw new TypeError("Cannot use pd: it is a parent domain itself");
    const { td, pdContext } = snapshot(init, "parent domain", ["td", "pdContext"]);
    const { view, writeHandles } = codec.write({
      pd,
      compMask: pdContext === undefined ? 0 : PD_CONTEXT,
      ...td !== undefined && { td },
      ...pdContext !== undefined && { pdContext },
    });
    if (td !== undefined && td.context !== pd.context) {
      throw new TypeError("Cannot allocate parent domain: td belongs to another context");
    }
    writeHandles();
    const handle = checkHandle(
      "ibv_alloc_parent_domain",
      "allocate parent domain",
      verbs().ibv_alloc_parent_domain(pd.context.unsafeHandle, view),
    );
    const parents = td === undefined ? [pd] : [pd, td];
    super(pd.context, new AdoptedPd({ handle, base: pd, parents }));
    this.parent = pd;
    this.td = td;
  }
}
