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
  type QpModifyAttr,
  QpState,
  QpType,
  QueuePair,
  RecvRequestList,
  type RemoteMemory,
  SendRequestList,
  SharedReceiveQueue,
  type WorkCompletion,
  WrOpcode,
} from "@rdma/ibverbs";
import { UsageError } from "../shell/command.ts";
import { hex } from "../shell/text.ts";
import { type Address, addressOf, addressTo, chosenGid } from "./address.ts";
import type { Options } from "./options.ts";

/** `wrId` of receives: a bit of what a queue pair waits for. */
export const RECV = 1;
/** `wrId` of sends: a bit of what a queue pair waits for. */
export const SEND = 2;

const QKEY = 0x1111_1111;

/** The codes of path MTUs in bytes. */
const MTUS: Readonly<Record<number, Mtu>> = Mtu;

/** What a reliable connection needs to get ready to receive: 0.64 ms after "not ready". */
const RC_RECEIVE: QpModifyAttr = { minRnrTimer: 12 };

/** What a reliable connection needs to get ready to send: 67 ms until the first of 7 retries, RNR retries forever. */
const RC_SEND: QpModifyAttr = { timeout: 14, retryCnt: 7, rnrRetry: 7 };

/** RDMA reads that a queue pair has in progress at once, if the devices allow it. */
const MOST_READS = 16;

/** What a peer may do with the memory. */
const ACCESS = {
  send: 0,
  write: AccessFlags.REMOTE_WRITE,
  read: AccessFlags.REMOTE_READ,
} as const;

/** The operation that moves a message. */
export type Verb = keyof typeof ACCESS;

/** What the exchange of messages needs from this side. */
export interface Side {
  /** Completion queue of sends and receives. */
  readonly cq: CompletionQueue;
  readonly queuePairs: number;
  readonly verb: Verb;
  /** The message. */
  readonly message: Uint8Array;
  /** Where messages of the peer arrive. */
  readonly incoming: Uint8Array;
  /** The index of the queue pair with that number. */
  indexOf(qpNum: number): number;
  /** Sends, writes or reads the message from a queue pair, with `wrId` `SEND`. */
  postSend(index: number): void;
  /** Posts receives with `wrId` `RECV` to a queue pair, or to the one queue that all share. */
  postRecv(count: number, index?: number): void;
}

/** The peer's memory, and how many RDMA reads it allows. */
export interface Far {
  readonly remoteAddr: bigint;
  readonly rkey: number;
  readonly reads: number;
}

/** The kind of queue pairs. */
export interface EndpointKind {
  readonly qpType: typeof QpType.UD | typeof QpType.RC | typeof QpType.UC;
  /** Whether `numQp` queue pairs share a receive queue. */
  readonly shared?: boolean;
  /** The number of queue pairs if they share none, each with a receive queue; 1 by default. */
  readonly queuePairs?: number;
  /** The operation that moves a message; a send by default. */
  readonly verb?: Verb;
}

/** Queue pairs with posted receives. They are not connected yet. */
export class Endpoint implements Side, Disposable {
  /** The address of each queue pair. */
  readonly addresses: readonly Address[];
  readonly cq: CompletionQueue;
  readonly queuePairs: number;
  readonly verb: Verb;
  /** The message. With sends it is received and sent back in the same place. */
  readonly message: Uint8Array<ArrayBuffer>;
  readonly incoming: Uint8Array<ArrayBuffer>;
  /** The RDMA reads that a peer may have in progress at once. */
  readonly reads: number;
  readonly #options: Options;
  readonly #pd: ProtectionDomain;
  readonly #qps: readonly QueuePair[];
  readonly #indexes: ReadonlyMap<number, number>;
  readonly #queues: readonly (QueuePair | SharedReceiveQueue)[];
  readonly #mr: MemoryRegion;
  readonly #sends: readonly SendRequestList[];
  readonly #recvs: RecvRequestList;
  readonly #owned: DisposableStack;

