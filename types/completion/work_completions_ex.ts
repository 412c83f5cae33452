/**
 * Completions of extended completion queues.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { show, uint32 } from "../core/checks.ts";
import { WorkCompletion } from "./work_completion.ts";
import { capacityOf, viewOf, WorkCompletions } from "./work_completions.ts";

const { size: WC_SIZE } = structs.ibv_wc;

/** Where each value lies in the bytes behind the `struct ibv_wc` array, and how many there are for each completion. */
export const EXTRA = {
  completionTs: 0,
  completionWallclockNs: 8,
  tmTag: 16,
  tmPriv: 24,
  flowTag: 28,
  cvlan: 32,
  size: 40,
} as const;

/**
 * Tag matching (`struct ibv_wc_tm_info`).
 *
 * @category Completions
 */
export interface WcTmInfo {
  /** The tag of the message. */
  readonly tag: bigint;
  /** Private data of the message. */
  readonly priv: number;
}

/**
 * A completion of a {@linkcode CompletionQueueEx}. Values that the queue was not created for are 0.
 *
 * @category Completions
 */
export class WorkCompletionEx extends WorkCompletion {
  /** Timestamp of the device, in cycles of its clock (`CreateCqWcFlags.WITH_COMPLETION_TIMESTAMP`). */
  readonly completionTs: bigint;
  /** Timestamp in nanoseconds since 1970 (`CreateCqWcFlags.WITH_COMPLETION_TIMESTAMP_WALLCLOCK`). */
  readonly completionWallclockNs: bigint;
  /** VLAN tag that the device removed from the packet (`CreateCqWcFlags.WITH_CVLAN`). */
  readonly cvlan: number;
  /** Tag of the flow rule that the packet matched (`CreateCqWcFlags.WITH_FLOW_TAG`). */
  readonly flowTag: number;
  /** Tag matching (`CreateCqWcFlags.WITH_TM_INFO`). */
  readonly tmInfo: WcTmInfo;

  /** @ignore Reads a completion. */
  constructor(view: DataView, base: number, extra: number) {
    super(view, base);
    this.completionTs = view.getBigUint64(extra + EXTRA.completionTs, true);
    this.completionWallclockNs = view.getBigUint64(extra + EXTRA.completionWallclockNs, true);
    this.cvlan = view.getUint16(extra + EXTRA.cvlan, true);
    this.flowTag = view.getUint32(extra + EXTRA.flowTag, true);
    this.tmInfo = {
      tag: view.getBigUint64(extra + EXTRA.tmTag, true),
      priv: view.getUint32(extra + EXTRA.tmPriv, true),
    };
  }
}

/**
 * Memory for completions of a {@linkcode CompletionQueueEx}: what {@linkcode WorkCompletions} has, and the values that only
 * extended queues report. Values that the queue was not created for are 0.
 *
 * @example Timestamps
 * ```ts
 * import { type CompletionQueueEx, WorkCompletionsEx } from "@rdma/ibverbs";
 *
 * function lastTimestamp(cq: CompletionQueueEx, batch: WorkCompletionsEx): bigint | undefined {
 *   const count = cq.pollInto(batch);
 *   return count === 0 ? undefined : batch.completionTs(count - 1);
 * }
 * ```
 *
 * @category Completions
 */
export class WorkCompletionsEx extends WorkCompletions {
  readonly #view: DataView<ArrayBuffer>;

  /**
   * Allocates memory.
   *
   * @param capacity The number of completions, at least 1.
   * @throws {RangeError} If the capacity is out of range.
   */
  constructor(capacity: number) {
    super(capacity, EXTRA.size);
    this.#view = viewOf(this);
  }

  #at(index: number): number {
    return capacityOf(this) * WC_SIZE + uint32(index, "index") * EXTRA.size;
  }

  /** The timestamp of the device, in cycles of its clock. */
  completionTs(index: number): bigint {
    return this.#view.getBigUint64(this.#at(index) + EXTRA.completionTs, true);
  }

  /** The timestamp in nanoseconds since 1970. */
  completionWallclockNs(index: number): bigint {
    return this.#view.getBigUint64(this.#at(index) + EXTRA.completionWallclockNs, true);
  }

  /** The VLAN tag that the device removed from the packet. */
  cvlan(index: number): number {
    return this.#view.getUint16(this.#at(index) + EXTRA.cvlan, true);
  }

  /** The tag of the flow rule that the packet matched. */
  flowTag(index: number): number {
    return this.#view.getUint32(this.#at(index) + EXTRA.flowTag, true);
  }

  /** Tag matching: the tag of the message. */
  tmTag(index: number): bigint {
    return this.#view.getBigUint64(this.#at(index) + EXTRA.tmTag, true);
  }

  /** Tag matching: the private data of the message. */
  tmPriv(index: number): number {
    return this.#view.getUint32(this.#at(index) + EXTRA.tmPriv, true);
  }

  /**
   * One completion as an object. Later polls do not change the object.
   *
   * @throws {RangeError} If the last poll did not write that many.
   */
  override at(index: number): WorkCompletionEx {
    if (!(Number.isInteger(index) && index >= 0 && index < this.length)) {
      throw new RangeError(
        `Cannot read completion ${show(index)}: the last poll wrote ${this.length}`,
      );
    }
    return new WorkCompletionEx(this.#view, index * WC_SIZE, this.#at(index));
  }

  /** All completions of the last poll as objects. */
  override *[Symbol.iterator](): Generator<WorkCompletionEx> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }
}
