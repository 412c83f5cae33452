/**
 * Work queues, over which receive side scaling (RSS) spreads packets.
 *
 * @module
 */

import type { IbvWq } from "../../ffi/handles.ts";
import { enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { allocStruct, readField, readNative, writeField } from "../../ffi/struct.ts";
import type { CompletionQueue } from "../completion/completion_queue.ts";
import type { Context } from "../device/context.ts";
import { check, checkHandle, notSupported, requireOp } from "../core/errors.ts";
import { type Members, members, nameOf } from "../core/enums.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { RecvPoster } from "../work/recv_poster.ts";
import type { RecvRequests } from "../work/recv_requests.ts";
import { Resource } from "../core/resource.ts";
import { integer, uint32 } from "../core/checks.ts";
import { asList, type RecvRequest } from "../work/work_request.ts";

/**
 * What a work queue is for (`enum ibv_wq_type`).
 *
 * - `RQ`: receives
 */
export const WqType: Members<typeof enums.ibv_wq_type, "IBV_WQT_"> = members(
  enums.ibv_wq_type,
  "IBV_WQT_",
);
/** A value of {@linkcode WqType}. */
export type WqType = typeof WqType[keyof typeof WqType];

/**
 * State of a work queue (`enum ibv_wq_state`).
 *
 * - `RESET`: as made; packets that reach it are dropped
 * - `RDY`: receives
 * - `ERR`: in error; posted receives are flushed
 * - `UNKNOWN`: not known
 */
export const WqState: Members<typeof enums.ibv_wq_state, "IBV_WQS_"> = members(
  enums.ibv_wq_state,
  "IBV_WQS_",
);
/** A value of {@linkcode WqState}. */
export type WqState = typeof WqState[keyof typeof WqState];

/**
 * What a work queue does with packets (`enum ibv_wq_flags`), to be combined with `|`.
 *
 * - `CVLAN_STRIPPING`: takes the customer VLAN tag off
 * - `SCATTER_FCS`: writes the frame check sequence behind the packet
 * - `DELAY_DROP`: has packets wait a while for a receive instead of dropping them
 * - `PCI_WRITE_END_PADDING`: pads writes to whole cache lines
 * - `RESERVED`: none; the first bit not in use
 */
export const WqFlags: Members<typeof enums.ibv_wq_flags, "IBV_WQ_FLAGS_"> = members(
  enums.ibv_wq_flags,
  "IBV_WQ_FLAGS_",
);

const ATTR = members(enums.ibv_wq_attr_mask, "IBV_WQ_ATTR_");

/** What a work queue is to be like (`struct ibv_wq_init_attr`). */
export interface WqInit {
  /** What it is for; `RQ`, which is all there is, if left out. */
  readonly wqType?: WqType;
  /** Outstanding receives; the device may give more. */
  readonly maxWr: number;
  /** Scatter/gather elements of a receive; the device may give more. */
  readonly maxSge: number;
  /** Where its receives complete. */
  readonly cq: CompletionQueue;
  /** {@linkcode WqFlags}, combined; none if left out. */
  readonly createFlags?: number;
}

/** Attributes of a work queue to set (`struct ibv_wq_attr`): those given, and no others. */
export interface WqAttrInit {
  /** State to move to. */
  readonly wqState?: WqState;
  /** State it is assumed to be in. */
  readonly currWqState?: WqState;
  /** The new values of the flags that `flagsMask` names. */
  readonly flags?: number;
  /** Which {@linkcode WqFlags} to change; goes together with `flags`. */
  readonly flagsMask?: number;
}

/**
 * A work queue (`struct ibv_wq`): receives packets for the queue pairs whose {@linkcode RwqIndirectionTable} names it.
 * Made by {@linkcode ProtectionDomain.createWq}, in state RESET. Disposing it disposes those tables and queue pairs
 * first.
 *
 * @example A work queue that is ready to receive
 * ```ts
 * import { type CompletionQueue, type ProtectionDomain, type WorkQueue, WqState } from "@rdma/ibverbs";
 *
 * function receiver(pd: ProtectionDomain, cq: CompletionQueue): WorkQueue {
 *   const wq = pd.createWq({ maxWr: 64, maxSge: 1, cq });
 *   wq.modify({ wqState: WqState.RDY });
 *   return wq;
 * }
 * ```
 */
export class WorkQueue extends Resource<IbvWq> {
  /** Its name in messages. */
  protected override readonly kind = "work queue";
  /** The device it belongs to. */
  readonly context: Context;
  /** Its protection domain. */
  readonly pd: ProtectionDomain;
  /** Where its receives complete. */
  readonly cq: CompletionQueue;
  /** What it is for. */
  readonly wqType: WqType;
  /** Its number; in completions it stands where a queue pair's would. */
  readonly wqNum: number;
  /** Outstanding receives, as the device gave them. */
  readonly maxWr: number;
  /** Scatter/gather elements of a receive, as the device gave them. */
  readonly maxSge: number;
  /** Absent where the provider cannot post. */
  readonly #receiver: RecvPoster | undefined;
  readonly #postRecv: ReturnType<typeof verbs>["ibv_post_wq_recv"];

  private constructor(
    pd: ProtectionDomain,
    cq: CompletionQueue,
    handle: IbvWq,
    granted: { readonly maxWr: number; readonly maxSge: number },
  ) {
    super(handle, [pd, cq]);
    const { fields } = structs.ibv_wq;
    this.context = pd.context;
    this.pd = pd;
    this.cq = cq;
    this.wqType = readNative(handle, fields.wq_type) as WqType;
    this.wqNum = readNative(handle, fields.wq_num);
    this.maxWr = granted.maxWr;
    this.maxSge = granted.maxSge;
    this.#postRecv = verbs().ibv_post_wq_recv;
    if (readNative(handle, fields.post_recv) !== 0n) {
      const hint = (code: string): string | undefined => hintPost(code, this.state);
      this.#receiver = new RecvPoster(
        { verb: "ibv_post_wq_recv", action: "post receive", hint },
        { maxSge: this.maxSge, needsGrh: false },
      );
    }
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.createWq}. */
  static create(pd: ProtectionDomain, init: WqInit): WorkQueue {
    const parent = pd.unsafeHandle;
    const context = pd.context.unsafeHandle;
    const { cq } = init;
    if (cq.context !== pd.context) {
      throw new TypeError("Cannot create work queue: cq belongs to another context");
    }
    const { fields } = structs.ibv_wq_init_attr;
    const attr = writeInit(init);
    writeField(attr, fields.pd, Deno.UnsafePointer.value(parent));
    writeField(attr, fields.cq, Deno.UnsafePointer.value(cq.unsafeHandle));
    requireOp(context, "create_wq", "create work queue");
    const handle = checkHandle(
      "ibv_create_wq",
      "create work queue",
      verbs().ibv_create_wq(context, attr),
      {
        detail: () => `maxWr ${init.maxWr}, maxSge ${init.maxSge}`,
        hint: (code) => hintCreate(code, pd),
      },
    );
    return new WorkQueue(pd, cq, handle, {
      maxWr: readField(attr, fields.max_wr),
      maxSge: readField(attr, fields.max_sge),
    });
  }

  /** Its state, as far as this process has moved it. */
  get state(): WqState {
    return readNative(this.unsafeHandle, structs.ibv_wq.fields.state) as WqState;
  }

  /**
   * Sets the attributes given (`ibv_modify_wq`); the mask follows from which they are.
   *
   * @throws {RangeError} If a state is not RESET, RDY or ERR, or a number is out of range.
   * @throws {TypeError} If no attribute is given, or only one of `flags` and `flagsMask`.
   * @throws {VerbsError} If the device refuses: mlx4 does not change flags, and mana changes nothing at all.
   */
  modify(attr: WqAttrInit): void {
    const handle = this.unsafeHandle;
    const from = this.state;
    const view = writeAttr(attr);
    requireOp(this.context.unsafeHandle, "modify_wq", "modify work queue");
    check("ibv_modify_wq", "modify work queue", verbs().ibv_modify_wq(handle, view), {
      detail: () => `${this.wqNum}, ${Object.keys(attr).join(", ")}`,
      hint: (code) => hintModify(code, from, attr),
    });
  }

  /**
   * Posts one receive or several, in order (`ibv_post_wq_recv`). Packets come as they were on the wire, from the
   * Ethernet header on.
   *
   * @throws {TypeError} If a memory region is disposed.
   * @throws {VerbsError} If the queue is full or a request has too many scatter/gather elements (ENOMEM or EINVAL), or the
   * provider cannot post to work queues (EOPNOTSUPP); `posted` tells how many went through.
   */
  postRecv(requests: RecvRequest | readonly RecvRequest[]): void {
    const list = asList(requests);
    if (list.length > 0) this.postRecvs(this.#receives().fill(list), list.length);
  }

  /**
   * Posts prepared receives in one native call (`ibv_post_wq_recv`): `count` of them from `start` on, all if left out.
   *
   * @throws As {@linkcode WorkQueue.postRecv}.
   */
  postRecvs(list: RecvRequests, count: number = list.capacity, start: number = 0): void {
    const handle = this.unsafeHandle;
    const receiver = this.#receives();
    const result = this.#postRecv(handle, receiver.prepare(list, count, start), receiver.badWr);
    if (result !== 0) throw receiver.error(result, list, start);
  }

  #receives(): RecvPoster {
    return this.#receiver ?? notSupported("ibv_post_wq_recv", "post receive");
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvWq): void {
    check("ibv_destroy_wq", "destroy work queue", verbs().ibv_destroy_wq(handle));
  }
}

