/**
 * Attributes of queue pairs, and which of them each state transition takes.
 *
 * @module
 */

import { enums, structs } from "../../ffi/layout.ts";
import { allocStruct, fieldBytes, readField, structToObject, writeField } from "../../ffi/struct.ts";
import { type AhAttr, type AhAttrInit, readAhAttr, writeAhAttr } from "../address/ah_attr.ts";
import { type Members, members, nameOf } from "../core/enums.ts";
import type { Mtu } from "../device/port.ts";
import { integer, uint16, uint24, uint32, uint8 } from "../core/checks.ts";

/**
 * Transport service of a queue pair (`enum ibv_qp_type`).
 *
 * - `RC`: reliable connection: messages of any size in order, RDMA, atomics
 * - `UC`: unreliable connection: the same without acknowledgements, reads and atomics
 * - `UD`: unreliable datagram: single packets to any peer
 * - `RAW_PACKET`: whole Ethernet frames; takes CAP_NET_RAW
 * - `XRC_SEND`, `XRC_RECV`: extended reliable connection
 * - `DRIVER`: the provider's own
 */
export const QpType: Members<typeof enums.ibv_qp_type, "IBV_QPT_"> = members(
  enums.ibv_qp_type,
  "IBV_QPT_",
);
/** A value of {@linkcode QpType}. */
export type QpType = typeof QpType[keyof typeof QpType];

/**
 * State of a queue pair (`enum ibv_qp_state`).
 *
 * - `RESET`: as made
 * - `INIT`: receives may be posted
 * - `RTR`: ready to receive
 * - `RTS`: ready to send
 * - `SQD`: send queue drained
 * - `SQE`: send queue in error
 * - `ERR`: in error; all work is flushed
 * - `UNKNOWN`: not known
 */
export const QpState: Members<typeof enums.ibv_qp_state, "IBV_QPS_"> = members(
  enums.ibv_qp_state,
  "IBV_QPS_",
);
/** A value of {@linkcode QpState}. */
export type QpState = typeof QpState[keyof typeof QpState];

/**
 * Which attributes a call sets or asks for (`enum ibv_qp_attr_mask`), to be combined with `|`. Named after the
 * attributes; `AV` is `ahAttr`, `ALT_PATH` all the `alt` ones.
 */
export const QpAttrMask: Members<typeof enums.ibv_qp_attr_mask, "IBV_QP_"> = members(
  enums.ibv_qp_attr_mask,
  "IBV_QP_",
);

/** Path migration (`enum ibv_mig_state`): `MIGRATED`, `REARM`, `ARMED`. */
export const MigState: Members<typeof enums.ibv_mig_state, "IBV_MIG_"> = members(
  enums.ibv_mig_state,
  "IBV_MIG_",
);
/** A value of {@linkcode MigState}. */
export type MigState = typeof MigState[keyof typeof MigState];

/** Sizes of a queue pair's queues (`struct ibv_qp_cap`). */
export interface QpCap {
  /** Outstanding send requests. */
  readonly maxSendWr: number;
  /** Outstanding receive requests. */
  readonly maxRecvWr: number;
  /** Scatter/gather elements of a send. */
  readonly maxSendSge: number;
  /** Scatter/gather elements of a receive. */
  readonly maxRecvSge: number;
  /** Bytes of inline data of a send. */
  readonly maxInlineData: number;
}

/** Attributes of a queue pair (`struct ibv_qp_attr`). */
export interface QpAttr {
  /** State to move to, or to be in. */
  readonly qpState: QpState;
  /** State it is assumed to be in. */
  readonly curQpState: QpState;
  /** MTU of the path, as a code (RC, UC). */
  readonly pathMtu: Mtu;
  /** Path migration state. */
  readonly pathMigState: MigState;
  /** Key that datagrams must carry (UD). */
  readonly qkey: number;
  /** First packet number to expect, 24 bits (RC, UC). */
  readonly rqPsn: number;
  /** First packet number to send, 24 bits. */
  readonly sqPsn: number;
  /** The peer's queue pair, 24 bits (RC, UC). */
  readonly destQpNum: number;
  /** What peers may do, {@linkcode AccessFlags} combined (RC, UC). */
  readonly qpAccessFlags: number;
  /** Sizes of the queues; settable on devices that resize them. */
  readonly cap: QpCap;
  /** The peer's address (RC, UC). */
  readonly ahAttr: AhAttr;
  /** The peer's alternative address (RC, UC). */
  readonly altAhAttr: AhAttr;
  /** Index into the P_Key table. */
  readonly pkeyIndex: number;
  /** Index into the P_Key table for the alternative path. */
  readonly altPkeyIndex: number;
  /** Whether to give an event when the send queue is drained: 0 or 1. */
  readonly enSqdAsyncNotify: number;
  /** Whether the send queue is draining: 0 or 1. */
  readonly sqDraining: number;
  /** RDMA reads and atomics it may have under way (RC). */
  readonly maxRdAtomic: number;
  /** RDMA reads and atomics it serves at a time (RC). */
  readonly maxDestRdAtomic: number;
  /** Delay it asks of peers that find no receive, as a code 0 to 31: 12 is 0.64 ms (RC). */
  readonly minRnrTimer: number;
  /** Its port. */
  readonly portNum: number;
  /** Time to wait for an acknowledgement, as an exponent 0 to 31: 4.096 us * 2^n, 0 for ever (RC). */
  readonly timeout: number;
  /** Attempts after that time, 0 to 7 (RC). */
  readonly retryCnt: number;
  /** Attempts after the peer had no receive, 0 to 7; 7 is for ever (RC). */
  readonly rnrRetry: number;
  /** Port of the alternative path. */
  readonly altPortNum: number;
  /** Timeout of the alternative path. */
  readonly altTimeout: number;
  /** Rate limit in kbit/s. */
  readonly rateLimit: number;
}

