/**
 * Binding memory windows of type 1 (`ibv_bind_mw`).
 *
 * @module
 */

import { verbs } from "../../ffi/library.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { boolean, instance, snapshot, uint32 } from "../core/checks.ts";
import { nameOf, namesOf } from "../core/enums.ts";
import { check } from "../core/errors.ts";
import { AccessFlags } from "../memory/access_flags.ts";
import { assertWithin, MemoryRegion, MemorySlice } from "../memory/memory_region.ts";
import { MemoryWindow, MwType, noteBind } from "../memory/memory_window.ts";
import { baseOf } from "../memory/protection_domain.ts";
import { SendFlags } from "../work/work_request.ts";
import { QpState } from "./qp_enums.ts";
import { QueuePair } from "./queue_pair.ts";

/** What {@linkcode bindMw} binds a window to (`struct ibv_mw_bind`). */
export interface MwBind {
  /** A number that comes back in the completion; 0 if it is left out. */
  readonly wrId?: bigint | number;
  /** Whether the request has a completion if it succeeds. True if it is left out. */
  readonly signaled?: boolean;
  /** Whether the request waits for the RDMA reads and atomics before it. */
  readonly fence?: boolean;
  /**
   * The part of a memory region that the window is bound to. The region needs `AccessFlags.MW_BIND`. If it is left out,
   * the window is unbound: its key is no longer valid.
   */
  readonly memory?: MemorySlice;
  /** {@linkcode AccessFlags} of peers, combined with `|`; 0 if it is left out. */
  readonly mwAccessFlags?: number;
}

interface Attr {
  readonly wrId: bigint | number;
  readonly sendFlags: number;
  readonly mr?: MemoryRegion;
  readonly addr: bigint;
  readonly length: bigint;
  readonly mwAccessFlags: number;
}

const codec: AttributeCodec<Attr> = codecOf<"ibv_mw_bind", Attr>("ibv_mw_bind", "bind", {
  wrId: {},
  sendFlags: {},
  mr: { resource: MemoryRegion, field: "bind_info.mr" },
  addr: { field: "bind_info.addr" },
  length: { field: "bind_info.length" },
  mwAccessFlags: { field: "bind_info.mw_access_flags" },
});

/**
 * Binds a memory window of type 1 to a part of a memory region, or unbinds it (`ibv_bind_mw`). It posts a request to the
 * send queue: the window can be used once the request has completed, and its {@linkcode MemoryWindow.rkey} is new.
 *
 * A work request binds a window of type 2.
 *
 * @param qp The queue pair. Its peer can use the window.
 * @param mw The window.
 * @param bind What to bind it to.
 * @throws {TypeError} If an attribute has the wrong type or is unknown; if the window is of type 2; if the window, the
 * region and the queue pair are not of one protection domain; if an object is disposed.
 * @throws {RangeError} If a number is out of range.
 * @throws {VerbsError} If the queue is full (ENOMEM), the state is wrong (EINVAL), or the provider refuses.
 */
export function bindMw(qp: QueuePair, mw: MemoryWindow, bind: MwBind): void {
  instance(qp, QueuePair, "qp");
  instance(mw, MemoryWindow, "mw");
  const { memory, ...attr } = readBind(bind);
  checkDomains(qp, mw, attr.mr);
  const { view, writeHandles } = codec.write(attr);
  if (memory !== undefined) assertWithin(memory.mr, memory.offset, memory.length);
  writeHandles();
  const result = verbs().ibv_bind_mw(qp.unsafeHandle, mw.unsafeHandle, view);
  check("ibv_bind_mw", "bind memory window", result, {
    detail: () => `${attr.length} bytes, access ${namesOf(AccessFlags, attr.mwAccessFlags)}`,
    hint: (code) => hintBind(code, qp.state),
  });
  noteBind(mw, attr.mr);
}

function readBind(bind: MwBind): Attr & { readonly memory: MemorySlice | undefined } {
  const given = snapshot(bind, "bind", ["wrId", "signaled", "fence", "memory", "mwAccessFlags"]);
  const { wrId = 0, signaled = true, fence = false, memory, mwAccessFlags = 0 } = given;
  if (memory !== undefined) instance(memory, MemorySlice, "memory");
  return {
    memory,
    wrId,
    sendFlags: (boolean(signaled, "signaled") ? SendFlags.SIGNALED : 0) |
      (boolean(fence, "fence") ? SendFlags.FENCE : 0),
    ...memory !== undefined && { mr: memory.mr },
    addr: memory?.addr ?? 0n,
    length: BigInt(memory?.length ?? 0),
    mwAccessFlags: uint32(mwAccessFlags, "mwAccessFlags"),
  };
}

function checkDomains(qp: QueuePair, mw: MemoryWindow, mr: MemoryRegion | undefined): void {
  if (mw.type !== MwType.TYPE_1) {
    throw new TypeError("Cannot bind memory window: it is of type 2, which a work request binds");
  }
  if (baseOf(mw.pd) !== baseOf(qp.pd)) {
    throw new TypeError(
      "Cannot bind memory window: it belongs to another protection domain than the queue pair",
    );
  }
  if (mr !== undefined && mr.pd !== mw.pd) {
    throw new TypeError(
      "Cannot bind memory window: it belongs to another protection domain than the memory",
    );
  }
}

function hintBind(code: string, state: QpState): string | undefined {
  if (code !== "EINVAL" || state === QpState.RTS) return undefined;
  return `The queue pair is in state ${nameOf(QpState, state)}, and binding needs RTS`;
}
