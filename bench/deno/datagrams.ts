/** Datagrams that a queue pair sends to itself, by prepared requests. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  RecvRequests,
  SendRequests,
  WorkCompletions,
} from "../../mod.ts";
import { Clock, type Plan } from "./clock.ts";

const LIST = 32;
const PORT = 1;
const QKEY = 0x1111_1111;
const GRH = 40;
const SIZE = 64;
const SLOT = 128;

interface Datagrams {
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly sends: SendRequests;
  readonly recvs: RecvRequests;
  /** Room for the completions of one list, and of two. */
  readonly batch: WorkCompletions;
  readonly bothBatch: WorkCompletions;
}

let prepared: Datagrams | undefined;

function prepare(context: Context): Datagrams {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 2 * LIST, channel: null });
  const cap = { maxSendWr: 2 * LIST, maxRecvWr: 2 * LIST };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  const mr = new MemoryRegion(pd, 2 * LIST * SLOT, AccessFlags.LOCAL_WRITE);
  const dgid = context.queryGid(PORT, 0);
  const ah = new AddressHandle(pd, { portNum: PORT, grh: { dgid, sgidIndex: 0, hopLimit: 64 } });
  const sends = new SendRequests({ capacity: LIST });
  const recvs = new RecvRequests({ capacity: LIST });
  for (let i = 0; i < LIST; i++) {
    const sge = mr.slice(i * SLOT, SIZE);
    sends.set(i, { wrId: i, sge, ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
    recvs.set(i, { wrId: LIST + i, sge: mr.slice((LIST + i) * SLOT, GRH + SIZE) });
  }
  const batch = new WorkCompletions(LIST);
  return { cq, qp, sends, recvs, batch, bothBatch: new WorkCompletions(2 * LIST) };
}

function datagrams(context: Context): Datagrams {
  return prepared ??= prepare(context);
}

function wholeLists({ count, parts }: Plan, size: number): Plan {
  return { count: Math.ceil(count / size) * size, parts };
}

/** One prepared request, posted again and again. */
export function postSend(context: Context, plan: Plan): number {
  const { qp, sends } = datagrams(context);
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) qp.postSend(sends, 1);
  }
  return clock.middle;
}

/** A list of 32 posted and as many completions polled, status and wr_id read; for one message. */
export function postPoll(context: Context, plan: Plan): number {
  const { qp, cq, sends, batch } = datagrams(context);
  const { count, parts } = wholeLists(plan, LIST);
  const clock = new Clock({ count, parts });
  let sum = 0n;
  while (clock.part()) {
    for (let done = 0; done < count; done += LIST) {
      qp.postSend(sends);
      const polled = cq.pollInto(batch);
      for (let i = 0; i < polled; i++) {
        if (batch.status(i) !== 0) throw batch.at(i).check();
        sum ^= batch.wrId(i);
      }
    }
  }
  return clock.middle;
}

/** The same with the lower half of wr_id, which is no bigint. */
export function postPollLow(context: Context, plan: Plan): number {
  const { qp, cq, sends, batch } = datagrams(context);
  const { count, parts } = wholeLists(plan, LIST);
  const clock = new Clock({ count, parts });
  let sum = 0;
  while (clock.part()) {
    for (let done = 0; done < count; done += LIST) {
      qp.postSend(sends);
      const polled = cq.pollInto(batch);
      for (let i = 0; i < polled; i++) {
        if (batch.status(i) !== 0) throw batch.at(i).check();
        sum = (sum + batch.wrIdLow(i)) | 0;
      }
    }
  }
  return clock.middle;
}

/** Sends and receives `size` messages at a time, and polls until all their completions are there; for one message. */
export function exchange(context: Context, plan: Plan, size: number): number {
  const { qp, cq, sends, recvs, bothBatch: batch } = datagrams(context);
  const { count, parts } = wholeLists(plan, size);
  const clock = new Clock({ count, parts });
  while (clock.part()) {
    for (let done = 0; done < count; done += size) {
      qp.postRecv(recvs, size);
      qp.postSend(sends, size);
      for (let polled = 0; polled < 2 * size;) {
        const n = cq.pollInto(batch);
        for (let i = 0; i < n; i++) if (batch.status(i) !== 0) throw batch.at(i).check();
        polled += n;
      }
    }
  }
  return clock.middle;
}
