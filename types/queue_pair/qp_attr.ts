import type { Optional } from "../../internal/optional.ts";
import { type AhAttr, ahAttrCodec, type AhAttrInit } from "../address/ah_attr.ts";
import { AttributeCodec, codecOf, type Rules } from "../core/attributes.ts";
import { Mtu } from "../device/port.ts";
import { MigState, QpAttrMask, QpState } from "./qp_enums.ts";

/**
 * Sizes of a queue pair's queues (`struct ibv_qp_cap`).
 *
 * @category Queue pairs
 */
export interface QpCap {
  /** Number of sends that can be outstanding. */
  readonly maxSendWr: number;
  /** Number of receives that can be outstanding. */
  readonly maxRecvWr: number;
  /** Number of scatter/gather elements of a send. */
  readonly maxSendSge: number;
  /** Number of scatter/gather elements of a receive. */
  readonly maxRecvSge: number;
  /** Bytes of inline data of a send. */
  readonly maxInlineData: number;
}

/**
 * Attributes of a queue pair (`struct ibv_qp_attr`), as `QueuePair.query` gives them.
 *
 * @category Queue pairs
 */
export interface QpAttr {
  /** The state to move to, or the state. */
  readonly qpState: QpState;
  /** The state that the queue pair is assumed to be in. */
  readonly curQpState: QpState;
  /** MTU of the path, as a code: `Mtu[1024]` (RC, UC). */
  readonly pathMtu: Mtu;
  /** State of path migration (RC, UC). */
  readonly pathMigState: MigState;
  /** The qkey that received datagrams must carry (UD). */
  readonly qkey: number;
  /** Packet sequence number of the first packet to receive, 24 bits (RC, UC). */
  readonly rqPsn: number;
  /** Packet sequence number of the first packet to send, 24 bits. */
  readonly sqPsn: number;
  /** Number of the peer's queue pair, 24 bits (RC, UC). */
  readonly destQpNum: number;
  /** Operations that peers may do: `AccessFlags`, combined (RC, UC). */
  readonly qpAccessFlags: number;
  /** Sizes of the queues. Only some devices can change them. */
  readonly cap: QpCap;
  /** Address of the peer (RC, UC). */
  readonly ahAttr: AhAttr;
  /** Alternative address of the peer (RC, UC). */
  readonly altAhAttr: AhAttr;
  /** Index into the P_Key table of the port. */
  readonly pkeyIndex: number;
  /** Index into the P_Key table of the alternative path's port. */
  readonly altPkeyIndex: number;
  /** Whether an event is sent when the send queue is drained: 0 or 1. */
  readonly enSqdAsyncNotify: number;
  /** Whether the send queue is draining: 0 or 1. It can only be queried. */
  readonly sqDraining: number;
  /** The most RDMA reads and atomics that the queue pair has outstanding (RC). */
  readonly maxRdAtomic: number;
  /** Number of RDMA reads and atomics of the peer that it serves at the same time (RC). */
  readonly maxDestRdAtomic: number;
  /** Time that a peer waits after it found no receive, as a code 0 to 31; 12 is 0.64 ms (RC). */
  readonly minRnrTimer: number;
  /** The port, from 1. */
  readonly portNum: number;
  /** Time to wait for an acknowledgement, as an exponent 0 to 31: 4.096 us * 2^timeout; 0 is infinite (RC). */
  readonly timeout: number;
  /** Number of retries after that time, 0 to 7 (RC). */
  readonly retryCnt: number;
  /** Number of retries after the peer had no receive, 0 to 7; 7 is infinite (RC). */
  readonly rnrRetry: number;
  /** Port of the alternative path. */
  readonly altPortNum: number;
  /** Timeout of the alternative path, as `timeout`. */
  readonly altTimeout: number;
  /** Rate limit in kbit/s. */
  readonly rateLimit: number;
}

/**
 * What `QueuePair.modify` sets: attributes of `struct ibv_qp_attr`. Attributes that are left out keep their values.
 *
 * @category Queue pairs
 */
export interface QpModifyAttr
  extends Optional<Omit<QpAttr, "ahAttr" | "altAhAttr" | "cap" | "sqDraining">> {
  /** Sizes of the queues. Only some devices can change them. */
  readonly cap?: Optional<QpCap> | undefined;
  /** Address of the peer (RC, UC). */
  readonly ahAttr?: AhAttrInit | undefined;
  /** Alternative address of the peer (RC, UC). */
  readonly altAhAttr?: AhAttrInit | undefined;
}

