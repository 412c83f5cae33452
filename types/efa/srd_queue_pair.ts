import { constants } from "../../ffi/layout.ts";
import { integer, snapshot, uint32 } from "../../internal/checks.ts";
import { made } from "../../internal/made.ts";
import type { Optional } from "../../internal/optional.ts";
import type { CompletionQueue } from "../completion/completion_queue.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import type { QpCap } from "../queue_pair/qp_attr.ts";
import { QpState, QpType, SendOpsFlags } from "../queue_pair/qp_enums.ts";
import type { ProviderQp, QpProvider } from "../queue_pair/queue_pair.ts";
import { QueuePairEx } from "../queue_pair/queue_pair_ex.ts";
import { setOf } from "../work/attributes.ts";
import { WrOpcode } from "../work/work_request.ts";
import { queryEfaDevice } from "./attributes.ts";
import { callEfa } from "./call.ts";

/**
 * Attributes of a new `SrdQueuePair`.
 *
 * @category Queue pairs
 */
export interface SrdInitAttr {
  /** Completion queue of the sends. */
  readonly sendCq: CompletionQueue;
  /** Completion queue of the receives. It may be the one of the sends. */
  readonly recvCq: CompletionQueue;
  /**
   * Sizes of the queues. The device may grant more. `maxSendWr` and `maxRecvWr` are needed. The default is one
   * scatter/gather element and no inline data.
   */
  readonly cap: Optional<QpCap> & Pick<QpCap, "maxSendWr" | "maxRecvWr">;
  /**
   * `SendOpsFlags`, combined with `|`: the operations that the builder offers, of SEND, SEND_WITH_IMM, RDMA_READ, RDMA_WRITE
   * and RDMA_WRITE_WITH_IMM. The default is the first two, which all adapters have. `EfaDeviceCaps` has the
   * others; libefa of rdma-core 44 has no writes.
   */
  readonly sendOpsFlags?: number | undefined;
  /**
   * The service level, 0 to 15: 8 is for low latency. The default is 0. With an older libefa any other one fails with
   * EINVAL.
   */
  readonly sl?: number | undefined;
}

/**
 * What `SrdQueuePair.activate` needs.
 *
 * @category Queue pairs
 */
export interface SrdActivation {
  /** The qkey that received messages must carry. */
  readonly qkey: number;
  /** The port to use. The default is 1: the adapters have one port. */
  readonly portNum?: number | undefined;
  /** The index of the P_Key in the table of the port. The default is 0: the adapters have one P_Key. */
  readonly pkeyIndex?: number | undefined;
  /**
   * How often a send is tried again if the peer has no receive, 0 to 7. The default is that of the device: 7, which is
   * infinite.
   */
  readonly rnrRetry?: number | undefined;
}

const initAttr: AttributeCodec<{ readonly driverQpType: number; readonly sl: number }> = codecOf(
  "efadv_qp_init_attr",
  "attributes of an SRD queue pair",
  { driverQpType: {}, sl: { bits: 4 } },
);

const { SEND, SEND_WITH_IMM, RDMA_READ, RDMA_WRITE, RDMA_WRITE_WITH_IMM } = WrOpcode;

const PROVIDER: Omit<QpProvider, "maxRdma" | "create"> = {
  transport: "SRD",
  opcodes: setOf(SEND, SEND_WITH_IMM),
  built: setOf(SEND, SEND_WITH_IMM, RDMA_READ, RDMA_WRITE, RDMA_WRITE_WITH_IMM),
};

function creator(sl: number): QpProvider["create"] {
  const driverQpType = constants.EFADV_QP_DRIVER_TYPE_SRD;
  const { view: attr } = initAttr.write({ driverQpType, sl });
  return (context, view, options) => {
    const args = [context.unsafeHandle, view, attr, attr.byteLength] as const;
    return callEfa("efadv_create_qp_ex", "create queue pair", args, options);
  };
}