  /** Makes the objects and posts receives. */
  constructor(context: Context, given: Options, kind: EndpointKind) {
    const options = { ...given, gidIdx: chosenGid(context, given) };
    const { qpType, shared = false, queuePairs = 1, verb = "send" } = kind;
    const { events, ibPort, pkeyIndex = 0, size, rxDepth, txDepth = 1 } = options;
    const isDatagram = qpType === QpType.UD;
    const mtu = mtuBytes(context.queryPort(ibPort).activeMtu);
    if (isDatagram && size > mtu) {
      throw new UsageError(`Cannot send ${size} bytes: the port's MTU is ${mtu}`);
    }
    const count = shared ? options.numQp : queuePairs;
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    const cqe = rxDepth * (shared ? 1 : count) + txDepth * count;
    const cq = stack.use(new CompletionQueue(context, { cqe, ...!events && { channel: null } }));
    const srq = shared ? stack.use(new SharedReceiveQueue(pd, { maxWr: rxDepth })) : undefined;
    const cap = { maxSendWr: txDepth, maxRecvWr: shared ? 0 : rxDepth };
    const init = { qpType, sendCq: cq, recvCq: cq, ...srq && { srq }, cap };
    // RDMA has a place for each direction.
    const start = isDatagram ? Grh.SIZE : verb === "send" ? 0 : size;
    const rights = AccessFlags.LOCAL_WRITE | ACCESS[verb];
    const mr = stack.use(new MemoryRegion(pd, start + size, rights));
    this.#qps = Array.from({ length: count }, () => stack.use(new QueuePair(pd, init)));
    const access = isDatagram ? { qkey: QKEY } : { qpAccessFlags: ACCESS[verb] };
    for (const qp of this.#qps) {
      qp.modify({ qpState: QpState.INIT, pkeyIndex, portNum: ibPort, ...access });
    }
    this.addresses = this.#qps.map((qp) => addressOf(qp, options));
    this.cq = cq;
    this.queuePairs = count;
    this.verb = verb;
    this.message = mr.bytes.subarray(start).fill(0x7b);
    this.incoming = mr.bytes.subarray(0, size);
    this.reads = verb === "read" ? mostReads(context) : 1;
    this.#options = options;
    this.#pd = pd;
    this.#mr = mr;
    this.#indexes = new Map(this.#qps.map(({ qpNum }, i) => [qpNum, i]));
    this.#queues = srq === undefined ? this.#qps : [srq];
    this.#recvs = new RecvRequestList({ capacity: rxDepth });
    for (let i = 0; i < rxDepth; i++) this.#recvs.set(i, { wrId: RECV, sge: mr.sge() });
    // Each queue pair has its own request: a request that alternates between queue pairs is checked again each time.
    this.#sends = this.#qps.map(({ cap }) => {
      const sends = new SendRequestList({ capacity: 1 });
      sends.set(0, { wrId: SEND, sge: mr.sge(start), inline: cap.maxInlineData >= size });
      return sends;
    });
    for (const i of this.#queues.keys()) this.postRecv(rxDepth, i);
    this.#owned = stack.move();
  }

  /** The memory that a peer may reach. */
  get remote(): RemoteMemory {
    return this.#mr.remote;
  }

  /** Connects each queue pair to one of the peer. Then they can send, except with `--reply-from-wc`. */
  connect(there: readonly Address[], far?: Far): void {
    const reads = Math.min(this.reads, far?.reads ?? 1);
    for (const [i, qp] of this.#qps.entries()) {
      const [to, { psn }] = [there[i]!, this.addresses[i]!];
      const reliable = qp.qpType === QpType.RC;
      qp.modify({
        qpState: QpState.RTR,
        ...qp.qpType !== QpType.UD && {
          pathMtu: MTUS[this.#options.mtu]!,
          destQpNum: to.qpn,
          rqPsn: to.psn,
          ahAttr: addressTo(to, this.#options),
        },
        ...reliable && { ...RC_RECEIVE, maxDestRdAtomic: reads },
      });
      const toSend = reliable && { ...RC_SEND, maxRdAtomic: reads };
      qp.modify({ qpState: QpState.RTS, sqPsn: psn, ...toSend });
      if (this.verb !== "send") this.#reach(i, far!);
      if (qp.qpType !== QpType.UD || this.#options.replyFromWc) continue;
      this.#sendTo(new AddressHandle(this.#pd, addressTo(to, this.#options)), to.qpn, i);
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

  #sendTo(ah: AddressHandle, qpn: number, index = 0): void {
    this.#sends[index]!.setAh(0, ah);
    this.#sends[index]!.setRemote(0, qpn, QKEY);
  }

  /** Makes a queue pair write or read the peer's memory. */
  #reach(index: number, { remoteAddr, rkey }: Far): void {
    const { size } = this.#options;
    const request = { wrId: SEND, sge: this.#mr.sge(size), remoteAddr, rkey };
    const inline = this.#qps[index]!.cap.maxInlineData >= size;
    this.#sends[index]!.set(
      0,
      this.verb === "read"
        ? { ...request, opcode: WrOpcode.RDMA_READ }
        : { ...request, opcode: WrOpcode.RDMA_WRITE, inline },
    );
  }

  indexOf(qpNum: number): number {
    return this.#indexes.get(qpNum)!;
  }

  postSend(index: number): void {
    this.#qps[index]!.postSend(this.#sends[index]!);
  }

  postRecv(count: number, index = 0): void {
    this.#queues[index]!.postRecv(this.#recvs, 0, count);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}

/** A device without a limit reports 0, and a queue pair needs 1. */
function mostReads(context: Context): number {
  const { maxQpRdAtom, maxQpInitRdAtom } = context.queryDevice();
  return Math.max(1, Math.min(MOST_READS, maxQpRdAtom, maxQpInitRdAtom));
}
