import { nothingBehind } from "../../internal/checks.ts";
import type { IbvWq } from "../../ffi/handles.ts";
import { type CEnum, enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { hasOwnOp } from "../../ffi/library/ops.ts";
import { members } from "../../ffi/members.ts";
import { readField, readNative } from "../../ffi/struct.ts";
import { CompletionQueue } from "../completion/completion_queue.ts";
import { ABOVE_LIMIT, aboveLimit, causeOf, type Causes } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { call, lacking } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { registerElement, unregisterElement } from "../device/async_events.ts";
import type { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { type Receives, RecvPoster } from "../work/posting.ts";

/**
 * Type of a work queue (`enum ibv_wq_type`).
 *
 * @category Receive work queues and RSS
 */
export const WqType: {
  /** Receive queue. */
  readonly RQ: CEnum.ibv_wq_type.IBV_WQT_RQ;
} = members("ibv_wq_type", "IBV_WQT_");
/**
 * A value of `WqType`.
 *
 * @category Receive work queues and RSS
 */
export type WqType = typeof WqType[keyof typeof WqType];

/**
 * State of a work queue (`enum ibv_wq_state`).
 *
 * @category Receive work queues and RSS
 */
export const WqState: {
  /** The first state; packets for the queue are dropped. */
  readonly RESET: CEnum.ibv_wq_state.IBV_WQS_RESET;
  /** Ready to receive. */
  readonly RDY: CEnum.ibv_wq_state.IBV_WQS_RDY;
  /** Error; posted receives complete with `WR_FLUSH_ERR`. */
  readonly ERR: CEnum.ibv_wq_state.IBV_WQS_ERR;
  /** The state is not known. */
  readonly UNKNOWN: CEnum.ibv_wq_state.IBV_WQS_UNKNOWN;
} = members("ibv_wq_state", "IBV_WQS_");
/**
 * A value of `WqState`.
 *
 * @category Receive work queues and RSS
 */
export type WqState = typeof WqState[keyof typeof WqState];

/**
 * Flags of a work queue (`enum ibv_wq_flags`). Combine them with `|`.
 *
 * @category Receive work queues and RSS
 */
export const WqFlags: {
  /** Removes the customer VLAN tag from packets. */
  readonly CVLAN_STRIPPING: CEnum.ibv_wq_flags.IBV_WQ_FLAGS_CVLAN_STRIPPING;
  /** Writes the frame check sequence after the packet. */
  readonly SCATTER_FCS: CEnum.ibv_wq_flags.IBV_WQ_FLAGS_SCATTER_FCS;
  /** Lets packets wait some time for a receive before they are dropped. */
  readonly DELAY_DROP: CEnum.ibv_wq_flags.IBV_WQ_FLAGS_DELAY_DROP;
  /** Pads writes to whole cache lines. */
  readonly PCI_WRITE_END_PADDING: CEnum.ibv_wq_flags.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING;
  /** The first unused bit; it is no flag. */
  readonly RESERVED: CEnum.ibv_wq_flags.IBV_WQ_FLAGS_RESERVED;
} = members("ibv_wq_flags", "IBV_WQ_FLAGS_");

/**
 * Attributes of a new work queue (`struct ibv_wq_init_attr`).
 *
 * @category Receive work queues and RSS
 */
export interface WqInitAttr {
  /** Type. The default is `RQ`, the only one that `verbs.h` has. */
  readonly wqType?: WqType | undefined;
  /** Number of receives that can be outstanding. The device may grant more. */
  readonly maxWr: number;
  /** Number of scatter/gather elements of a receive. The device may grant more. */
  readonly maxSge: number;
  /** Completion queue of the receives. */
  readonly cq: CompletionQueue;
  /** `WqFlags`, combined with `|`. The default is none. */
  readonly createFlags?: number | undefined;
}

/**
 * Attributes of a work queue to set (`struct ibv_wq_attr`). Attributes that are left out keep their values.
 *
 * @category Receive work queues and RSS
 */
export interface WqAttr {
  /** State to move to. */
  readonly wqState?: WqState | undefined;
  /** State that the queue is assumed to be in. */
  readonly currWqState?: WqState | undefined;
  /** New values of the flags that `flagsMask` selects. */
  readonly flags?: number | undefined;
  /** `WqFlags` to change. Give `flags` and `flagsMask` together. */
  readonly flagsMask?: number | undefined;
}

const initCodec: AttributeCodec<WqInitAttr, WqInitAttr, { pd: ProtectionDomain }> = codecOf(
  "ibv_wq_init_attr",
  "work queue attributes",
  {
    pd: { resource: ProtectionDomain, own: true },
    wqType: { values: WqType, fallback: WqType.RQ },
    maxWr: { required: true },
    maxSge: { required: true },
    cq: { resource: CompletionQueue, required: true },
    createFlags: { mask: enums.ibv_wq_init_attr_mask.IBV_WQ_INIT_ATTR_FLAGS },
  },
);

const MASK = members("ibv_wq_attr_mask", "IBV_WQ_ATTR_");

/** Linux 6.1 refuses other states but keeps the queue locked: it could not be destroyed any more. */
const SETTABLE = { RESET: WqState.RESET, RDY: WqState.RDY, ERR: WqState.ERR } as const;

const attrCodec: AttributeCodec<WqAttr> = codecOf("ibv_wq_attr", "work queue attributes", {
  wqState: { values: SETTABLE, mask: MASK.STATE },
  currWqState: { values: SETTABLE, mask: MASK.CURR_STATE },
  flags: { mask: MASK.FLAGS, derive: checkFlags },
  flagsMask: {},
});

const KIND: NativeKind<IbvWq, WorkQueue> = {
  name: "work queue",
  destroy(handle, wq): void {
    call("ibv_destroy_wq", "destroy work queue", [handle]);
    unregisterElement(wq);
  },
  describe: ({ wqNum, state }) => ({ wqNum, state: nameOf(WqState, state) }),
};

/**
 * A work queue (`struct ibv_wq`): a receive queue without a queue pair. It receives packets for the queue pairs whose
 * `RwqIndirectionTable` contains it. Disposing it first disposes those tables and queue pairs.
 *
 * A new work queue is in state RESET, in which packets are dropped: move it to RDY with
 * `WorkQueue.modify`, and post receives with
 * `WorkQueue.postRecv`. The completion of a receive has
 * `WorkQueue.wqNum` as `qpNum`.
 *
 * @example A work queue that is ready to receive
 * ```ts
 * import { type CompletionQueue, type ProtectionDomain, WorkQueue, WqState } from "@rdma/ibverbs";
 *
 * function receiver(pd: ProtectionDomain, cq: CompletionQueue): WorkQueue {
 *   const wq = new WorkQueue(pd, { maxWr: 64, maxSge: 1, cq });
 *   wq.modify({ wqState: WqState.RDY });
 *   return wq;
 * }
 * ```
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Receive work queues and RSS
 */
export class WorkQueue extends NativeResource<IbvWq> {
  /** The device that the queue belongs to. */
  readonly context: Context;
  /** Protection domain. */
  readonly pd: ProtectionDomain;
  /** Completion queue of the receives. */
  readonly cq: CompletionQueue;
  /** Type. */
  readonly wqType: WqType;
  /** Number of the queue. Completions carry it as `qpNum`. */
  readonly wqNum: number;
  /** Number of receives that can be outstanding, as the device granted it. */
  readonly maxWr: number;
  /** Number of scatter/gather elements of a receive, as the device granted it. */
  readonly maxSge: number;
  readonly #receiver: RecvPoster;
  readonly #postRecv: ReturnType<typeof verbs>["ibv_post_wq_recv"];

  /**
   * Makes a work queue (`ibv_create_wq`).
   *
   * @throws {TypeError} Also if `cq` belongs to another context.
   * @throws {VerbsError} If the device refuses, has no work queues, or its provider cannot post to them (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain, init: WqInitAttr) {
    const { context } = instance(pd, ProtectionDomain, "pd");
    const { view, given, writeHandles } = initCodec.write(init, { pd });
    if (given.cq.context !== context) {
      throw new TypeError("Cannot create work queue: cq belongs to another context");
    }
    const { fields } = structs.ibv_wq_init_attr;
    writeHandles();
    const handle = call("ibv_create_wq", "create work queue", [context.unsafeHandle, view], {
      detail: () => `maxWr ${given.maxWr}, maxSge ${given.maxSge}`,
      hint: (code) => causeOf(CREATE_CAUSES, code, { ...given, context }),
      countOf: countsOf(context),
    });
    checkPostOp(handle);
    super(KIND, handle, [pd, given.cq]);
    registerElement(this);
    this.context = context;
    this.pd = pd;
    this.cq = given.cq;
    this.wqType = readNative(handle, structs.ibv_wq.fields.wq_type) as WqType;
    this.wqNum = readNative(handle, structs.ibv_wq.fields.wq_num);
    this.maxWr = readField(view, fields.max_wr);
    this.maxSge = readField(view, fields.max_sge);
    this.#postRecv = verbs().ibv_post_wq_recv;
    const hint = (code: string): string | undefined => causeOf(POST_CAUSES, code, {});
    this.#receiver = new RecvPoster(
      { verb: "ibv_post_wq_recv", action: "post receive", hint },
      { maxSge: this.maxSge, needsGrh: false },
    );
  }

  /** State of the queue, as this process last set it. */
  get state(): WqState {
    return readNative(this.unsafeHandle, structs.ibv_wq.fields.state) as WqState;
  }

  /**
   * Sets the attributes that are given (`ibv_modify_wq`).
   *
   * @throws {RangeError} If a state is not RESET, RDY or ERR, or a number is out of range.
   * @throws {TypeError} If no attribute is given, one is unknown, or only one of `flags` and `flagsMask` is given.
   * @throws {VerbsError} If the device refuses. mlx4 cannot change flags, and mana cannot change any attribute.
   */
  modify(attr: WqAttr): void {
    nothingBehind(arguments[1], "modify(attr): the mask is computed");
    const { view, mask, given } = attrCodec.write(attr);
    if (mask === 0) throw new TypeError("Cannot modify work queue: no attribute is given");
    const from = this.state;
    call("ibv_modify_wq", "modify work queue", [this.unsafeHandle, view], {
      detail: () => `${this.wqNum}, ${Object.keys(given).join(", ")}`,
      hint: (code) => causeOf(MODIFY_CAUSES, code, { from, attr: given }),
    });
  }

  /**
   * Posts receives, in order (`ibv_post_wq_recv`), as `QueuePair.postRecv` does. A packet arrives as it was on
   * the wire: its first byte is that of the Ethernet header.
   *
   * @throws {VerbsError} If the queue is full or a receive has too many scatter/gather elements (ENOMEM or EINVAL).
   */
  postRecv(requests: Receives, start?: number, count?: number): void {
    const run = this.#receiver.prepare(requests, start, count);
    if (run === null) return;
    const result = this.#postRecv(this.unsafeHandle, run.first, this.#receiver.badWr);
    if (result !== 0) throw this.#receiver.error(result, run);
  }
}

/** Posting does not check that the op exists: this is done once, here. */
function checkPostOp(handle: IbvWq): void {
  if (hasOwnOp(handle, "ibv_wq", "post_recv")) return;
  verbs().ibv_destroy_wq(handle);
  throw lacking("ibv_post_wq_recv", "create work queue");
}

function checkFlags({ flags, flagsMask }: Readonly<Record<string, unknown>>): undefined {
  if ((flags === undefined) === (flagsMask === undefined)) return;
  throw new TypeError("Cannot modify work queue: flags and flagsMask go together");
}

export const CREATE_CAUSES: Causes<
  Pick<WqInitAttr, "maxWr" | "maxSge" | "createFlags"> & { readonly context: Context }
> = [
  [
    "EOPNOTSUPP",
    "The device has no work queues; devices of mlx4 and mlx5 have them",
    ({ context }) => context.queryDeviceEx().maxWqTypeRq === 0,
  ],
  [
    "EOPNOTSUPP",
    "The device does not support all of createFlags",
    ({ createFlags = 0 }) => createFlags !== 0,
  ],
  ["EINVAL, ENOMEM", ABOVE_LIMIT, ({ context, maxWr, maxSge }) => {
    const { maxQpWr, maxSge: mostSge } = context.queryDevice();
    return aboveLimit([["maxWr", maxWr, maxQpWr], ["maxSge", maxSge, mostSge]]);
  }],
];

export const MODIFY_CAUSES: Causes<{ readonly from: WqState; readonly attr: WqAttr }> = [
  ["EOPNOTSUPP", "The device cannot change flags", ({ attr: { flags } }) => flags !== undefined],
  [
    "EINVAL",
    "A work queue cannot go from {from} to {to}: it goes from RESET to RDY, from RDY to ERR, and from any state to RESET",
    ({ from, attr: { wqState: to } }) => {
      const { RESET, RDY, ERR } = WqState;
      const leads = to === undefined || to === RESET || to === from ||
        (from === RESET && to === RDY) || (from === RDY && to === ERR);
      return !leads && { from: nameOf(WqState, from), to: nameOf(WqState, to) };
    },
  ],
];

export const POST_CAUSES: Causes = [
  [
    "ENOMEM",
    "The queue is full: a place is free again when the completion of a receive was polled",
  ],
];
