/**
 * Thread domains.
 *
 * @module
 */

import type { IbvTd } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { instance } from "../core/checks.ts";
import { check, checkHandle } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { Context } from "../device/context.ts";

const KIND: NativeKind<IbvTd, ThreadDomain> = {
  name: "thread domain",
  destroy: (handle) => {
    check("ibv_dealloc_td", "deallocate thread domain", verbs().ibv_dealloc_td(handle));
  },
  describe: ({ context }) => ({ device: context.device.name }),
};

/**
 * A thread domain (`struct ibv_td`): it says that only one thread uses the objects that are made with it, so that the
 * provider may leave out locks. Make a {@linkcode ParentDomain} with it, and make the objects with the parent domain.
 * All objects of this module belong to one thread of JavaScript, but calls that run on other threads, such as
 * `AddressHandle.createAsync()`, do not.
 *
 * @category Protection domains
 */
export class ThreadDomain extends NativeResource<IbvTd> {
  /** The device. */
  readonly context: Context;

  /**
   * Allocates a thread domain (`ibv_alloc_td`).
   *
   * @throws {TypeError} If the context is disposed.
   * @throws {VerbsError} If the device refuses, or its provider has no thread domains (EOPNOTSUPP).
   */
  constructor(context: Context) {
    instance(context, Context, "context");
    const attr = allocStruct(structs.ibv_td_init_attr);
    const handle = verbs().ibv_alloc_td(context.unsafeHandle, attr);
    super(KIND, checkHandle("ibv_alloc_td", "allocate thread domain", handle), [context]);
    this.context = context;
  }
}
