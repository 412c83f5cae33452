/** The verbs objects of one side. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  Grh,
  initAhFromWc,
  MemoryRegion,
  mtuBytes,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  RecvRequests,
  SendRequests,
  type WorkCompletion,
} from "@rdma/ibverbs";
import type { Address } from "../pingpong/address.ts";
import type { Options } from "../pingpong/options.ts";
import { RECV, SEND, type Side } from "../pingpong/ping_pong.ts";
import { addressOf } from "../pingpong/port.ts";
import { UsageError } from "../support/command_line.ts";

const QKEY = 0x1111_1111;

/** The largest number of routers on the way to the peer. */
const HOP_LIMIT = 64;

/** A queue pair with posted receives. It cannot send yet. */
export class Endpoint implements Disposable, Side {
  /** The address of the queue pair. */
  readonly address: Address;
  /** Completion queue of sends and receives. */
  readonly cq: CompletionQueue;
  readonly queuePairs = 1;
  readonly #options: Options;
  readonly #pd: ProtectionDomain;
  readonly #qp: QueuePair;
  /** The GRH, followed by the message. The message is received and sent back in the same place. */
  readonly #buffer: Uint8Array<ArrayBuffer>;
  readonly #sends: SendRequests = new SendRequests({ capacity: 1 });
  readonly #recvs: RecvRequests;
  readonly #owned: DisposableStack;

  /** Makes the objects and posts receives. */
  constructor(context: Context, options: Options) {
    const { events, ibPort, size, rxDepth } = options;
    const here = addressOf(context, options);
    const mtu = mtuBytes(context.queryPort(ibPort).activeMtu);
    if (size > mtu) throw new UsageError(`Cannot send ${size} bytes: the port's MTU is ${mtu}`);
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    const cq = stack.use(
      new CompletionQueue(context, { cqe: rxDepth + 1, ...!events && { channel: null } }),
    );
    const cap = { maxSendWr: 1, maxRecvWr: rxDepth };
    const qp = stack.use(new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap }));
    qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: ibPort, qkey: QKEY });
    const mr = stack.use(new MemoryRegion(pd, Grh.SIZE + size, AccessFlags.LOCAL_WRITE));

    this.address = { ...here, qpn: qp.qpNum };
    this.#options = options;
    this.#pd = pd;
    this.cq = cq;
    this.#qp = qp;
    this.#buffer = mr.bytes().fill(0x7b);
    this.#recvs = new RecvRequests({ capacity: rxDepth });
    for (let i = 0; i < rxDepth; i++) this.#recvs.set(i, { wrId: RECV, sge: mr.slice(0) });
    this.#sends.set(0, {
      wrId: SEND,
      sge: mr.slice(Grh.SIZE),
      inline: qp.cap.maxInlineData >= size,
    });
    this.postRecv(rxDepth);
    this.#owned = stack.move();
  }

  /** The message in the buffer. */
  get message(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(Grh.SIZE);
  }

  /** Takes the queue pair to RTS. After it the queue pair can send. */
  activate(): void {
    this.#qp.modify({ qpState: QpState.RTR });
    this.#qp.modify({ qpState: QpState.RTS, sqPsn: this.address.psn });
  }

  /** Makes later sends go to an address. */
  sendTo({ lid, qpn, gid }: Address): void {
    const { gidIdx, ibPort, sl } = this.#options;
    const isGlobal = gid.interfaceId !== 0n;
    if (isGlobal && gidIdx === undefined) {
      throw new UsageError(
        "The peer was started with a GID index, so --gid-idx is needed here too",
      );
    }
    const grh = { dgid: gid, sgidIndex: gidIdx ?? 0, hopLimit: HOP_LIMIT };
    this.#send(
      new AddressHandle(this.#pd, { portNum: ibPort, dlid: lid, sl, ...isGlobal && { grh } }),
      qpn,
    );
  }

  /** Makes later sends go to the sender of a datagram that is in the buffer. Returns the sender as text. */
  sendToSenderOf(wc: WorkCompletion): string {
    const { context } = this.#pd;
    const attr = initAhFromWc(context, this.#options.ibPort, wc, new Grh(this.#buffer));
    this.#send(new AddressHandle(this.#pd, attr), wc.srcQp);
    const { dlid, grh, sl } = attr;
    return `LID 0x${dlid.toString(16).padStart(4, "0")}, QPN 0x${
      wc.srcQp.toString(16).padStart(6, "0")
    }, SL ${sl}, GID ${grh.dgid} to GID index ${grh.sgidIndex}`;
  }

  #send(ah: AddressHandle, qpn: number): void {
    this.#sends.setAh(0, ah);
    this.#sends.setRemote(0, qpn, QKEY);
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
    this.#qp.postRecv(this.#recvs, count);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}
