import { cutTo } from "../../internal/caller.ts";
import { members } from "../../ffi/members.ts";
import { structs } from "../../ffi/layout.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { snapshot, uint32 } from "../../internal/checks.ts";
import type { Optional } from "../../internal/optional.ts";
import { CompletionQueue } from "../completion/completion_queue.ts";
import { type AttributeCodec, codecOf, type Written } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { assertOpen, type Resource, rootOf } from "../core/resource.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { RwqIndirectionTable } from "../rss/rwq_indirection_table.ts";
import { type NativeRxHash, RxHash, rxHashCodec } from "../rss/rx_hash.ts";
import { SharedReceiveQueue } from "../srq/shared_receive_queue.ts";
import { XrcDomain } from "../srq/xrc_domain.ts";
import { type QpCap, qpCapCodec } from "./qp_attr.ts";
import { QpCreateFlags, QpType } from "./qp_enums.ts";

/**
 * What a `QpInitAttr` of any type can have (`struct ibv_qp_init_attr` and `struct ibv_qp_init_attr_ex`).
 * `comp_mask` follows from the attributes that are given.
 *
 * A queue pair has a send queue and a receive queue, each with a completion queue. These have less:
 *
 * - With a shared receive queue it has no receive queue of its own. Its receives complete in `recvCq` all the same.
 * - With an indirection table it has no receive queue, and has a send queue only if `cap.maxSendWr` is positive.
 * - XRC_SEND has a send queue only. XRC_RECV has none: the shared receive queues of its domain receive.
 *
 * @category Queue pairs
 */
export interface AnyQpInitAttr {
  /** Transport service. RAW_PACKET for RSS. */
  readonly qpType: QpType;
  /** Completion queue of the sends. */
  readonly sendCq?: CompletionQueue | undefined;
  /** Completion queue of the receives. It may be the one of the sends. */
  readonly recvCq?: CompletionQueue | undefined;
  /** The shared receive queue that the queue pair takes its receives from. */
  readonly srq?: SharedReceiveQueue | undefined;
  /**
   * XRC_RECV: the domain of the queue pair. The device gets no protection domain then, as in C. The one in the
   * constructor only provides the context. Disposing it disposes the queue pair.
   */
  readonly xrcd?: XrcDomain | undefined;
  /**
   * Sizes of the queues. The device may grant more. `maxSendWr` and `maxRecvWr` are needed for the queues that the
   * queue pair has; 0 makes a queue without room. The default is one scatter/gather element and no inline data. With a
   * shared receive queue `maxRecvWr` and `maxRecvSge` have no effect, as in C (ibv_create_qp(3)).
   */
  readonly cap?: Optional<QpCap> | undefined;
  /** Whether every send has a completion, signaled or not. The default is false. */
  readonly sqSigAll?: boolean | undefined;
  /** `QpCreateFlags`, combined with `|`. */
  readonly createFlags?: number | undefined;
  /** Length in bytes of the longest header of packets that the device segments. */
  readonly maxTsoHeader?: number | undefined;
  /** RSS: the table of the work queues that receive. */
  readonly rwqIndTbl?: RwqIndirectionTable | undefined;
  /** RSS: how packets are hashed. */
  readonly rxHashConf?: RxHash | undefined;
  /** The queue pair number, 24 bits, that packets are sent with (UD). It sets `SOURCE_QPN` in `createFlags`. */
  readonly sourceQpn?: number | undefined;
  /** `SendOpsFlags`, combined with `|`: the operations of the `ibv_wr_*` verbs. */
  readonly sendOpsFlags?: number | undefined;
}

/**
 * What `QueuePair` is made with (`struct ibv_qp_init_attr` and `struct ibv_qp_init_attr_ex`):
 * `AnyQpInitAttr` explains each attribute. `sendCq`, `recvCq`, and `cap` with `maxSendWr` and `maxRecvWr` are needed,
 * but not for XRC_RECV or with an indirection table. XRC_SEND has neither `recvCq` nor `maxRecvWr`, and with `srq`
 * `maxRecvWr` is not needed.
 *
 * @category Queue pairs
 */
