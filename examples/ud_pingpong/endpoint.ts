/** The verbs objects of one end. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  Gid,
  Grh,
  initAhFromWc,
  MemoryRegion,
  mtuBytes,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  RecvRequests,
  SendFlags,
  SendRequests,
  type WorkCompletion,
} from "@rdma/ibverbs";
import type { Address } from "./address.ts";
import type { Options } from "./options.ts";

/** Marks the completions of receives. */
export const RECV = 1;
/** Marks the completions of sends. */
export const SEND = 2;

const QKEY = 0x1111_1111;

/** Hops that a reply may take: enough for any data centre. */
const HOP_LIMIT = 64;

/** A queue pair with receives posted, not yet able to send. */
export class Endpoint implements Disposable {
  /** Where to find it. */
  readonly address: Address;
  /** Where sends and receives complete. */
  readonly cq: CompletionQueue;
  readonly #options: Options;
  readonly #pd: ProtectionDomain;
  readonly #qp: QueuePair;
  /** Room for the GRH, and behind it the message, which is received and sent back in place. */
  readonly #buffer: Uint8Array<ArrayBuffer>;
  readonly #sends: SendRequests = new SendRequests({ capacity: 1 });
  readonly #recvs: RecvRequests;
  readonly #owned: DisposableStack;

  /** Makes the objects. */
  constructor(context: Context, options: Options) {
    const { events, ibPort, size, rxDepth } = options;
    const { activeMtu, lid } = context.queryPort(ibPort);
    if (size > mtuBytes(activeMtu)) {
      throw new RangeError(`Cannot send ${size} bytes: the port's MTU is ${mtuBytes(activeMtu)}`);
    }
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    const cq = stack.use(
      new CompletionQueue(context, { cqe: rxDepth + 1, ...!events && { channel: null } }),
    );
    const cap = { maxSendWr: 1, maxRecvWr: rxDepth };
    const qp = stack.use(new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap }));
    qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: ibPort, qkey: QKEY });
    const mr = stack.use(new MemoryRegion(pd, Grh.SIZE + size, AccessFlags.LOCAL_WRITE));

    this.#options = options;
    this.#pd = pd;
    this.cq = cq;
    this.#qp = qp;
    this.#buffer = mr.bytes().fill(0x7b);
    this.#recvs = new RecvRequests({ capacity: rxDepth });
    for (let i = 0; i < rxDepth; i++) this.#recvs.set(i, { wrId: BigInt(RECV), sge: mr.slice(0) });
    const inline = qp.cap.maxInlineData >= size ? SendFlags.INLINE : 0;
    this.#sends.set(0, {
      wrId: BigInt(SEND),
      sge: mr.slice(Grh.SIZE),
      sendFlags: SendFlags.SIGNALED | inline,
    });
    this.address = {
      lid,
      qpn: qp.qpNum,
      psn: Math.floor(Math.random() * 0x100_0000),
      gid: gidOf(context, options),
    };
    this.postRecv(rxDepth);
    this.#owned = stack.move();
  }

  /** The message in the buffer. */
  get message(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(Grh.SIZE);
  }

  /** Becomes able to send. */
  activate(): void {
    this.#qp.modify({ qpState: QpState.RTR });
    this.#qp.modify({ qpState: QpState.RTS, sqPsn: this.address.psn });
  }

  /** Sends go to that address from now on. */
  aimAt({ lid, qpn, gid }: Address): void {
    const { gidIndex, ibPort, sl } = this.#options;
    const isGlobal = gid.interfaceId !== 0n;
    if (isGlobal && gidIndex === undefined) {
      throw new RangeError("Cannot send: the peer has a GID, so that --gid-idx is needed here too");
    }
    const grh = { dgid: gid, sgidIndex: gidIndex ?? 0, hopLimit: HOP_LIMIT };
    this.#aim(
      new AddressHandle(this.#pd, { portNum: ibPort, dlid: lid, sl, ...isGlobal && { grh } }),
      qpn,
    );
  }

  /** Sends go to the sender of the datagram just received from now on; tells who that is. */
  aimAtSenderOf(wc: WorkCompletion): string {
    const { context } = this.#pd;
    const attr = initAhFromWc(context, this.#options.ibPort, wc, new Grh(this.#buffer));
    this.#aim(new AddressHandle(this.#pd, attr), wc.srcQp);
    const { dlid, grh, sl } = attr;
    return `LID 0x${dlid.toString(16).padStart(4, "0")}, QPN 0x${
      wc.srcQp.toString(16).padStart(6, "0")
    }, SL ${sl}, GID ${grh.dgid} to GID index ${grh.sgidIndex}`;
  }

  #aim(ah: AddressHandle, qpn: number): void {
    this.#sends.setAh(0, ah);
    this.#sends.setRemote(0, qpn, QKEY);
  }

  /** Sends the message. */
  postSend(): void {
    this.#qp.postSend(this.#sends);
  }

  /** Posts that many receives. */
  postRecv(count: number): void {
    this.#qp.postRecv(this.#recvs, count);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}

function gidOf(context: Context, { gidIndex, ibPort }: Options): Gid {
  return gidIndex === undefined
    ? new Gid(new Uint8Array(16))
    : context.queryGidEx(ibPort, gidIndex).gid;
}