function writeInit({ wqType = WqType.RQ, maxWr, maxSge, createFlags }: WqInit): DataView {
  const { fields } = structs.ibv_wq_init_attr;
  const attr = allocStruct(structs.ibv_wq_init_attr);
  writeField(attr, fields.wq_type, uint32(wqType, "wqType"));
  writeField(attr, fields.max_wr, uint32(maxWr, "maxWr"));
  writeField(attr, fields.max_sge, uint32(maxSge, "maxSge"));
  if (createFlags !== undefined) {
    writeField(attr, fields.create_flags, uint32(createFlags, "createFlags"));
    writeField(attr, fields.comp_mask, enums.ibv_wq_init_attr_mask.IBV_WQ_INIT_ATTR_FLAGS);
  }
  return attr;
}

function writeAttr({ wqState, currWqState, flags, flagsMask }: WqAttrInit): DataView {
  const { fields } = structs.ibv_wq_attr;
  const attr = allocStruct(structs.ibv_wq_attr);
  let mask = 0;
  if (wqState !== undefined) {
    writeField(attr, fields.wq_state, checkState(wqState, "wqState"));
    mask |= ATTR.STATE;
  }
  if (currWqState !== undefined) {
    writeField(attr, fields.curr_wq_state, checkState(currWqState, "currWqState"));
    mask |= ATTR.CURR_STATE;
  }
  if (flags !== undefined && flagsMask !== undefined) {
    writeField(attr, fields.flags, uint32(flags, "flags"));
    writeField(attr, fields.flags_mask, uint32(flagsMask, "flagsMask"));
    mask |= ATTR.FLAGS;
  } else if (flags !== flagsMask) {
    throw new TypeError("Cannot modify work queue: flags and flagsMask go together");
  }
  if (mask === 0) throw new TypeError("Cannot modify work queue: no attribute is given");
  writeField(attr, fields.attr_mask, mask);
  return attr;
}