/**
 * A queue pair of scalable reliable datagrams (SRD), which only Elastic Fabric Adapters have (`efadv_create_qp_ex`). It
 * sends to any peer, as UD does, and each message arrives once. Messages may arrive, and sends may complete, in any
 * order. A send that fails has a completion with the error, and the queue pair stays usable.
 *
 * A receive needs no room for a GRH. Each send is signaled. A message has at most as many bytes as `maxMsgSz` of
 * `Context.queryPort()` says.
 *
 * RDMA reads and writes are requests of a builder, each with its receiver: `WrBuilder.setUdAddr()`. They have one
 * scatter/gather element, are not inline, and have at most as many bytes as `maxRdmaSize` of
 * `queryEfaDevice` says. The owner of the memory needs an address handle to the device that reads or writes.
 *
 * @example A queue pair that is ready to send
 * ```ts
 * import type { ProtectionDomain } from "@rdma/ibverbs";
 * import { EfaCompletionQueue, SrdQueuePair } from "@rdma/ibverbs/efa";
 *
 * function ready(pd: ProtectionDomain, qkey: number): SrdQueuePair {
 *   const cq = new EfaCompletionQueue(pd.context, { cqe: 256 });
 *   const cap = { maxSendWr: 64, maxRecvWr: 64 };
 *   const qp = new SrdQueuePair(pd, { sendCq: cq, recvCq: cq, cap });
 *   qp.activate({ qkey });
 *   return qp;
 * }
 * ```
 *
 * @example A read of a peer's memory
 * ```ts
 * import type { AddressHandle, Sge } from "@rdma/ibverbs";
 * import type { SrdQueuePair } from "@rdma/ibverbs/efa";
 *
 * interface Peer {
 *   ah: AddressHandle;
 *   qpNum: number;
 *   qkey: number;
 *   rkey: number;
 *   addr: bigint;
 * }
 *
 * // The queue pair was made with SendOpsFlags.RDMA_READ.
 * function read(qp: SrdQueuePair, { ah, qpNum, qkey, rkey, addr }: Peer, sge: Sge): void {
 *   qp.wrStart().rdmaRead(rkey, addr).setUdAddr(ah, qpNum, qkey).setSge(sge).complete();
 * }
 * ```
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Queue pairs
 */
export class SrdQueuePair extends QueuePairEx {
  /**
   * Makes a queue pair, in state RESET.
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing, is unknown, is disposed, or belongs to another
   * context.
   * @throws {RangeError} If a number is out of range.
   * @throws {Deno.errors.NotFound} If there is no libefa. The message names the package that has it.
   * @throws {VerbsError} If the device refuses: EOPNOTSUPP if it is no Elastic Fabric Adapter.
   */
  constructor(pd: ProtectionDomain, init: SrdInitAttr) {
    const names = ["sendCq", "recvCq", "cap", "sendOpsFlags", "sl"] as const;
    const { sl = 0, ...given } = snapshot(init, "queue pair attributes", names);
    const { sendOpsFlags = SendOpsFlags.SEND | SendOpsFlags.SEND_WITH_IMM } = given;
    let maxRdma: number | undefined;
    const provider = {
      ...PROVIDER,
      create: creator(sl),
      maxRdma: () => maxRdma ??= queryEfaDevice(pd.context).maxRdmaSize,
    };
    const other = { ...given, sendOpsFlags, qpType: QpType.DRIVER };
    super(pd, made<ProviderQp>({ init: other, provider }));
  }

  /**
   * Makes the queue pair ready to send and receive: it moves from RESET to INIT, RTR and RTS.
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown.
   * @throws {RangeError} If a number is out of range, or the device has no such port.
   * @throws {VerbsError} If the device refuses.
   */
  activate(activation: SrdActivation): void {
    const names = ["qkey", "portNum", "pkeyIndex", "rnrRetry"] as const;
    const { qkey, portNum = 1, pkeyIndex = 0, rnrRetry } = snapshot(
      activation,
      "activation",
      names,
    );
    uint32(qkey, "qkey");
    if (rnrRetry !== undefined) integer(rnrRetry, "rnrRetry", 0, 7);
    this.modify({ qpState: QpState.INIT, pkeyIndex, portNum, qkey });
    this.modify({ qpState: QpState.RTR });
    this.modify({
      qpState: QpState.RTS,
      sqPsn: 0,
      ...rnrRetry !== undefined && { rnrRetry },
    });
  }
}
