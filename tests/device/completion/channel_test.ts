// Waiting for completions through channels.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  ProtectionDomain,
  QpType,
  QueuePair,
  SendFlags,
} from "../../../mod.ts";
import {
  countOf,
  deviceTest,
  openRxe,
  type Pair,
  PORT,
  QKEY,
  selfAddress,
  udPair,
  withDeadline,
} from "../setup.ts";

const LATE = new Error("Cannot wait for the event: it does not come");

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function send({ left, toRight }: Pair, sendFlags: number = SendFlags.SIGNALED): void {
  left.qp.postSend({ ...toRight, sendFlags });
}

function nextEvent(channel: CompletionChannel): Promise<CompletionQueue> {
  return withDeadline(LATE, (signal) => channel.getCqEvent({ signal }));
}

deviceTest("CompletionChannel.getCqEvent() tells which queue has completions", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using channel = new CompletionChannel(context);
  using ah = new AddressHandle(pd, selfAddress(context));
  const ends = Array.from({ length: 3 }, () => {
    const cq = new CompletionQueue(context, { cqe: 16, channel });
    const cap = { maxSendWr: 4, maxRecvWr: 4 };
    const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
    qp.activateUd({ port: PORT, qkey: QKEY });
    return { cq, qp };
  });
  for (const { cq } of ends) cq.reqNotify();
  const request = (qp: QueuePair) => ({ ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
  for (const { cq, qp } of [ends[2]!, ends[0]!, ends[1]!]) {
    qp.postSend(request(qp));
    assertEquals(await nextEvent(channel) === cq, true);
    assertEquals(cq.poll().length, 1);
  }
});

deviceTest("CompletionChannel.getCqEvent() gives one event for each arming", async () => {
  using pair = udPair();
  const { cq } = pair.left;
  cq.reqNotify();
  send(pair);
  assertEquals(await nextEvent(cq.channel!), cq);
  send(pair);
  await waitForQueueOf(cq, 2);
  const none = AbortSignal.timeout(100);
  await assertRejects(() => cq.channel!.getCqEvent({ signal: none }), DOMException);
});

/** Polls without arming. */
async function waitForQueueOf(cq: CompletionQueue, count: number): Promise<void> {
  for (let found = 0; found < count; found += cq.poll().length) await pause(1);
}

deviceTest("CompletionChannel.getCqEvent() gives an event of before the wait", async () => {
  using pair = udPair();
  const { cq } = pair.left;
  cq.reqNotify();
  send(pair);
  await waitForQueueOf(cq, 1);
  assertEquals(await nextEvent(cq.channel!), cq);
});

deviceTest("CompletionQueue.reqNotify() waits for solicited ones when told so", async () => {
  using pair = udPair();
  const { right, left } = pair;
  for (let i = 0; i < 2; i++) right.qp.postRecv({ sge: right.mr.slice(i * 64, 64) });
  right.cq.reqNotify(true);
  send(pair);
  await waitForQueueOf(left.cq, 1);
  const signal = AbortSignal.timeout(100);
  await assertRejects(() => right.cq.channel!.getCqEvent({ signal }), DOMException);
  send(pair, SendFlags.SIGNALED | SendFlags.SOLICITED);
  assertEquals(await nextEvent(right.cq.channel!), right.cq);
  assertEquals(right.cq.poll().length, 2);
});

deviceTest("CompletionChannel.getCqEvent() rejects when the channel is disposed", async () => {
  using context = openRxe();
  const before = countOf("ctx");
  const channel = new CompletionChannel(context);
  const waits = [channel.getCqEvent(), channel.getCqEvent()];
  await pause(20);
  channel.close();
  for (const outcome of await Promise.allSettled(waits)) {
    assert(outcome.status === "rejected");
    assertStringIncludes(outcome.reason.message, "the completion channel was disposed");
  }
  await assertRejects(() => channel.getCqEvent(), TypeError, "it is disposed");
  assertThrows(() => channel.fd, TypeError, "it is disposed");
  assertEquals(countOf("ctx"), before);
});
