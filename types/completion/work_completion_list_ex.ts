import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { type Accessors, accessorsOf } from "../../ffi/struct.ts";
import { uint32 } from "../../internal/checks.ts";
import { made } from "../../internal/made.ts";
import type { BatchCore, Format } from "./cq_core.ts";
import { WorkCompletion } from "./work_completion.ts";
import { batchCore, type OtherBatch, WorkCompletionList } from "./work_completion_list.ts";

/**
 * The values that a completion reports (`enum ibv_create_cq_wc_flags`), combined with `|`.
 *
 * @category Completions
 */
export const CreateCqWcFlags: {
  /** The attribute `byteLen`. */
  readonly BYTE_LEN: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_BYTE_LEN;
  /** The attribute `immData`. */
  readonly IMM: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_IMM;
  /** The attribute `qpNum`. */
  readonly QP_NUM: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_QP_NUM;
  /** The attribute `srcQp`. */
  readonly SRC_QP: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_SRC_QP;
  /** The attribute `slid`. */
  readonly SLID: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_SLID;
  /** The attribute `sl`. */
  readonly SL: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_SL;
  /** The attribute `dlidPathBits`. */
  readonly DLID_PATH_BITS: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_DLID_PATH_BITS;
  /** Timestamps of the device, in cycles of its clock: `completionTs`. */
  readonly COMPLETION_TIMESTAMP: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  /** VLAN tags that the device removes: `cvlan`. */
  readonly CVLAN: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_CVLAN;
  /** Tags of flow rules: `flowTag`. */
  readonly FLOW_TAG: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_FLOW_TAG;
  /** Tag matching: `tmInfo`. */
  readonly TM_INFO: CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_TM_INFO;
  /** Timestamps in nanoseconds since 1970: `completionWallclockNs`. */
  readonly COMPLETION_TIMESTAMP_WALLCLOCK:
    CEnum.ibv_create_cq_wc_flags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
} = members("ibv_create_cq_wc_flags", "IBV_WC_EX_WITH_");

/** The bytes behind the `struct ibv_wc` array, `EXTENDED`.extra of them for each completion. */
const EXTRA = {
  completionTs: { offset: 0, type: "u64" },
  completionWallclockNs: { offset: 8, type: "u64" },
  tmTag: { offset: 16, type: "u64" },
  tmPriv: { offset: 24, type: "u32" },
  flowTag: { offset: 28, type: "u32" },
  cvlan: { offset: 32, type: "u16" },
} as const;
export type Extra = Accessors<typeof EXTRA>;
export const Extra: new (view: DataView, base: number) => Extra = accessorsOf(EXTRA);

/**
 * A completion of a `CompletionQueueEx`. Values that the queue was not created for are 0.
 *
 * @category Completions
 */
export class WorkCompletionEx extends WorkCompletion {
  /** Timestamp of the device, in cycles of its clock (`CreateCqWcFlags.COMPLETION_TIMESTAMP`). */
  readonly completionTs: bigint;
  /** Timestamp in nanoseconds since 1970 (`CreateCqWcFlags.COMPLETION_TIMESTAMP_WALLCLOCK`). */
  readonly completionWallclockNs: bigint;
  /** VLAN tag that the device removed from the packet (`CreateCqWcFlags.CVLAN`). */
  readonly cvlan: number;
  /** Tag of the flow rule that the packet matched (`CreateCqWcFlags.FLOW_TAG`). */
  readonly flowTag: number;
  /** Tag matching (`CreateCqWcFlags.TM_INFO`). */
  readonly tmInfo: {
    /** The tag of the message. */
    readonly tag: bigint;
    /** Private data of the message. */
    readonly priv: number;
  };

  /** @ignore Reads a completion. */
  constructor(view: DataView, base: number, extra: number) {
    super(view, base);
    const { completionTs, completionWallclockNs, cvlan, flowTag, tmTag, tmPriv } = new Extra(
      view,
      extra,
    );
    this.completionTs = completionTs;
    this.completionWallclockNs = completionWallclockNs;
    this.cvlan = cvlan;
    this.flowTag = flowTag;
    this.tmInfo = { tag: tmTag, priv: tmPriv };
  }
}

export const EXTENDED: Format<WorkCompletionEx> = {
  extra: 40,
  read: (view, base, extra) => new WorkCompletionEx(view, base, extra),
};

/**
 * Memory for completions of a `CompletionQueueEx`: a `WorkCompletionList` with the values that only extended queues
 * report. Values that the queue was not created for are 0.
 *
 * @example Timestamps
 * ```ts
 * import { type CompletionQueueEx, WorkCompletionListEx } from "@rdma/ibverbs";
 *
 * function lastTimestamp(cq: CompletionQueueEx, batch: WorkCompletionListEx): bigint | undefined {
 *   const count = cq.pollInto(batch);
 *   return count === 0 ? undefined : batch.completionTs(count - 1);
 * }
 * ```
 *
 * @category Completions
 */
export class WorkCompletionListEx extends WorkCompletionList<WorkCompletionEx> {
  readonly #core: BatchCore;

  /**
   * Allocates memory.
   *
   * @param capacity The number of completions, at least 1.
   * @throws {RangeError} If the capacity is out of range.
   */
  constructor(capacity: number) {
    super(made<OtherBatch<unknown>>({ capacity, format: EXTENDED }));
    this.#core = batchCore(this);
  }

  #at(index: number): Extra {
    return new Extra(this.#core.view, this.#core.extraAt(uint32(index, "index")));
  }

  /** The timestamp of the device, in cycles of its clock. */
  completionTs(index: number): bigint {
    return this.#at(index).completionTs;
  }

  /** The timestamp in nanoseconds since 1970. */
  completionWallclockNs(index: number): bigint {
    return this.#at(index).completionWallclockNs;
  }

  /** The VLAN tag that the device removed from the packet. */
  cvlan(index: number): number {
    return this.#at(index).cvlan;
  }

  /** The tag of the flow rule that the packet matched. */
  flowTag(index: number): number {
    return this.#at(index).flowTag;
  }

  /** Tag matching: the tag of the message. */
  tmTag(index: number): bigint {
    return this.#at(index).tmTag;
  }

  /** Tag matching: the private data of the message. */
  tmPriv(index: number): number {
    return this.#at(index).tmPriv;
  }
}
