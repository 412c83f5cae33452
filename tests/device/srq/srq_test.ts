// Shared receive queues.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessFlags,
  CompletionQueue,
  EventType,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  RecvRequests,
  SharedReceiveQueue,
  SrqType,
  VerbsError,
  XrcDomain,
} from "../../../mod.ts";
import { deviceTest, gidOf, makeEnd, openRxe, PORT, waitFor, withDeadline } from "../setup.ts";

deviceTest("Two queue pairs take their receives from one shared queue", async () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const srq = new SharedReceiveQueue(pd, { maxWr: 16 });
  const recvCq = new CompletionQueue(context, { cqe: 32 });
  const { gidIndex } = gidOf(context, "ipv4");
  const senders = [makeEnd(pd, QpType.RC), makeEnd(pd, QpType.RC)];
  const receivers = senders.map(({ qp }) => {
    const cap = { maxSendWr: 1 };
    const receiver = new QueuePair(pd, { type: QpType.RC, sendCq: recvCq, recvCq, srq, cap });
    for (const end of [qp, receiver]) end.init({ port: PORT, gidIndex });
    receiver.activateRc(qp.address);
    qp.activateRc(receiver.address);
    return receiver;
  });
  const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
  const list = new RecvRequests({ capacity: 4 });
  for (let i = 0; i < 4; i++) list.set(i, { wrId: i, sge: mr.slice(i * 64, 64) });
  srq.postRecv(list, 3);
  srq.postRecv({ wrId: 3, sge: mr.slice(192, 64) });
  for (const { qp, mr } of [...senders, ...senders]) qp.postSend({ sge: mr.slice(0, 9) });
  const received = await waitFor(recvCq, 4);
  assertEquals(received.map((wc) => wc.check().wrId).sort(), [0n, 1n, 2n, 3n]);
  const numbers = new Set(received.map(({ qpNum }) => qpNum));
  assertEquals(numbers, new Set(receivers.map(({ qpNum }) => qpNum)));
});

deviceTest("SharedReceiveQueue.modify() sets a limit that sends an event once", async () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const srq = new SharedReceiveQueue(pd, { maxWr: 16 });
  const recvCq = new CompletionQueue(context, { cqe: 32 });
  const { gidIndex } = gidOf(context, "ipv4");
  const sender = makeEnd(pd, QpType.RC);
  const cap = { maxSendWr: 1 };
  const receiver = new QueuePair(pd, { type: QpType.RC, sendCq: recvCq, recvCq, srq, cap });
  for (const qp of [sender.qp, receiver]) qp.init({ port: PORT, gidIndex });
  receiver.activateRc(sender.qp.address);
  sender.qp.activateRc(receiver.address);
  const mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE);
  srq.postRecv([{ sge: mr.slice(0) }, { sge: mr.slice(0) }, { sge: mr.slice(0) }]);
  srq.modify({ srqLimit: 2 });
  assertEquals(srq.query().srqLimit, 2);
  await withDeadline(new Error("Cannot wait for event: it does not come"), async (signal) => {
    const events = context.events({ signal });
    const event = events.next();
    for (let i = 0; i < 2; i++) sender.qp.postSend({ sge: sender.mr.slice(0, 1) });
    const { value } = await event;
    assertEquals(value!.type, EventType.SRQ_LIMIT_REACHED);
    assertEquals(value!.element === srq, true);
    await events.return();
  });
  await waitFor(recvCq, 2);
  assertEquals(srq.query().srqLimit, 0);
});

deviceTest("SharedReceiveQueue.query() reports what was granted, and modify() its limits", () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const srq = new SharedReceiveQueue(pd, { maxWr: 10, maxSge: 3 });
  const { maxWr, maxSge, srqLimit } = srq.query();
  assertEquals([maxWr >= 10, maxSge >= 3, srqLimit], [true, true, 0]);
  assertEquals([srq.maxWr >= 10, srq.maxSge >= 3], [true, true]);
  const error = assertThrows(() => srq.modify({ srqLimit: maxWr + 1 }), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_modify_srq", "EINVAL"]);
});

deviceTest("SharedReceiveQueue.postRecv() tells which request found the queue full", () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const srq = new SharedReceiveQueue(pd, { maxWr: 4 });
  const list = new RecvRequests({ capacity: 1000 });
  const error = assertThrows(() => srq.postRecv(list, 900, 100), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_post_srq_recv", "ENOMEM"]);
  assertEquals(error.posted! >= 4 && error.posted! < 900, true);
  assertStringIncludes(error.hint!, "The queue is full");
});

deviceTest("new SharedReceiveQueue() names the limits of the device", () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const { maxSrqWr, maxSrqSge } = context.queryDevice();
  for (const init of [{ maxWr: maxSrqWr + 1 }, { maxWr: 1, maxSge: maxSrqSge + 1 }]) {
    const error = assertThrows(() => new SharedReceiveQueue(pd, init), VerbsError);
    assertStringIncludes(error.hint!, `each with ${maxSrqWr} receives of ${maxSrqSge}`);
  }
});

deviceTest("Extended reliable connections are not supported on rxe", () => {
  using context = openRxe();
  assertEquals(assertThrows(() => new XrcDomain(context), VerbsError).notSupported, true);
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 1 });
  const srq = new SharedReceiveQueue(pd, { maxWr: 1 });
  assertEquals(assertThrows(() => srq.srqNum, VerbsError).notSupported, true);
  const tmCap = { maxNumTags: 1, maxOps: 1 };
  const make = (): unknown =>
    new SharedReceiveQueue(pd, { maxWr: 1, srqType: SrqType.TM, cq, tmCap });
  assertThrows(make, VerbsError);
});
