import { type CEnum, enums } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import type { Optional } from "../../internal/optional.ts";
import { CompletionQueue } from "../completion/completion_queue.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { XrcDomain } from "./xrc_domain.ts";

/**
 * Type of a shared receive queue (`enum ibv_srq_type`).
 *
 * @category Shared receive queues
 */
export const SrqType: {
  /** Receives for the queue pairs that are made with the queue. */
  readonly BASIC: CEnum.ibv_srq_type.IBV_SRQT_BASIC;
  /** Receives for the queue pairs of an XRC domain. */
  readonly XRC: CEnum.ibv_srq_type.IBV_SRQT_XRC;
  /** Matches the tags of messages with those of receives. */
  readonly TM: CEnum.ibv_srq_type.IBV_SRQT_TM;
} = members("ibv_srq_type", "IBV_SRQT_");
/**
 * A value of `SrqType`.
 *
 * @category Shared receive queues
 */
export type SrqType = typeof SrqType[keyof typeof SrqType];

/**
 * Attributes of a shared receive queue (`struct ibv_srq_attr`).
 *
 * @category Shared receive queues
 */
export interface SrqAttr {
  /** Number of receives that can be outstanding. */
  readonly maxWr: number;
  /** Number of scatter/gather elements of a receive. */
  readonly maxSge: number;
  /** The event `SRQ_LIMIT_REACHED` is sent once when fewer receives than this are left. 0 is no limit. */
  readonly srqLimit: number;
}

/**
 * Attributes of a new shared receive queue (`struct ibv_srq_init_attr` and `struct ibv_srq_init_attr_ex`).
 *
 * @category Shared receive queues
 */
export interface SrqInitAttr {
  /** Number of receives that can be outstanding. The device may grant more. */
  readonly maxWr: number;
  /** Number of scatter/gather elements of a receive. The device may grant more. The default is 1. */
  readonly maxSge?: number | undefined;
  /** Type. The default is `BASIC`. */
  readonly srqType?: SrqType | undefined;
  /** XRC: the domain. */
  readonly xrcd?: XrcDomain | undefined;
  /** XRC, TM: completion queue of the receives. Receives of a basic queue complete in `recvCq` of their queue pair. */
  readonly cq?: CompletionQueue | undefined;
  /** TM: limits of tag matching (`struct ibv_tm_cap`). */
  readonly tmCap?: {
    /** Number of tags that can be in the list. */
    readonly maxNumTags: number;
    /** Number of operations on the list that can be outstanding. */
    readonly maxOps: number;
  } | undefined;
}

/** Attributes of a shared receive queue to set. */
export type SrqAttrInit = Optional<Omit<SrqAttr, "maxSge">>;

const INIT = members("ibv_srq_init_attr_mask", "IBV_SRQ_INIT_ATTR_");

type TmCap = NonNullable<SrqInitAttr["tmCap"]>;

const tmCapCodec: AttributeCodec<TmCap> = codecOf("ibv_tm_cap", "tmCap", {
  maxNumTags: { required: true },
  maxOps: { required: true },
});

function noneOfBasic({ srqType }: Readonly<Record<string, unknown>>): null | undefined {
  return srqType === SrqType.BASIC ? null : undefined;
}

/** The codec of `struct ibv_srq_init_attr_ex`. */
export const srqInitCodec: AttributeCodec<SrqInitAttr, SrqInitAttr, { pd: ProtectionDomain }> =
  codecOf("ibv_srq_init_attr_ex", "shared receive queue attributes", {
    pd: { resource: ProtectionDomain, own: true },
    maxWr: { field: "attr.max_wr", required: true },
    maxSge: { field: "attr.max_sge", fallback: 1 },
    // The verb of basic queues takes the domain as an argument, and no mask.
    srqType: { mask: INIT.TYPE | INIT.PD, values: SrqType, derive: noneOfBasic },
    xrcd: { mask: INIT.XRCD, resource: XrcDomain },
    cq: { mask: INIT.CQ, resource: CompletionQueue },
    tmCap: { mask: INIT.TM, struct: tmCapCodec },
  });

/** The codec of `struct ibv_srq_attr`. The number of elements cannot be set. */
export const srqAttrCodec: AttributeCodec<SrqAttrInit, SrqAttr, { maxSge?: number }> = codecOf(
  "ibv_srq_attr",
  "shared receive queue attributes",
  {
    maxWr: { mask: enums.ibv_srq_attr_mask.IBV_SRQ_MAX_WR },
    maxSge: { own: true },
    srqLimit: { mask: enums.ibv_srq_attr_mask.IBV_SRQ_LIMIT },
  },
);