/** Attributes to set: those given, and no others. */
export type QpAttrInit =
  & Partial<Omit<QpAttr, "ahAttr" | "altAhAttr">>
  & {
    /** The peer's address (RC, UC). */
    readonly ahAttr?: AhAttrInit;
    /** The peer's alternative address (RC, UC). */
    readonly altAhAttr?: AhAttrInit;
  };

const { fields } = structs.ibv_qp_attr;
type Scalar = Exclude<keyof QpAttr, "cap" | "ahAttr" | "altAhAttr">;

interface ScalarRule {
  readonly field: (typeof fields)[keyof typeof fields];
  readonly mask: number;
  readonly check: (value: number, what: string) => number;
}

function upTo(max: number): ScalarRule["check"] {
  return (value, what) => integer(value, what, 0, max);
}

const MASK = QpAttrMask;
const SCALARS: Record<Scalar, ScalarRule> = {
  qpState: { field: fields.qp_state, mask: MASK.STATE, check: upTo(QpState.ERR) },
  curQpState: { field: fields.cur_qp_state, mask: MASK.CUR_STATE, check: upTo(QpState.ERR) },
  pathMtu: { field: fields.path_mtu, mask: MASK.PATH_MTU, check: uint8 },
  pathMigState: { field: fields.path_mig_state, mask: MASK.PATH_MIG_STATE, check: uint8 },
  qkey: { field: fields.qkey, mask: MASK.QKEY, check: uint32 },
  rqPsn: { field: fields.rq_psn, mask: MASK.RQ_PSN, check: uint24 },
  sqPsn: { field: fields.sq_psn, mask: MASK.SQ_PSN, check: uint24 },
  destQpNum: { field: fields.dest_qp_num, mask: MASK.DEST_QPN, check: uint24 },
  qpAccessFlags: { field: fields.qp_access_flags, mask: MASK.ACCESS_FLAGS, check: uint32 },
  pkeyIndex: { field: fields.pkey_index, mask: MASK.PKEY_INDEX, check: uint16 },
  altPkeyIndex: { field: fields.alt_pkey_index, mask: MASK.ALT_PATH, check: uint16 },
  enSqdAsyncNotify: {
    field: fields.en_sqd_async_notify,
    mask: MASK.EN_SQD_ASYNC_NOTIFY,
    check: upTo(1),
  },
  sqDraining: { field: fields.sq_draining, mask: 0, check: upTo(1) },
  maxRdAtomic: { field: fields.max_rd_atomic, mask: MASK.MAX_QP_RD_ATOMIC, check: uint8 },
  maxDestRdAtomic: {
    field: fields.max_dest_rd_atomic,
    mask: MASK.MAX_DEST_RD_ATOMIC,
    check: uint8,
  },
  minRnrTimer: { field: fields.min_rnr_timer, mask: MASK.MIN_RNR_TIMER, check: upTo(31) },
  portNum: { field: fields.port_num, mask: MASK.PORT, check: uint8 },
  timeout: { field: fields.timeout, mask: MASK.TIMEOUT, check: upTo(31) },
  retryCnt: { field: fields.retry_cnt, mask: MASK.RETRY_CNT, check: upTo(7) },
  rnrRetry: { field: fields.rnr_retry, mask: MASK.RNR_RETRY, check: upTo(7) },
  altPortNum: { field: fields.alt_port_num, mask: MASK.ALT_PATH, check: uint8 },
  altTimeout: { field: fields.alt_timeout, mask: MASK.ALT_PATH, check: upTo(31) },
  rateLimit: { field: fields.rate_limit, mask: MASK.RATE_LIMIT, check: uint32 },
};

const CAPS = {
  maxSendWr: "cap.max_send_wr",
  maxRecvWr: "cap.max_recv_wr",
  maxSendSge: "cap.max_send_sge",
  maxRecvSge: "cap.max_recv_sge",
  maxInlineData: "cap.max_inline_data",
} as const;

/** Structs that hold a `struct ibv_qp_cap`. */
type CapHolder = "ibv_qp_attr" | "ibv_qp_init_attr" | "ibv_qp_init_attr_ex";

