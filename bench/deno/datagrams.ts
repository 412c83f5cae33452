/** A queue pair, its queue, and prepared requests to itself. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  SendRequestList,
  WorkCompletions,
} from "../../mod.ts";

export const LIST = 32;
export const PORT = 1;
export const QKEY = 0x1111_1111;
export const SIZE = 64;
/** Bytes of memory for each message. */
export const SLOT = 128;
const SLOTS = 256;

/** The completion vector of queues in which the no-op provider finds nothing. See ../c/provider.h. */
export const EMPTY = 1;
/** That of queues with as many completions of received datagrams as fit. */
export const RECEIVES = 2;
/** That of a queue with one completion a moment after it was armed. */
export const TICKS = 3;

/** What the rounds share. */
export interface Datagrams {
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  /** As many handles of the own port as a list has requests. */
  readonly ahs: readonly AddressHandle[];
  readonly sends: SendRequestList;
  /** Room for the completions of one list. */
  readonly batch: WorkCompletions;
}

/** A datagram queue pair, ready to send and receive. */
export function createQp(
  pd: ProtectionDomain,
  sendCq: CompletionQueue,
  recvCq: CompletionQueue = sendCq,
): QueuePair {
  const cap = { maxSendWr: 2 * LIST, maxRecvWr: 2 * LIST };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq, recvCq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  return qp;
}

function prepare(context: Context): Datagrams {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 2 * LIST, channel: null });
  const qp = createQp(pd, cq);
  const mr = new MemoryRegion(pd, SLOTS * SLOT, AccessFlags.LOCAL_WRITE);
  const dgid = context.queryGid(PORT, 0);
  const attr = { portNum: PORT, grh: { dgid, sgidIndex: 0, hopLimit: 64 } };
  const ahs = Array.from({ length: LIST }, () => new AddressHandle(pd, attr));
  const sends = prepareSends(LIST, { mr, ahs, qp });
  return { pd, cq, qp, mr, ahs, sends, batch: new WorkCompletions(LIST) };
}

/** Sends to the queue pair itself. */
export function prepareSends(
  capacity: number,
  { mr, ahs, qp }: Pick<Datagrams, "mr" | "ahs" | "qp">,
): SendRequestList {
  const sends = new SendRequestList({ capacity });
  for (let i = 0; i < capacity; i++) {
    const sge = mr.slice(i * SLOT, SIZE);
    sends.set(i, { wrId: i, sge, ah: ahs[0]!, remoteQpn: qp.qpNum, remoteQkey: QKEY });
  }
  return sends;
}

let prepared: Datagrams | undefined;

/** They are made once. */
export function datagrams(context: Context): Datagrams {
  return prepared ??= prepare(context);
}