/** Linux 6.1 refuses any other state, but then forgets to unlock the queue, which could not be destroyed any more. */
function checkState(state: WqState, what: string): number {
  return integer(state, what, WqState.RESET, WqState.ERR);
}

function hintCreate(code: string, { context }: ProtectionDomain): string | undefined {
  if (!["EINVAL", "ENOMEM", "EOPNOTSUPP"].includes(code)) return undefined;
  const { maxWqTypeRq, origAttr } = context.queryDeviceEx();
  if (code === "EOPNOTSUPP") {
    return maxWqTypeRq === 0
      ? "The device has no work queues; those of mlx4, mlx5 and mana do"
      : "The device does not have all of the flags";
  }
  return `The device allows ${maxWqTypeRq} work queues, ${origAttr.maxQpWr} receives and ` +
    `${origAttr.maxSge} scatter/gather elements in each`;
}

function hintModify(code: string, from: WqState, attr: WqAttrInit): string | undefined {
  if (attr.flags !== undefined && code === "EOPNOTSUPP") return "The device does not change flags";
  if (code !== "EINVAL") return undefined;
  return `The work queue is in state ${nameOf(WqState, from)}: ` +
    "it goes from RESET to RDY, from RDY to ERR, and from any state to RESET";
}

function hintPost(code: string, state: WqState): string | undefined {
  if (code !== "ENOMEM" && code !== "EINVAL") return undefined;
  return "The queue is full, or the request has too many scatter/gather elements; " +
    `the work queue is in state ${nameOf(WqState, state)}`;
}