export const qpCapCodec: AttributeCodec<Optional<QpCap>, QpCap> = codecOf("ibv_qp_cap", "cap", {
  maxSendWr: {},
  maxRecvWr: {},
  maxSendSge: {},
  maxRecvSge: {},
  maxInlineData: {},
});

/** States that a queue pair can be moved to. */
const { UNKNOWN: _, ...STATES } = QpState;
const MASK = QpAttrMask;

const rules: Rules<QpModifyAttr> = {
  qpState: { mask: MASK.STATE, values: STATES },
  curQpState: { mask: MASK.CUR_STATE, values: STATES },
  pathMtu: { mask: MASK.PATH_MTU, values: Mtu },
  pathMigState: { mask: MASK.PATH_MIG_STATE, values: MigState },
  qkey: { mask: MASK.QKEY },
  rqPsn: { mask: MASK.RQ_PSN, bits: 24 },
  sqPsn: { mask: MASK.SQ_PSN, bits: 24 },
  destQpNum: { mask: MASK.DEST_QPN, bits: 24 },
  qpAccessFlags: { mask: MASK.ACCESS_FLAGS },
  cap: { mask: MASK.CAP, struct: qpCapCodec },
  ahAttr: { mask: MASK.AV, struct: ahAttrCodec },
  altAhAttr: { mask: MASK.ALT_PATH, struct: ahAttrCodec },
  pkeyIndex: { mask: MASK.PKEY_INDEX },
  altPkeyIndex: { mask: MASK.ALT_PATH },
  enSqdAsyncNotify: { mask: MASK.EN_SQD_ASYNC_NOTIFY, max: 1 },
  maxRdAtomic: { mask: MASK.MAX_QP_RD_ATOMIC },
  maxDestRdAtomic: { mask: MASK.MAX_DEST_RD_ATOMIC },
  minRnrTimer: { mask: MASK.MIN_RNR_TIMER, bits: 5 },
  portNum: { mask: MASK.PORT },
  timeout: { mask: MASK.TIMEOUT, bits: 5 },
  retryCnt: { mask: MASK.RETRY_CNT, max: 7 },
  rnrRetry: { mask: MASK.RNR_RETRY, max: 7 },
  altPortNum: { mask: MASK.ALT_PATH },
  altTimeout: { mask: MASK.ALT_PATH, bits: 5 },
  rateLimit: { mask: MASK.RATE_LIMIT },
};

export const qpAttrCodec: AttributeCodec<QpModifyAttr> = codecOf(
  "ibv_qp_attr",
  "queue pair attributes",
  rules,
);

export const qpAttrReader: AttributeCodec<QpAttr> = new AttributeCodec<QpAttr>(
  "ibv_qp_attr",
  "queue pair attributes",
  { ...rules, sqDraining: {} } as Rules<QpAttr>,
);

/**
 * Limit of the rate at which a queue pair sends (`struct ibv_qp_rate_limit_attr`).
 *
 * @category Queue pairs
 */
export interface QpRateLimitAttr {
  /** The rate in kbit/s. 0 is no limit. */
  readonly rateLimit: number;
  /** The largest burst in bytes. The default is 0: the device chooses. */
  readonly maxBurstSz?: number | undefined;
  /** The typical size of a packet in bytes. The default is 0: the device chooses. */
  readonly typicalPktSz?: number | undefined;
}

export const rateLimitCodec: AttributeCodec<QpRateLimitAttr> = codecOf(
  "ibv_qp_rate_limit_attr",
  "rate limit",
  {
    rateLimit: { required: true },
    maxBurstSz: {},
    typicalPktSz: {},
  },
);

/**
 * Options of an enhanced connection establishment (`struct ibv_ece`). Two peers of the same vendor exchange them before
 * they connect.
 *
 * @category Queue pairs
 */
export interface Ece {
  /** The vendor that defines the options. */
  readonly vendorId: number;
  /** The options. */
  readonly options: number;
}

export const eceCodec: AttributeCodec<Ece> = codecOf("ibv_ece", "connection options", {
  vendorId: { required: true },
  options: { required: true },
});
