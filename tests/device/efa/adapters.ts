// Two Elastic Fabric Adapters of the stub, and queue pairs on them. Other tests find no adapters.

import {
  AccessFlags,
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  type MemoryRegion,
  QpType,
  QueuePair,
  type WorkCompletion,
} from "../../../mod.ts";
import { EfaCompletionQueue, SrdQueuePair } from "../../../efa.ts";
import { bindEfa } from "../../../ffi/efa.ts";
import { OpenDevice } from "../open_device.ts";
import { withDeadline } from "../setup.ts";
import { stubTest, writeStub } from "../stub.ts";

bindEfa();

export const QKEY = 0x1234;
/** The bytes of a datagram's receive that stay free. */
export const HEADROOM = 40;
/** The `slid` of a sender to whom the receiver has no address handle. */
export const STRANGER = 0xffff;

/** An adapter, open. */
export class Adapter extends OpenDevice {
  readonly mr: MemoryRegion;

  constructor(device: "efa_0" | "efa_1") {
    super(device);
    const { LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE } = AccessFlags;
    this.mr = this.newMr(16384, LOCAL_WRITE | REMOTE_READ | REMOTE_WRITE);
  }

  /** A queue with a channel, as its completions can be waited for. */
  override newCq(cqe = 64): CompletionQueue {
    return new CompletionQueue(this.context, { cqe, channel: new CompletionChannel(this.context) });
  }

  /** A UD queue pair that is ready to send. */
  ud(): QueuePair {
    const { cq } = this;
    const cap = { maxSendWr: 16, maxRecvWr: 16, maxInlineData: 32 };
    const qp = new QueuePair(this.pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
    qp.activateUd({ portNum: 1, qkey: QKEY });
    return qp;
  }

  /** An address handle to an adapter. */
  to({ context }: Adapter): AddressHandle {
    const grh = { dgid: context.queryGid(1, 0), sgidIndex: 0 };
    return new AddressHandle(this.pd, { portNum: 1, grh });
  }
}

/** Both adapters, open. */
export class Fabric implements Disposable {
  readonly left: Adapter = new Adapter("efa_0");
  readonly right: Adapter = new Adapter("efa_1");
  #neighbour: Adapter | undefined;

  /** The right one as another program opens it: with a protection domain of its own. */
  get neighbour(): Adapter {
    return this.#neighbour ??= new Adapter("efa_1");
  }

  [Symbol.dispose](): void {
    this.#neighbour?.[Symbol.dispose]();
    this.right[Symbol.dispose]();
    this.left[Symbol.dispose]();
  }
}

/** An SRD queue pair with a completion queue of its own, which tells GIDs. */
export class End {
  readonly cq: EfaCompletionQueue;
  readonly qp: SrdQueuePair;
  readonly adapter: Adapter;

  constructor(adapter: Adapter, rnrRetry?: number, sendOpsFlags?: number) {
    this.adapter = adapter;
    const cq = this.cq = new EfaCompletionQueue(adapter.context, { cqe: 64 });
    const cap = { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 2, maxInlineData: 32 };
    const ops = { ...sendOpsFlags !== undefined && { sendOpsFlags } };
    this.qp = new SrdQueuePair(adapter.pd, { sendCq: cq, recvCq: cq, cap, ...ops });
    this.qp.activate({ qkey: QKEY, ...rnrRetry !== undefined && { rnrRetry } });
  }

  /** Posts a receive of 64 bytes; its place is its number. */
  receive(place: number): void {
    this.qp.postRecv({ wrId: place, sge: this.adapter.mr.sge(place, 64) });
  }

  /** Posts a send of 64 bytes, whose place is its number too. */
  send(place: number, ah: AddressHandle, to: End): void {
    const sge = this.adapter.mr.sge(place, 64);
    this.qp.postSend({ wrId: place, sge, ah, remoteQpn: to.qp.qpNum, remoteQkey: QKEY });
  }
}

/** Two of them, on both adapters. */
export function ends({ left, right }: Fabric): [left: End, right: End] {
  return [new End(left), new End(right)];
}

/** Waits for that many completions. */
export async function take<C extends WorkCompletion>(
  cq: CompletionQueue<C>,
  count: number,
): Promise<C[]> {
  const found: C[] = [];
  await withDeadline(new Error(`Cannot take ${count} completions`), async (signal) => {
    for await (const completion of cq.completions({ signal })) {
      if (found.push(completion) === count) return;
    }
  });
  return found;
}

/** Registers a test on both adapters. */
export function efaTest(name: string, body: (fabric: Fabric) => void | Promise<void>): void {
  stubTest(name, async () => {
    writeStub("efa", "on");
    try {
      using fabric = new Fabric();
      await body(fabric);
    } finally {
      writeStub("efa", "off");
    }
  });
}
