/**
 * What a program does first, with this library: it ends after the first poll, the first answer, or the first 1000 messages.
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
const LIST = 32;
const SIZE = 64;
const EMPTY = 1;
const RECEIVES = 2;

function poll(context: Context): void {
  const cq = new CompletionQueue(context, { cqe: 1, channel: null, compVector: EMPTY });
  cq.pollInto(new WorkCompletions(1));
}

/** Sends so many messages; each is the answer to a packet from the port itself. */
function answer(context: Context, messages: number): void {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: LIST, channel: null });
  const cap = { maxSendWr: LIST, maxRecvWr: LIST };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  const mr = new MemoryRegion(pd, LIST * SIZE, AccessFlags.LOCAL_WRITE);
  writeGrh(mr, context.queryGid(PORT, 0).bytes);
  const receives = new CompletionQueue(context, {
    ...{ cqe: LIST, channel: null, compVector: RECEIVES },
  });
  const path = new ReplyPath(pd, { port: PORT });
  const size = Math.min(LIST, messages);
  const sends = new SendRequestList({ capacity: size });
  for (let i = 0; i < size; i++) sends.set(i, { wrId: i, sge: mr.slice(i * SIZE, SIZE) });
  const received = new WorkCompletions(size);
  const sent = new WorkCompletions(size);
  for (let done = 0; done < messages; done += size) {
    const count = receives.pollInto(received);
    for (let i = 0; i < count; i++) {
      path.setAh(sends, i, received, i, mr, 0);
      sends.setRemote(i, received.srcQp(i), QKEY);
    }
    qp.postSend(sends, 0, count);
    if (cq.pollInto(sent) !== count) throw new Error("Cannot measure: sends did not complete");
  }
}

function writeGrh(mr: MemoryRegion, gid: Uint8Array): void {
  const bytes = mr.bytes();
  bytes.set([6 << 4, 0, 0, 0, 0, SIZE, 17, 64, ...gid, ...gid].slice(0, Grh.SIZE));
}

const context = Context.open();
const what = Deno.args[0];
if (what === "poll") poll(context);
else answer(context, what === "answer" ? 1 : 1000);
Deno.exit(0);
