/**
 * What a program does first, with this library: it ends after the first poll or the first reply.
 * See ../c/cold.h.
 */

import {
  AccessFlags,
  CompletionQueue,
  Context,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReplyPath,
  SendRequestList,
  WorkCompletions,
} from "../../mod.ts";

const PORT = 1;
const QKEY = 0x1111_1111;
const SIZE = 64;
const EMPTY = 1;
const RECEIVES = 2;

function poll(context: Context): void {
  const cq = new CompletionQueue(context, { cqe: 1, channel: null, compVector: EMPTY });
  cq.pollInto(new WorkCompletions(1));
}

/** Answers a packet from the port itself. */
function reply(context: Context): void {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 1, channel: null });
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  const mr = new MemoryRegion(pd, SIZE, AccessFlags.LOCAL_WRITE);
  writeGrh(mr, context.queryGid(PORT, 0).bytes);
  const receives = new CompletionQueue(context, { cqe: 1, channel: null, compVector: RECEIVES });
  const path = new ReplyPath(pd, { port: PORT });
  const sends = new SendRequestList({ capacity: 1 });
  sends.set(0, { sge: mr.slice(0, SIZE) });
  const batch = new WorkCompletions(1);
  receives.pollInto(batch);
  path.setAh(sends, 0, batch, 0, mr, 0);
  sends.setRemote(0, batch.srcQp(0), QKEY);
  qp.postSend(sends);
  if (cq.pollInto(batch) !== 1) throw new Error("Cannot measure: the send did not complete");
}

function writeGrh(mr: MemoryRegion, gid: Uint8Array): void {
  const bytes = mr.bytes();
  bytes.set([6 << 4, 0, 0, 0, 0, SIZE, 17, 64, ...gid, ...gid].slice(0, Grh.SIZE));
}

const context = Context.open();
if (Deno.args[0] === "poll") poll(context);
else reply(context);
Deno.exit(0);
