/** What comes before the first reply, with this library: it answers a packet from the port itself, and ends. */

import {
  AccessFlags,
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReplyPath,
  SendRequestList,
  WorkCompletionList,
} from "../../mod.ts";
import { grhFrom, PORT, QKEY, RECEIVES, SIZE } from "./end.ts";

const context = Context.open();
const pd = new ProtectionDomain(context);
const cq = new CompletionQueue(context, { cqe: 1, channel: null });
const cap = { maxSendWr: 1, maxRecvWr: 1 };
const qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
qp.activateUd({ portNum: PORT, qkey: QKEY });
const mr = new MemoryRegion(pd, SIZE, AccessFlags.LOCAL_WRITE);
const { bytes } = context.queryGid(PORT, 0);
mr.bytes.set(grhFrom(bytes, bytes[15]!));
const receives = new CompletionQueue(context, { cqe: 1, channel: null, compVector: RECEIVES });
const path = new ReplyPath(pd, { portNum: PORT });
const sends = new SendRequestList({ capacity: 1 });
sends.set(0, { sge: mr.sge(0, SIZE) });
const batch = new WorkCompletionList(1);
receives.pollInto(batch);
sends.setAh(0, path.toAt(batch, 0, mr, 0));
sends.setRemote(0, batch.srcQp(0), QKEY);
qp.postSend(sends);
if (cq.pollInto(batch) !== 1) throw new Error("Cannot measure: the send did not complete");
Deno.exit(0);
