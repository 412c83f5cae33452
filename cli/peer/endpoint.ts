/** The verbs objects of one side of a ping-pong or a measurement. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  Grh,
  initAhFromWc,
  MemoryRegion,
  Mtu,
  mtuBytes,
  ProtectionDomain,
  type QpAttrInit,
  QpState,
  QpType,
  QueuePair,
  RecvRequestList,
  SendRequestList,
  SharedReceiveQueue,
  type WorkCompletion,
} from "../../mod.ts";
import { UsageError } from "../shell/command.ts";
import { hex } from "../shell/text.ts";
import { type Address, addressOf, addressTo } from "./address.ts";
import type { Options } from "./options.ts";

/** `wrId` of receives: a bit of what a queue pair waits for. */
export const RECV = 1;
/** `wrId` of sends: a bit of what a queue pair waits for. */
export const SEND = 2;

const QKEY = 0x1111_1111;

/** The codes of path MTUs in bytes. */
const MTUS: Readonly<Record<number, Mtu>> = Mtu;

/** What a reliable connection needs to get ready to receive: one RDMA read at a time, 0.64 ms after "not ready". */
const RC_RECEIVE: QpAttrInit = { maxDestRdAtomic: 1, minRnrTimer: 12 };

/** What a reliable connection needs to get ready to send: 67 ms until the first of 7 retries, RNR retries for ever. */
const RC_SEND: QpAttrInit = { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 };

/** What messages need of this side. */
export interface Side {
  /** Completion queue of sends and receives. */
  readonly cq: CompletionQueue;
  readonly queuePairs: number;
  /** The index of the queue pair with that number. */
  indexOf(qpNum: number): number;
  /** Sends the message from a queue pair, with `wrId` {@linkcode SEND}. */
  postSend(index: number): void;
  /** Posts receives with `wrId` {@linkcode RECV}. */
  postRecv(count: number): void;
}

/** The kind of queue pairs. */
export interface EndpointKind {
  readonly type: typeof QpType.UD | typeof QpType.RC | typeof QpType.UC;
  /** Whether `numQp` queue pairs share a receive queue. */
  readonly shared?: boolean;
}

/** Queue pairs with posted receives. They are not connected yet. */
export class Endpoint implements Side, Disposable {
  /** The address of each queue pair. */
  readonly addresses: readonly Address[];
  readonly cq: CompletionQueue;
  readonly queuePairs: number;
  /** The message. It is received and sent back in the same place. */
  readonly message: Uint8Array<ArrayBuffer>;
  readonly #options: Options;
  readonly #pd: ProtectionDomain;
  readonly #qps: readonly QueuePair[];
  readonly #indexes: ReadonlyMap<number, number>;
  readonly #queue: QueuePair | SharedReceiveQueue;
  readonly #mr: MemoryRegion;
  readonly #sends: readonly SendRequestList[];
  readonly #recvs: RecvRequestList;
  readonly #owned: DisposableStack;

  /** Makes the objects and posts receives. */
  constructor(context: Context, options: Options, { type, shared = false }: EndpointKind) {
    const { events, ibPort, size, rxDepth, txDepth = 1 } = options;
    const isDatagram = type === QpType.UD;
    const mtu = mtuBytes(context.queryPort(ibPort).activeMtu);
    if (isDatagram && size > mtu) {
      throw new UsageError(`Cannot send ${size} bytes: the port's MTU is ${mtu}`);
    }
    const count = shared ? options.numQp : 1;
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    const cqe = rxDepth + txDepth * count;
    const cq = stack.use(new CompletionQueue(context, { cqe, ...!events && { channel: null } }));
    const srq = shared ? stack.use(new SharedReceiveQueue(pd, { maxWr: rxDepth })) : undefined;
    const cap = { maxSendWr: txDepth, ...!shared && { maxRecvWr: rxDepth } };
    const init = { type, sendCq: cq, recvCq: cq, ...srq && { srq }, cap };
    const start = isDatagram ? Grh.SIZE : 0;
    const mr = stack.use(new MemoryRegion(pd, start + size, AccessFlags.LOCAL_WRITE));
    this.#qps = Array.from({ length: count }, () => stack.use(new QueuePair(pd, init)));
    const access = isDatagram ? { qkey: QKEY } : { qpAccessFlags: 0 };
    for (const qp of this.#qps) {
      qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: ibPort, ...access });
    }
    this.addresses = this.#qps.map((qp) => addressOf(qp, options));
    this.cq = cq;
    this.queuePairs = count;
    this.message = mr.bytes().fill(0x7b).subarray(start);
    this.#options = options;
    this.#pd = pd;
    this.#mr = mr;
    this.#indexes = new Map(this.#qps.map(({ qpNum }, i) => [qpNum, i]));
    this.#queue = srq ?? this.#qps[0]!;
    this.#recvs = new RecvRequestList({ capacity: rxDepth });
    for (let i = 0; i < rxDepth; i++) this.#recvs.set(i, { wrId: RECV, sge: mr.slice(0) });
    // Each queue pair has its own request: a request that alternates between queue pairs is checked again each time.
    this.#sends = this.#qps.map(({ cap }) => {
      const sends = new SendRequestList({ capacity: 1 });
      sends.set(0, { wrId: SEND, sge: mr.slice(start), inline: cap.maxInlineData >= size });
      return sends;
    });
    this.postRecv(rxDepth);
    this.#owned = stack.move();
  }

  /** Connects each queue pair to one of the peer. After it they can send, but for `--reply-from-wc`. */
  connect(there: readonly Address[]): void {
    for (const [i, qp] of this.#qps.entries()) {
      const [to, { psn }] = [there[i]!, this.addresses[i]!];
      const reliable = qp.type === QpType.RC;
      qp.modify({
        qpState: QpState.RTR,
        ...qp.type !== QpType.UD && {
          pathMtu: MTUS[this.#options.mtu]!,
          destQpNum: to.qpn,
          rqPsn: to.psn,
          ahAttr: addressTo(to, this.#options),
        },
        ...reliable && RC_RECEIVE,
      });
      qp.modify({ qpState: QpState.RTS, sqPsn: psn, ...reliable && RC_SEND });
      if (qp.type !== QpType.UD || this.#options.replyFromWc) continue;
      this.#sendTo(new AddressHandle(this.#pd, addressTo(to, this.#options)), to.qpn);
    }
  }

  /** With `--reply-from-wc`: makes sends go to the sender of the datagram in the buffer. The result is a line to print. */
  onFirst(wc: WorkCompletion): string | undefined {
    const { replyFromWc, ibPort } = this.#options;
    if (!replyFromWc) return undefined;
    const attr = initAhFromWc(this.#pd.context, ibPort, wc, this.#mr.grhAt(0));
    this.#sendTo(new AddressHandle(this.#pd, attr), wc.srcQp);
    const { dlid, grh, sl } = attr;
    const to = `GID ${grh.dgid} to GID index ${grh.sgidIndex}`;
    return `  reply address:  LID ${hex(dlid, 4)}, QPN ${hex(wc.srcQp, 6)}, SL ${sl}, ${to}`;
  }

  #sendTo(ah: AddressHandle, qpn: number): void {
    this.#sends[0]!.setAh(0, ah);
    this.#sends[0]!.setRemote(0, qpn, QKEY);
  }

  indexOf(qpNum: number): number {
    return this.#indexes.get(qpNum)!;
  }

  postSend(index: number): void {
    this.#qps[index]!.postSend(this.#sends[index]!);
  }

  postRecv(count: number): void {
    this.#queue.postRecv(this.#recvs, 0, count);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}
