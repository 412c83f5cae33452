// Waiting for completions through channels, of messages between two queue pairs.
import { assertEquals, assertRejects } from "@std/assert";
import { type CompletionChannel, type CompletionQueue, SendFlags } from "../../../mod.ts";
import type { Pair } from "../../device/setup.ts";
import { withDeadline } from "../../until.ts";
import { test, udPair } from "../shm_device.ts";

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

test("CompletionChannel.getCqEvent() gives one event for each arming", async () => {
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

test("CompletionQueue.reqNotify() waits for solicited ones when told so", async () => {
  using pair = udPair();
  const { right, left } = pair;
  for (let i = 0; i < 2; i++) right.qp.postRecv({ sge: right.mr.sge(i * 64, 64) });
  right.cq.reqNotify(true);
  send(pair);
  await waitForQueueOf(left.cq, 1);
  const signal = AbortSignal.timeout(100);
  await assertRejects(() => right.cq.channel!.getCqEvent({ signal }), DOMException);
  send(pair, SendFlags.SIGNALED | SendFlags.SOLICITED);
  assertEquals(await nextEvent(right.cq.channel!), right.cq);
  assertEquals(right.cq.poll().length, 2);
});
