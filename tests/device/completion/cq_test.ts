// Completion queues: making, resizing, polling.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { CompletionQueue, VerbsError } from "../../../mod.ts";
import { deviceTest, openRxe, udPair, waitFor } from "../setup.ts";

deviceTest("CompletionQueue() makes a queue of at least the size asked for", () => {
  using context = openRxe();
  const { maxCqe } = context.queryDevice();
  for (const cqe of [1, 100, Math.floor(maxCqe / 2), maxCqe]) {
    using cq = new CompletionQueue(context, { cqe, channel: null });
    assert(cq.cqe >= cqe, `${cq.cqe} of ${cqe}`);
    assertEquals([cq.context, cq.channel], [context, null]);
  }
});

deviceTest("CompletionQueue.resize() fails when the queue holds more", async () => {
  using pair = udPair();
  const { left } = pair;
  left.qp.postSend(Array.from({ length: 40 }, (_, i) => ({ ...pair.toRight, wrId: BigInt(i) })));
  const sent = await waitFor(left.cq);
  // the others complete without being polled
  await new Promise((resolve) => setTimeout(resolve, 200));
  const error = assertThrows(() => left.cq.resize(2), VerbsError);
  assertEquals(error.code, "EINVAL");
  left.cq.resize(512);
  sent.push(...await waitFor(left.cq, 40 - sent.length));
  assertEquals(sent.map(({ wrId }) => wrId), Array.from({ length: 40 }, (_, i) => BigInt(i)));
});