export type QpInitAttr =
  & AnyQpInitAttr
  & (
    | {
      readonly qpType: typeof QpType.RAW_PACKET | typeof QpType.UD;
      readonly rwqIndTbl: RwqIndirectionTable;
    }
    | { readonly qpType: typeof QpType.XRC_RECV }
    | (
      & {
        readonly sendCq: CompletionQueue;
        readonly cap: Optional<QpCap> & Pick<QpCap, "maxSendWr">;
      }
      // The compiler reports what the last type of a union lacks.
      & (
        | { readonly qpType: typeof QpType.XRC_SEND }
        | (
          & { readonly qpType: QpType; readonly recvCq: CompletionQueue }
          & (
            | { readonly srq: SharedReceiveQueue }
            | { readonly cap: Pick<QpCap, "maxRecvWr"> }
          )
        )
      )
    )
  );

const MASK = members("ibv_qp_init_attr_mask", "IBV_QP_INIT_ATTR_");

/** The attributes that the library sets. */
interface Own {
  readonly pd: ProtectionDomain;
  readonly hash?: NativeRxHash | undefined;
}

const codec: AttributeCodec<AnyQpInitAttr, AnyQpInitAttr, Own> = codecOf(
  "ibv_qp_init_attr_ex",
  "queue pair attributes",
  {
    qpType: { field: "qp_type", values: QpType, required: true },
    pd: { mask: MASK.PD, resource: ProtectionDomain, own: true, derive: noneOfXrcRecv },
    cap: { struct: qpCapCodec, derive: withElements },
    sendCq: { resource: CompletionQueue, derive: noneWithoutQueue },
    recvCq: { resource: CompletionQueue },
    srq: { resource: SharedReceiveQueue },
    xrcd: { mask: MASK.XRCD, resource: XrcDomain },
    sqSigAll: { boolean: 1 },
    createFlags: { mask: MASK.CREATE_FLAGS, derive: withSourceQpn },
    maxTsoHeader: { mask: MASK.MAX_TSO_HEADER },
    rwqIndTbl: { mask: MASK.IND_TABLE, resource: RwqIndirectionTable },
    rxHashConf: { other: true },
    hash: {
      field: "rx_hash_conf",
      mask: MASK.RX_HASH,
      struct: rxHashCodec,
      own: true,
      derive: hashOf,
    },
    sourceQpn: { mask: MASK.CREATE_FLAGS, bits: 24 },
    sendOpsFlags: { mask: MASK.SEND_OPS_FLAGS, bits: 32 },
  },
);

/** A plain copy of the attributes of a new queue pair: reading it runs no code of the caller. */
export function copyQpInit<T extends AnyQpInitAttr>(init: T): T {
  return snapshot(init, "queue pair attributes", codec.names);
}

type Given = Readonly<Record<string, unknown>>;

function noneOfXrcRecv({ qpType }: Given): null | undefined {
  return qpType === QpType.XRC_RECV ? null : undefined;
}

/** Leaves out the completion queue of a send queue that is not made. */
function noneWithoutQueue(init: Given): null | undefined {
  const { rwqIndTbl } = init as unknown as AnyQpInitAttr;
  return rwqIndTbl === undefined || hasSendQueue(init as unknown as AnyQpInitAttr)
    ? undefined
    : null;
}

function withSourceQpn({ createFlags, sourceQpn }: Given): unknown {
  if (sourceQpn === undefined) return createFlags;
  const flags = createFlags === undefined ? 0 : uint32(createFlags as number, "createFlags");
  return (flags | QpCreateFlags.SOURCE_QPN) >>> 0;
}

function hashOf({ rxHashConf }: Given): RxHash | undefined {
  return rxHashConf === undefined ? undefined : instance(rxHashConf, RxHash, "rxHashConf");
}

/**
 * Reads and checks the attributes of a new queue pair, and writes them into a `struct ibv_qp_init_attr_ex`, which starts
 * with a `struct ibv_qp_init_attr`.
 */
export function writeQpInit(
  pd: ProtectionDomain,
  init: AnyQpInitAttr,
): Written<AnyQpInitAttr> {
  return cutTo(writeQpInit, () => {
    const written = codec.write(init, { pd }, allocStruct(structs.ibv_qp_init_attr_ex));
    // Not every type has the protection domain in its struct.
    assertOpen(pd);
    checkQueues(written.given);
    checkContexts(rootOf(pd), written.given);
    return written;
  });
}

/** Whether `ibv_create_qp` makes a queue pair with the attributes of a mask. */
export function isBasic(mask: number): boolean {
  return mask === MASK.PD;
}

