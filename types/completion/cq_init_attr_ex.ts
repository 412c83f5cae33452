/** Attributes of an extended completion queue. */

import { constants, enums } from "../../ffi/layout.ts";
import { type Members, members } from "../../ffi/members.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { CompletionChannel, type CqInitAttr } from "./completion_queue.ts";

/**
 * The values that a completion reports (`enum ibv_create_cq_wc_flags`), combined with `|`.
 *
 * - `WITH_BYTE_LEN`, `WITH_IMM`, `WITH_QP_NUM`, `WITH_SRC_QP`, `WITH_SLID`, `WITH_SL`, `WITH_DLID_PATH_BITS`: the values of
 *   {@linkcode WorkCompletion}
 * - `WITH_COMPLETION_TIMESTAMP`: timestamps of the device
 * - `WITH_COMPLETION_TIMESTAMP_WALLCLOCK`: timestamps in nanoseconds since 1970
 * - `WITH_CVLAN`: VLAN tags that the device removes
 * - `WITH_FLOW_TAG`: tags of flow rules
 * - `WITH_TM_INFO`: tag matching
 *
 * @category Completions
 */
export const CreateCqWcFlags: Members<"ibv_create_cq_wc_flags", "IBV_WC_EX_"> = members(
  "ibv_create_cq_wc_flags",
  "IBV_WC_EX_",
);

/**
 * Properties of a completion queue (`enum ibv_create_cq_attr_flags`), combined with `|`.
 *
 * - `SINGLE_THREADED`: the provider takes no locks, because one thread uses the queue
 * - `IGNORE_OVERRUN`: the queue does not fail when it overruns
 *
 * @category Completions
 */
export const CreateCqAttrFlags: Members<"ibv_create_cq_attr_flags", "IBV_CREATE_CQ_ATTR_"> =
  members("ibv_create_cq_attr_flags", "IBV_CREATE_CQ_ATTR_");

/**
 * Attributes of an extended completion queue to create (`struct ibv_cq_init_attr_ex`).
 *
 * @category Completions
 */
export interface CqInitAttrEx extends CqInitAttr {
  /**
   * {@linkcode CreateCqWcFlags}, combined: the values to report. If it is left out, these are the values of
   * {@linkcode WorkCompletion}. The number of the queue pair is always reported.
   */
  readonly wcFlags?: number | bigint;
  /** {@linkcode CreateCqAttrFlags}, combined. */
  readonly flags?: number;
  /** The parent domain whose allocators provide the memory of the queue. */
  readonly parentDomain?: ProtectionDomain;
}

/** The attributes that the codec writes. */
export interface CqAttrEx extends Omit<CqInitAttrEx, "channel"> {
  /** The channel. */
  readonly channel?: CompletionChannel;
}

const { IBV_CQ_INIT_ATTR_MASK_FLAGS: FLAGS, IBV_CQ_INIT_ATTR_MASK_PD: PD } =
  enums.ibv_cq_init_attr_mask;

/** The values that a queue reports by default. */
export const STANDARD_WC_FLAGS: number = constants.IBV_WC_STANDARD_FLAGS;

/** Writes the attributes. The mask is `comp_mask`. */
export const cqAttrExCodec: AttributeCodec<CqAttrEx> = codecOf(
  "ibv_cq_init_attr_ex",
  "completion queue attributes",
  {
    cqe: {},
    channel: { resource: CompletionChannel },
    compVector: {},
    wcFlags: {},
    flags: { mask: FLAGS },
    parentDomain: { resource: ProtectionDomain, mask: PD },
  },
);
