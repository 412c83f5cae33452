/**
 * The verbs objects of one side of rc_pingpong and uc_pingpong.
 *
 * @module
 */

import {
  AccessFlags,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  type QpAttrInit,
  QpState,
  QpType,
  QueuePair,
  RecvRequests,
  SendRequests,
} from "../../mod.ts";
import type { Address } from "./address.ts";
import type { Options } from "./options.ts";
import { RECV, SEND } from "./ping_pong.ts";
import { addressOf, addressTo, pathMtu } from "./port.ts";
import type { Endpoint } from "./endpoint.ts";

/** What a reliable connection needs to get ready to receive: one RDMA read at a time, 0.64 ms after "not ready". */
const RC_RECEIVE: QpAttrInit = { maxDestRdAtomic: 1, minRnrTimer: 12 };

/** What a reliable connection needs to get ready to send: 67 ms until the first of 7 retries, RNR retries for ever. */
const RC_SEND: QpAttrInit = { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 };

/** Queue pairs with posted receives. They are not connected yet. */
export class ConnectedEndpoint implements Endpoint {
  /** The address of each queue pair. */
  readonly addresses: readonly Address[];
  /** Completion queue of sends and receives. */
  readonly cq: CompletionQueue;
  readonly queuePairs = 1;
  /** The message. It is received and sent back in the same place. */
  readonly message: Uint8Array<ArrayBuffer>;
  readonly #options: Options;
  readonly #qp: QueuePair;
  readonly #sends: SendRequests = new SendRequests({ capacity: 1 });
  readonly #recvs: RecvRequests;
  readonly #owned: DisposableStack;

  /** Makes the objects and posts receives. */
  constructor(context: Context, options: Options, type: typeof QpType.RC | typeof QpType.UC) {
    const { events, ibPort, size, rxDepth, txDepth = 1 } = options;
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    const cq = stack.use(
      new CompletionQueue(context, { cqe: rxDepth + txDepth, ...!events && { channel: null } }),
    );
    const cap = { maxSendWr: txDepth, maxRecvWr: rxDepth };
    const qp = stack.use(new QueuePair(pd, { type, sendCq: cq, recvCq: cq, cap }));
    qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: ibPort, qpAccessFlags: 0 });
    const mr = stack.use(new MemoryRegion(pd, size, AccessFlags.LOCAL_WRITE));

    this.addresses = [addressOf(qp, options)];
    this.cq = cq;
    this.message = mr.bytes().fill(0x7b);
    this.#options = options;
    this.#qp = qp;
    this.#recvs = new RecvRequests({ capacity: rxDepth });
    for (let i = 0; i < rxDepth; i++) this.#recvs.set(i, { wrId: RECV, sge: mr.slice(0) });
    this.#sends.set(0, { wrId: SEND, sge: mr.slice(0), inline: qp.cap.maxInlineData >= size });
    this.postRecv(rxDepth);
    this.#owned = stack.move();
  }

  /** Connects the queue pair to a peer. */
  connect([there]: readonly Address[]): void {
    connectQp(this.#qp, this.addresses[0]!, there!, this.#options);
  }

  /** There is one queue pair. */
  indexOf(): number {
    return 0;
  }

  /** Sends the message. */
  postSend(): void {
    this.#qp.postSend(this.#sends);
  }

  /** Posts receives. */
  postRecv(count: number): void {
    this.#qp.postRecv(this.#recvs, 0, count);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}

/** Connects a queue pair to a peer: INIT, then ready to receive (RTR), then ready to send (RTS). */
export function connectQp(
  qp: QueuePair,
  here: Address,
  there: Address,
  options: Options,
): void {
  const reliable = qp.type === QpType.RC;
  qp.modify({
    qpState: QpState.RTR,
    pathMtu: pathMtu(options)!,
    destQpNum: there.qpn,
    rqPsn: there.psn,
    ahAttr: addressTo(there, options),
    ...reliable && RC_RECEIVE,
  });
  qp.modify({ qpState: QpState.RTS, sqPsn: here.psn, ...reliable && RC_SEND });
}
