import type { IbvMw } from "../../ffi/handles.ts";
import { type CEnum, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { members } from "../../ffi/members.ts";
import { nativeView } from "../../ffi/pointers.ts";
import { accessorsOf, readNative } from "../../ffi/struct.ts";
import { integer, uint32 } from "../../internal/checks.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { destroyIfUnused, isEnding, release, type Resource, retain } from "../core/resource.ts";
import { countsOf } from "../device/counts.ts";
import { type MemoryRegion, regionCore } from "./memory_region.ts";
import { pdCore, ProtectionDomain } from "./protection_domain.ts";

/**
 * Type of a memory window (`enum ibv_mw_type`).
 *
 * @category Memory
 */
export const MwType: {
  /** `bindMw()` binds it; the provider chooses the key. */
  readonly TYPE_1: CEnum.ibv_mw_type.IBV_MW_TYPE_1;
  /** A work request binds it; the caller chooses the lowest 8 bits of the key, see `incRkey`. */
  readonly TYPE_2: CEnum.ibv_mw_type.IBV_MW_TYPE_2;
} = members("ibv_mw_type", "IBV_MW_");
/**
 * A value of `MwType`.
 *
 * @category Memory
 */
export type MwType = typeof MwType[keyof typeof MwType];

const NativeWindow = accessorsOf({ rkey: structs.ibv_mw.fields.rkey });

/** The windows of type 2 that were bound through each queue pair. */
const windowsOf: WeakMap<Resource, Set<MemoryWindow>> = new WeakMap();

/**
 * Whether the disposal that has begun closes a window that is bound through this queue pair. The queue pair waits for it:
 * soft-RoCE of Linux 6.1 cannot destroy a queue pair while such a window exists.
 */
export function hasEndingWindow(qp: Resource): boolean {
  const windows = windowsOf.get(qp);
  return windows !== undefined && [...windows].some(isEnding);
}

/** The inside of a memory window: what it is bound to, and what that keeps. */
class WindowCore {
  readonly pd: ProtectionDomain;
  readonly type: MwType;
  readonly #mw: MemoryWindow;
  readonly #handle: IbvMw;
  #mr: MemoryRegion | undefined;
  /** Type 2: the queue pair that the window was bound through. */
  #qp: Resource | undefined;

  constructor(mw: MemoryWindow, handle: IbvMw, pd: ProtectionDomain, type: MwType) {
    this.pd = pd;
    this.type = type;
    this.#mw = mw;
    this.#handle = handle;
  }

  /**
   * Notes that the window was bound to a region, or to none. The native region is kept while the window is bound to it.
   * Windows of type 2 have a key that the caller chose, and belong to the queue pair that they were bound through.
   */
  bound(mr: MemoryRegion | undefined, rkey?: number, qp?: Resource): void {
    const before = this.#mr;
    if (mr !== undefined) retain(mr);
    this.#mr = mr;
    if (before !== undefined) release(before);
    this.#belongTo(qp);
    if (rkey === undefined) return;
    // Providers look the window up by the key in its struct when it is bound again.
    new NativeWindow(nativeView(this.#handle, structs.ibv_mw.size)).rkey = rkey;
  }

  #belongTo(qp: Resource | undefined): void {
    const before = this.#qp;
    if (before === qp) return;
    this.#qp = qp;
    if (qp !== undefined) windowsOf.set(qp, (windowsOf.get(qp) ?? new Set()).add(this.#mw));
    if (before === undefined) return;
    windowsOf.get(before)?.delete(this.#mw);
    destroyIfUnused(before);
  }
}

/** Checks that a queue pair of a protection domain may bind a window to a region. */
export function assertBindable(pd: ProtectionDomain, mw: MemoryWindow, mr: MemoryRegion): void {
  for (const [name, part] of Object.entries({ mw: windowCore(mw), mr: regionCore(mr) })) {
    if (pdCore(part.pd).base === pd) continue;
    throw new TypeError(`Cannot bind memory window: ${name} belongs to another protection domain`);
  }
}

/** The inside of a memory window. */
export let windowCore: (mw: MemoryWindow) => WindowCore;

/**
 * A memory window (`struct ibv_mw`): a part of a memory region with a key and access rights of its own, which can be
 * granted to a peer and revoked faster than a registration.
 *
 * **Soft-RoCE does not check the bounds of a window**: a peer with its rkey reaches the whole region, with the rights of
 * the window. Register a region of its own where this matters.
 *
 * A queue pair binds a window: `QueuePair.bindMw` one of type 1, a send request with opcode `BIND_MW` one of type
 * 2. The request has the new key, see `incRkey`. The region needs `MW_BIND`. A bound window of type 2 is
 * invalidated before it is bound again (`LOCAL_INV`).
 *
 * A window is bound to a part of a region. While it is bound, the native region is kept: if the region is disposed, it is
 * deregistered when the window is closed or bound to another region.
 *
 * Close a bound window of type 2 before the queue pair that it is bound through. Otherwise soft-RoCE of Linux 6.1 waits
 * 50 s in `ibv_destroy_qp`, and warns in the kernel's log. Disposing the protection domain or the context closes both
 * in the right order. So does `using`, if the window is made after the queue pair.
 *
 * @example Lend memory to a peer, and take it back
 * ```ts
 * import { AccessFlags, CompletionQueue, Context, incRkey, MemoryRegion, MemoryWindow, MwType, ProtectionDomain, QpType, QueuePair, type SendRequest, WrOpcode } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * using cq = new CompletionQueue(context, { cqe: 16 });
 * using qp = new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap: { maxSendWr: 4, maxRecvWr: 1 } });
 * qp.init({ portNum: 1, gidIndex: context.recommendGid(1).gidIndex, qpAccessFlags: AccessFlags.REMOTE_WRITE });
 * qp.activateRc(qp.address); // it stands for both ends
 * using mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE | AccessFlags.MW_BIND);
 * using mw = new MemoryWindow(pd, MwType.TYPE_2);
 *
 * async function done(request: SendRequest): Promise<void> {
 *   qp.postSend(request);
 *   for await (const wc of cq.completions()) return void wc.check();
 * }
 *
 * for (let i = 0; i < 2; i++) {
 *   const bindInfo = { mr, length: 1024, mwAccessFlags: AccessFlags.REMOTE_WRITE };
 *   await done({ opcode: WrOpcode.BIND_MW, mw, rkey: incRkey(mw.rkey), bindInfo });
 *   // The peer needs mr.addr and mw.rkey to write.
 *   const sge = mr.sge(2048, 8);
 *   await done({ opcode: WrOpcode.RDMA_WRITE, sge, remoteAddr: mr.addr, rkey: mw.rkey });
 *   // From here on it cannot write any more.
 *   await done({ opcode: WrOpcode.LOCAL_INV, invalidateRkey: mw.rkey });
 * }
 * ```
 *
 * @category Memory
 */
export class MemoryWindow extends NativeResource<IbvMw> {
  static readonly #KIND: NativeKind<IbvMw, MemoryWindow> = {
    name: "memory window",
    destroy: (handle, mw) => {
      call("ibv_dealloc_mw", "deallocate memory window", [handle]);
      mw.#core.bound(undefined);
    },
    describe: ({ type, rkey }) => ({ type: nameOf(MwType, type), rkey }),
  };

  /** The protection domain of the window. */
  readonly pd: ProtectionDomain;
  /** The type of the window. */
  readonly type: MwType;
  readonly #core: WindowCore;

  static {
    windowCore = (mw) => mw.#core;
  }

  /**
   * Allocates a memory window (`ibv_alloc_mw`).
   *
   * @throws {RangeError} If there is no such type.
   * @throws {VerbsError} If the device refuses, or does not have windows of this type (EOPNOTSUPP or EINVAL).
   */
  constructor(pd: ProtectionDomain, type: MwType) {
    instance(pd, ProtectionDomain, "pd");
    integer(type, "type", MwType.TYPE_1, MwType.TYPE_2);
    const handle = call("ibv_alloc_mw", "allocate memory window", [pd.unsafeHandle, type], {
      detail: () => nameOf(MwType, type),
      countOf: countsOf(pd.context),
    });
    super(MemoryWindow.#KIND, handle, [pd]);
    this.pd = pd;
    this.type = type;
    this.#core = new WindowCore(this, handle, pd, type);
  }

  /** The key for the RDMA of peers. Each bind changes it. */
  get rkey(): number {
    return readNative(this.unsafeHandle, structs.ibv_mw.fields.rkey);
  }
}

/**
 * The next key of a memory window of type 2 (`ibv_inc_rkey`): it adds one to the lowest 8 bits.
 *
 * @example Keys of a window
 * ```ts
 * import { incRkey } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(incRkey(0x12ff), 0x1200);
 * ```
 *
 * @category Memory
 */
export function incRkey(rkey: number): number {
  return verbs().ibv_inc_rkey(uint32(rkey, "rkey"));
}
