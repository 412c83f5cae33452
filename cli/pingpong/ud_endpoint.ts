/**
 * The verbs objects of one side of ud_pingpong.
 *
 * @module
 */

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
} from "../../mod.ts";
import { UsageError } from "../command.ts";
import type { Address } from "./address.ts";
import type { Options } from "./options.ts";
import { RECV, SEND } from "./ping_pong.ts";
import { addressOf, addressTo } from "./port.ts";
import type { Endpoint } from "./endpoint.ts";

const QKEY = 0x1111_1111;

/** A queue pair with posted receives. It cannot send yet. */
export class UdEndpoint implements Endpoint {
  /** The address of the queue pair. */
  readonly addresses: readonly [Address];
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
    const { events, ibPort, size, rxDepth, txDepth = 1 } = options;
    const mtu = mtuBytes(context.queryPort(ibPort).activeMtu);
    if (size > mtu) throw new UsageError(`Cannot send ${size} bytes: the port's MTU is ${mtu}`);
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    const cq = stack.use(
      new CompletionQueue(context, { cqe: rxDepth + txDepth, ...!events && { channel: null } }),
    );
    const cap = { maxSendWr: txDepth, maxRecvWr: rxDepth };
    const qp = stack.use(new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap }));
    qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: ibPort, qkey: QKEY });
    const mr = stack.use(new MemoryRegion(pd, Grh.SIZE + size, AccessFlags.LOCAL_WRITE));

    this.addresses = [addressOf(qp, options)];
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

  /** Takes the queue pair to RTS, and makes sends go to an address unless `--reply-from-wc` is given. */
  connect([there]: readonly Address[]): void {
    this.#qp.modify({ qpState: QpState.RTR });
    this.#qp.modify({ qpState: QpState.RTS, sqPsn: this.addresses[0].psn });
    if (this.#options.replyFromWc) return;
    this.#sendTo(new AddressHandle(this.#pd, addressTo(there!, this.#options)), there!.qpn);
  }

  /** With `--reply-from-wc`: makes sends go to the sender of the datagram in the buffer. */
  readonly onFirst = (wc: WorkCompletion): string | undefined => {
    if (!this.#options.replyFromWc) return undefined;
    const attr = initAhFromWc(this.#pd.context, this.#options.ibPort, wc, new Grh(this.#buffer));
    this.#sendTo(new AddressHandle(this.#pd, attr), wc.srcQp);
    const { dlid, grh, sl } = attr;
    const lid = dlid.toString(16).padStart(4, "0");
    const qpn = wc.srcQp.toString(16).padStart(6, "0");
    const to = `GID ${grh.dgid} to GID index ${grh.sgidIndex}`;
    return `  reply address:  LID 0x${lid}, QPN 0x${qpn}, SL ${sl}, ${to}`;
  };

  #sendTo(ah: AddressHandle, qpn: number): void {
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
    this.#qp.postRecv(this.#recvs, 0, count);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}
