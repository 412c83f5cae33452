/** A queue pair, and prepared requests for lists of messages to one of the same port. See ../c/base.h. */

import {
  AccessFlags,
  AddressHandle,
  type AhAttrInit,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  RecvRequestList,
  SendRequestList,
  WorkCompletionList,
} from "../../mod.ts";

export const LIST = 32;
export const PORT = 1;
export const QKEY = 0x1111_1111;
export const SIZE = 64;
/** Bytes of memory for a message and its GRH. */
const SLOT = 128;

/** The completion vector of queues in which the no-op provider finds nothing. See ../c/provider.h. */
export const EMPTY = 1;
/** That of queues with as many completions of received datagrams as fit. */
export const RECEIVES = 2;

/** The address of the port itself, by its first GID. */
export function ownAddress(context: Context): AhAttrInit {
  const grh = { dgid: context.queryGid(PORT, 0), sgidIndex: 0, hopLimit: 64 };
  return { portNum: PORT, grh };
}

/** The GRH of a datagram to a GID, from a neighbour. */
export function grhFrom(gid: Uint8Array, neighbour: number): number[] {
  return [6 << 4, 0, 0, 0, 0, SIZE, 17, 64, ...gid.subarray(0, 15), neighbour, ...gid];
}

export class End {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  readonly qp: QueuePair;
  readonly sends: SendRequestList = new SendRequestList({ capacity: LIST });
  readonly recvs: RecvRequestList = new RecvRequestList({ capacity: LIST });
  readonly #batch: WorkCompletionList = new WorkCompletionList(LIST);
  readonly #type: "UD" | "RC";
  readonly #mr: MemoryRegion;

  constructor(context: Context, type: "UD" | "RC" = "UD", isPolling: boolean = true) {
    this.context = context;
    this.pd = new ProtectionDomain(context);
    const channel = isPolling ? { channel: null } : {};
    this.sendCq = new CompletionQueue(context, { cqe: 2 * LIST, channel: null });
    this.recvCq = new CompletionQueue(context, { cqe: 2 * LIST, ...channel });
    this.qp = makeQp(this, type);
    this.#type = type;
    const mr = this.#mr = new MemoryRegion(this.pd, 2 * LIST * SLOT, AccessFlags.LOCAL_WRITE);
    for (let i = 0; i < LIST; i++) this.recvs.set(i, { sge: mr.sge((LIST + i) * SLOT, SLOT) });
  }

  connect(qpn: number): this {
    if (this.#type === "UD") this.qp.activateUd({ portNum: PORT, qkey: QKEY });
    else {
      this.qp.init({ portNum: PORT, gidIndex: 0, psn: 0 });
      this.qp.activateRc({ ...this.qp.address, qpNum: qpn });
    }
    const ah = new AddressHandle(this.pd, ownAddress(this.context));
    const remote = this.#type === "UD" ? { ah, remoteQpn: qpn, remoteQkey: QKEY } : {};
    for (let i = 0; i < LIST; i++) {
      this.sends.set(i, { wrId: i, sge: this.#mr.sge(i * SLOT, SIZE), ...remote });
    }
    return this;
  }

  /** Polls once, and reads status and the lower half of wr_id, which is no bigint. */
  drain(cq: CompletionQueue, batch: WorkCompletionList = this.#batch): number {
    const n = cq.pollInto(batch);
    let sum = 0;
    for (let i = 0; i < n; i++) {
      if (batch.status(i) !== 0) throw batch.at(i).check();
      sum = (sum + batch.wrIdLow(i)) | 0;
    }
    use(sum);
    return n;
  }
}

export function makeQp({ pd, sendCq, recvCq }: End, type: "UD" | "RC" = "UD"): QueuePair {
  const cap = { maxSendWr: 2 * LIST, maxRecvWr: 2 * LIST };
  return new QueuePair(pd, { qpType: QpType[type], sendCq, recvCq, cap });
}

let used = 0;

/** Uses a result, so that V8 cannot leave out the reading of it: it does not know who else reads the variable. */
export function use(result: number): void {
  used = (used + result) | 0;
}