/** Requests have one scatter/gather element unless the caller says otherwise. */
function withElements(init: Given): Optional<QpCap> {
  const cap = snapshot((init.cap ?? {}) as Optional<QpCap>, "cap", qpCapCodec.names);
  const attributes = init as unknown as AnyQpInitAttr;
  return {
    maxSendSge: Number(hasSendQueue(attributes, cap)),
    maxRecvSge: Number(hasRecvQueue(attributes)),
    ...cap,
  };
}

function hasSendQueue(
  { qpType, rwqIndTbl, cap: given = {} }: AnyQpInitAttr,
  cap: Optional<QpCap> = given,
): boolean {
  return rwqIndTbl === undefined ? qpType !== QpType.XRC_RECV : (cap.maxSendWr ?? 0) > 0;
}

/** Whether it has a receive queue of its own. */
function hasRecvQueue({ qpType, rwqIndTbl, srq }: AnyQpInitAttr): boolean {
  return rwqIndTbl === undefined && srq === undefined && !isXrc(qpType);
}

function isXrc(type: QpType): boolean {
  return type === QpType.XRC_SEND || type === QpType.XRC_RECV;
}

/** Providers read the completion queues of the queues without a check. */
function checkQueues(init: AnyQpInitAttr): void {
  const { qpType, sendCq, recvCq, rwqIndTbl, srq, xrcd, cap = {} } = init;
  if (rwqIndTbl !== undefined) checkRss(init);
  else if (isXrc(qpType)) checkXrc(init);
  else {
    if (sendCq === undefined) throw refusal("sendCq is missing");
    if (recvCq === undefined) throw refusal("recvCq is missing");
    if (cap.maxSendWr === undefined) {
      throw refusal("cap.maxSendWr is missing: give 0 if it sends nothing");
    }
    if (srq === undefined && cap.maxRecvWr === undefined) {
      throw refusal("cap.maxRecvWr is missing: give 0 if it receives nothing");
    }
  }
  if ((xrcd !== undefined) !== (qpType === QpType.XRC_RECV)) {
    throw refusal("XRC_RECV needs xrcd, and other types have none");
  }
}

function checkRss(init: AnyQpInitAttr): void {
  const { sendCq, recvCq, srq, cap = {} } = init;
  if (recvCq !== undefined || srq !== undefined || cap.maxRecvWr || cap.maxRecvSge) {
    throw refusal("with an indirection table it has no receive queue of its own");
  }
  if (hasSendQueue(init) && sendCq === undefined) throw refusal("sendCq is missing");
}

function checkXrc({ qpType, sendCq, recvCq, srq, cap = {} }: AnyQpInitAttr): void {
  const sends = qpType === QpType.XRC_SEND;
  if (recvCq !== undefined || srq !== undefined || cap.maxRecvWr || cap.maxRecvSge) {
    throw refusal(`${nameOf(QpType, qpType)} has no receive queue`);
  }
  if (sends !== (sendCq !== undefined)) {
    throw refusal("XRC_SEND needs sendCq, and XRC_RECV has no send queue");
  }
  if (sends && cap.maxSendWr === undefined) throw refusal("cap.maxSendWr is missing");
}

const PARTS = ["sendCq", "recvCq", "srq", "xrcd", "rwqIndTbl"] as const satisfies readonly (
  keyof AnyQpInitAttr
)[];

function checkContexts(context: Resource, init: AnyQpInitAttr): void {
  for (const name of PARTS) {
    const part = init[name];
    if (part !== undefined && rootOf(part) !== context) {
      throw refusal(`${name} belongs to another context`);
    }
  }
}

function refusal(reason: string): TypeError {
  return new TypeError(`Cannot create queue pair: ${reason}`);
}

export function readCap(view: DataView<ArrayBuffer>): QpCap {
  return qpCapCodec.read(view, structs.ibv_qp_init_attr_ex.fields.cap.offset);
}

export function describeQpInit({ qpType, cap, ...others }: AnyQpInitAttr): string {
  const sizes = Object.entries(cap ?? {}).filter(([, size]) => size !== undefined && size > 0)
    .map(([name, size]) => `${name} ${size}`);
  return [nameOf(QpType, qpType), ...sizes, ...Object.keys(others)].join(", ");
}
