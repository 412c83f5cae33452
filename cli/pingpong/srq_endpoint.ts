/**
 * The verbs objects of one side of srq_pingpong.
 *
 * @module
 */

import {
  AccessFlags,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  RecvRequests,
  SendRequests,
  SharedReceiveQueue,
} from "../../mod.ts";
import type { Address } from "./address.ts";
import { connectQp } from "./connected_endpoint.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Options } from "./options.ts";
import { RECV, SEND } from "./ping_pong.ts";
import { addressOf } from "./port.ts";

/** Queue pairs that share a receive queue with posted receives. They are not connected yet. */
export class SrqEndpoint implements Endpoint {
  /** The address of each queue pair. */
  readonly addresses: readonly Address[];
  /** Completion queue of sends and receives. */
  readonly cq: CompletionQueue;
  readonly queuePairs: number;
  /** The message. All queue pairs receive it and send it back in the same place. */
  readonly message: Uint8Array<ArrayBuffer>;
  readonly #options: Options;
  readonly #qps: readonly QueuePair[];
  readonly #indexes: ReadonlyMap<number, number>;
  readonly #srq: SharedReceiveQueue;
  readonly #sends: readonly SendRequests[];
  readonly #recvs: RecvRequests;
  readonly #owned: DisposableStack;

  /** Makes the objects and posts receives. */
  constructor(context: Context, options: Options) {
    const { events, ibPort, size, rxDepth, numQp } = options;
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    const cq = stack.use(
      new CompletionQueue(context, { cqe: rxDepth + numQp, ...!events && { channel: null } }),
    );
    const srq = stack.use(new SharedReceiveQueue(pd, { maxWr: rxDepth }));
    const init = { type: QpType.RC, sendCq: cq, recvCq: cq, srq, cap: { maxSendWr: 1 } };
    const mr = stack.use(new MemoryRegion(pd, size, AccessFlags.LOCAL_WRITE));

    this.#qps = Array.from({ length: numQp }, () => stack.use(new QueuePair(pd, init)));
    for (const qp of this.#qps) {
      qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: ibPort, qpAccessFlags: 0 });
    }
    this.addresses = this.#qps.map((qp) => addressOf(qp, options));
    this.cq = cq;
    this.queuePairs = numQp;
    this.message = mr.bytes().fill(0x7b);
    this.#options = options;
    this.#indexes = new Map(this.#qps.map(({ qpNum }, i) => [qpNum, i]));
    this.#srq = srq;
    this.#recvs = new RecvRequests({ capacity: rxDepth });
    for (let i = 0; i < rxDepth; i++) this.#recvs.set(i, { wrId: RECV, sge: mr.slice(0) });
    // Each queue pair has its own request: a request that alternates between queue pairs is checked again each time.
    this.#sends = this.#qps.map(({ cap }) => {
      const sends = new SendRequests({ capacity: 1 });
      sends.set(0, { wrId: SEND, sge: mr.slice(0), inline: cap.maxInlineData >= size });
      return sends;
    });
    this.postRecv(rxDepth);
    this.#owned = stack.move();
  }

  /** Connects each queue pair to one of the peer. */
  connect(there: readonly Address[]): void {
    for (const [i, qp] of this.#qps.entries()) {
      connectQp(qp, this.addresses[i]!, there[i]!, this.#options);
    }
  }

  /** The index of the queue pair with that number. */
  indexOf(qpNum: number): number {
    return this.#indexes.get(qpNum)!;
  }

  /** Sends the message from a queue pair. */
  postSend(index: number): void {
    this.#qps[index]!.postSend(this.#sends[index]!);
  }

  /** Posts receives to the shared queue. */
  postRecv(count: number): void {
    this.#srq.postRecv(this.#recvs, 0, count);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}
