/**
 * Queue pairs with more than the basic attributes, such as those that spread packets over work queues.
 *
 * @module
 */

import type { IbvQp } from "../../ffi/handles.ts";
import { enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { allocStruct, readField, writeField } from "../../ffi/struct.ts";
import type { CompletionQueue } from "../completion/completion_queue.ts";
import { checkHandle, requireOp } from "../core/errors.ts";
import { type Members, members, nameOf } from "../core/enums.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { type QpCap, QpType, readCap, writeCap } from "./qp_attr.ts";
import { checkContext, checkPostOps, QueuePair } from "./queue_pair.ts";
import { hintCreate } from "./hints.ts";
import type { RwqIndirectionTable } from "../rss/rwq_indirection_table.ts";
import { type RxHash, writeRxHash } from "../rss/rx_hash.ts";
import { uint16, uint24, uint32 } from "../core/checks.ts";

/**
 * How a queue pair is made (`enum ibv_qp_create_flags`), to be combined with `|`.
 *
 * - `BLOCK_SELF_MCAST_LB`: does not receive its own multicast packets
 * - `SCATTER_FCS`: writes the frame check sequence behind the packet
 * - `CVLAN_STRIPPING`: takes the customer VLAN tag off
 * - `SOURCE_QPN`: sends as {@linkcode QpInitEx.sourceQpn}, which sets it
 * - `PCI_WRITE_END_PADDING`: pads writes to whole cache lines
 */
export const QpCreateFlags: Members<typeof enums.ibv_qp_create_flags, "IBV_QP_CREATE_"> = members(
  enums.ibv_qp_create_flags,
  "IBV_QP_CREATE_",
);

/** What the `ibv_wr_*` verbs are to do on a queue pair (`enum ibv_qp_create_send_ops_flags`), to be combined with `|`. */
export const SendOpsFlags: Members<
  typeof enums.ibv_qp_create_send_ops_flags,
  "IBV_QP_EX_WITH_"
> = members(enums.ibv_qp_create_send_ops_flags, "IBV_QP_EX_WITH_");

/**
 * What a queue pair is to be like (`struct ibv_qp_init_attr_ex`). Its `comp_mask` follows from what is given.
 *
 * With `rwqIndTbl` it is an RSS queue pair: it has no receive queue, and no send queue unless `cap.maxSendWr` asks for
 * one; on mlx4 it receives once it was taken to INIT, with a port, and to RTR, while mlx5 and mana leave it no states. Any
 * other has both queues.
 */
export interface QpInitEx {
  /** Its transport service; RAW_PACKET for RSS. */
  readonly type: QpType;
  /** Where its sends complete. */
  readonly sendCq?: CompletionQueue;
  /** Where its receives complete; may be the same. */
  readonly recvCq?: CompletionQueue;
  /** Sizes of its queues; the device may give more. One scatter/gather element and no inline data unless given. */
  readonly cap?: Partial<QpCap>;
  /** Whether every send has a completion, signaled or not; false if left out. */
  readonly sqSigAll?: boolean;
  /** {@linkcode QpCreateFlags}, combined. */
  readonly createFlags?: number;
  /** Longest header in bytes of a packet that the device segments. */
  readonly maxTsoHeader?: number;
  /** RSS: the table of work queues that receive in its place. */
  readonly rwqIndTbl?: RwqIndirectionTable;
  /** RSS: how packets are hashed. */
  readonly rxHashConf?: RxHash;
  /** The number, 24 bits, of the queue pair it sends as. */
  readonly sourceQpn?: number;
  /** {@linkcode SendOpsFlags}, combined. */
  readonly sendOpsFlags?: number;
}

type Queues = Pick<QpInitEx, "sendCq" | "recvCq">;

const MASK = members(enums.ibv_qp_init_attr_mask, "IBV_QP_INIT_ATTR_");
const FIELDS = structs.ibv_qp_init_attr_ex.fields;

/** The way in for {@linkcode ProtectionDomain.createQpEx}. */
export function createQpEx(pd: ProtectionDomain, init: QpInitEx): QueuePair {
  const parent = pd.unsafeHandle;
  checkParts(pd, init);
  const queues = init.rwqIndTbl === undefined ? bothQueues(init) : sendQueueOnly(init);
  if (queues.sendCq !== undefined) checkPostOps(pd);
  const view = writeInit(init, queues);
  writeField(view, FIELDS.pd, Deno.UnsafePointer.value(parent));
  const handle = checkHandle("ibv_create_qp_ex", "create queue pair", callVerb(pd, view), {
    detail: () => describe(init),
    hint: (code) => hint(code, pd, init),
  });
  const parents = [queues.sendCq, queues.recvCq, init.rwqIndTbl]
    .filter((parent) => parent !== undefined);
  const { type, sqSigAll = false, rwqIndTbl, rxHashConf } = init;
  const made = { type, sqSigAll, ...queues, rwqIndTbl, rxHashConf };
  return new QueuePair(pd, handle, parents, made, readCap(view, "ibv_qp_init_attr_ex"));
}

function checkParts(pd: ProtectionDomain, { sendCq, recvCq, rwqIndTbl }: QpInitEx): void {
  if (sendCq !== undefined) checkContext(pd, sendCq, "sendCq");
  if (recvCq !== undefined) checkContext(pd, recvCq, "recvCq");
  if (rwqIndTbl !== undefined) checkContext(pd, rwqIndTbl, "rwqIndTbl");
}

/** Providers follow both pointers without looking. */
function bothQueues({ sendCq, recvCq }: QpInitEx): Queues {
  if (sendCq !== undefined && recvCq !== undefined) return { sendCq, recvCq };
  const missing = sendCq === undefined ? "sendCq" : "recvCq";
  throw new TypeError(`Cannot create queue pair: without an indirection table it takes ${missing}`);
}

function sendQueueOnly({ sendCq, recvCq, cap = {} }: QpInitEx): Queues {
  if (recvCq !== undefined || cap.maxRecvWr || cap.maxRecvSge) {
    throw new TypeError(
      "Cannot create queue pair: with an indirection table it has no receive queue of its own",
    );
  }
  if (!cap.maxSendWr) return {};
  if (sendCq === undefined) {
    throw new TypeError("Cannot create queue pair: its send queue takes sendCq");
  }
  return { sendCq };
}

/** The optional attributes that are numbers: where they go, their bit, and their range. */
const NUMBERS = {
  createFlags: { field: FIELDS.create_flags, mask: MASK.CREATE_FLAGS, check: uint32 },
  maxTsoHeader: { field: FIELDS.max_tso_header, mask: MASK.MAX_TSO_HEADER, check: uint16 },
  sourceQpn: { field: FIELDS.source_qpn, mask: MASK.CREATE_FLAGS, check: uint24 },
  sendOpsFlags: { field: FIELDS.send_ops_flags, mask: MASK.SEND_OPS_FLAGS, check: uint32 },
} as const;

function writeInit(init: QpInitEx, queues: Queues): DataView<ArrayBuffer> {
  const view = allocStruct(structs.ibv_qp_init_attr_ex);
  let mask: number = MASK.PD;
  writeField(view, FIELDS.qp_type, uint32(init.type, "type"));
  writeField(view, FIELDS.sq_sig_all, Number(init.sqSigAll ?? false));
  writeQueues(view, queues, init.cap);
  for (const [name, { field, mask: bit, check }] of Object.entries(NUMBERS)) {
    const value = init[name as keyof typeof NUMBERS];
    if (value === undefined) continue;
    writeField(view, field, check(value, name));
    mask |= bit;
  }
  if (init.sourceQpn !== undefined) {
    writeField(view, FIELDS.create_flags, (init.createFlags ?? 0) | QpCreateFlags.SOURCE_QPN);
  }
  if (init.rwqIndTbl !== undefined) {
    writeField(view, FIELDS.rwq_ind_tbl, Deno.UnsafePointer.value(init.rwqIndTbl.unsafeHandle));
    mask |= MASK.IND_TABLE;
  }
  if (init.rxHashConf !== undefined) {
    writeRxHash(init.rxHashConf, view, FIELDS.rx_hash_conf.offset);
    mask |= MASK.RX_HASH;
  }
  writeField(view, FIELDS.comp_mask, mask);
  return view;
}

function writeQueues(
  view: DataView,
  { sendCq, recvCq }: Queues,
  cap: Partial<QpCap> | undefined,
): void {
  writeField(view, FIELDS.send_cq, Deno.UnsafePointer.value(sendCq?.unsafeHandle ?? null));
  writeField(view, FIELDS.recv_cq, Deno.UnsafePointer.value(recvCq?.unsafeHandle ?? null));
  const oneEach = {
    maxSendSge: sendCq === undefined ? 0 : 1,
    maxRecvSge: recvCq === undefined ? 0 : 1,
  };
  writeCap(view, "ibv_qp_init_attr_ex", { ...oneEach, ...cap });
}

/** As the header does: with nothing but the basic attributes it is `ibv_create_qp`, whose struct begins alike. */
function callVerb(pd: ProtectionDomain, view: DataView<ArrayBuffer>): IbvQp | null {
  if (readField(view, FIELDS.comp_mask) === MASK.PD) {
    return verbs().ibv_create_qp(pd.unsafeHandle, view);
  }
  const context = pd.context.unsafeHandle;
  requireOp(context, "create_qp_ex", "create queue pair");
  return verbs().ibv_create_qp_ex(context, view);
}

function describe(init: QpInitEx): string {
  const given = Object.keys(init).filter((name) => name !== "type");
  return `${nameOf(QpType, init.type)}, ${given.join(", ")}`;
}

function hint(code: string, pd: ProtectionDomain, init: QpInitEx): string | undefined {
  const isRss = init.rwqIndTbl !== undefined || init.rxHashConf !== undefined;
  if (!isRss || code === "EPERM") return hintCreate(code, pd);
  if (code !== "EINVAL" && code !== "EOPNOTSUPP") return undefined;
  return "RSS, where the device has it, takes type RAW_PACKET, both rwqIndTbl and rxHashConf, a key of 40 bytes, " +
    "and a combination of fields that the device knows";
}