/** Writes queue sizes into a struct that holds them; those left out stay 0. */
export function writeCap(view: DataView, holder: CapHolder, cap: Partial<QpCap>): void {
  for (const name of Object.keys(CAPS) as (keyof typeof CAPS)[]) {
    const field = structs[holder].fields[CAPS[name]];
    writeField(view, field, uint32(cap[name] ?? 0, `cap.${name}`));
  }
}

/** Reads queue sizes from a struct that holds them. */
export function readCap(view: DataView, holder: CapHolder): QpCap {
  return Object.fromEntries(
    Object.entries(CAPS).map(([name, field]) => [
      name,
      readField(view, structs[holder].fields[field]),
    ]),
  ) as unknown as QpCap;
}

/** Writes the attributes given, and tells by a mask which those are. */
export function writeQpAttr(attr: QpAttrInit): { view: DataView<ArrayBuffer>; mask: number } {
  const view = allocStruct(structs.ibv_qp_attr);
  let mask = 0;
  for (const [name, rule] of Object.entries(SCALARS)) {
    const value = attr[name as Scalar];
    if (value === undefined) continue;
    writeField(view, rule.field, rule.check(value, name));
    mask |= rule.mask;
  }
  if (attr.cap !== undefined) {
    writeCap(view, "ibv_qp_attr", attr.cap);
    mask |= MASK.CAP;
  }
  if (attr.ahAttr !== undefined) {
    copyAhAttr(view, fields.ah_attr, attr.ahAttr);
    mask |= MASK.AV;
  }
  if (attr.altAhAttr !== undefined) {
    copyAhAttr(view, fields.alt_ah_attr, attr.altAhAttr);
    mask |= MASK.ALT_PATH;
  }
  return { view, mask };
}

type Bytes = { readonly offset: number; readonly size: number };

function copyAhAttr(view: DataView<ArrayBuffer>, field: Bytes, attr: AhAttrInit): void {
  fieldBytes(view, field).set(new Uint8Array(writeAhAttr(attr).buffer));
}

/** Reads all attributes. */
export function readQpAttr(view: DataView<ArrayBuffer>): QpAttr {
  return {
    ...structToObject(view, structs.ibv_qp_attr),
    cap: readCap(view, "ibv_qp_attr"),
    ahAttr: ahAttrAt(view, fields.ah_attr),
    altAhAttr: ahAttrAt(view, fields.alt_ah_attr),
  } as QpAttr;
}

function ahAttrAt(view: DataView<ArrayBuffer>, { offset, size }: Bytes): AhAttr {
  return readAhAttr(new DataView(view.buffer, offset, size));
}

const CONNECTED_INIT = MASK.PKEY_INDEX | MASK.PORT | MASK.ACCESS_FLAGS;
const CONNECTED_RTR = MASK.AV | MASK.PATH_MTU | MASK.DEST_QPN | MASK.RQ_PSN;

/** What the InfiniBand specification asks for on the way up, by the state moved to. */
const REQUIRED: { readonly [type: number]: { readonly [state: number]: number } | undefined } = {
  [QpType.UD]: {
    [QpState.INIT]: MASK.PKEY_INDEX | MASK.PORT | MASK.QKEY,
    [QpState.RTS]: MASK.SQ_PSN,
  },
  [QpType.UC]: {
    [QpState.INIT]: CONNECTED_INIT,
    [QpState.RTR]: CONNECTED_RTR,
    [QpState.RTS]: MASK.SQ_PSN,
  },
  [QpType.RC]: {
    [QpState.INIT]: CONNECTED_INIT,
    [QpState.RTR]: CONNECTED_RTR | MASK.MAX_DEST_RD_ATOMIC | MASK.MIN_RNR_TIMER,
    [QpState.RTS]: MASK.SQ_PSN | MASK.TIMEOUT | MASK.RETRY_CNT | MASK.RNR_RETRY |
      MASK.MAX_QP_RD_ATOMIC,
  },
};
const WAY_UP: readonly number[] = [QpState.RESET, QpState.INIT, QpState.RTR, QpState.RTS];

/** Why a transition was likely refused: out of order, or without an attribute it needs. */
export function explainTransition(
  type: QpType,
  from: QpState,
  to: QpState | undefined,
  mask: number,
): string | undefined {
  if (to === undefined) return undefined;
  const [at, next] = [WAY_UP.indexOf(from), WAY_UP.indexOf(to)];
  const names = `${nameOf(QpState, from)} to ${nameOf(QpState, to)}`;
  if (next > 0 && at !== next - 1 && at !== next) {
    return `A queue pair does not go from ${names}: the way up is RESET, INIT, RTR, RTS`;
  }
  const missing = (REQUIRED[type]?.[to] ?? 0) & ~mask;
  if (missing === 0 || at === next) return undefined;
  const attributes = Object.entries(MASK).filter(([, bit]) => missing & bit).map(([name]) => name);
  return `${names} also takes ${attributes.join(", ")}`;
}
