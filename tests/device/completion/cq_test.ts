// Completion queues: making, resizing, polling.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CompletionQueue, VerbsError } from "../../../mod.ts";
import { countOf, deviceTest, openRxe, udPair, waitFor } from "../setup.ts";

deviceTest("CompletionQueue() makes a queue of at least the size asked for", () => {
  using context = openRxe();
  const { maxCqe } = context.queryDevice();
  for (const cqe of [1, 100, Math.floor(maxCqe / 2), maxCqe]) {
    using cq = new CompletionQueue(context, { cqe, channel: null });
    assert(cq.cqe >= cqe, `${cq.cqe} of ${cqe}`);
    assertEquals([cq.context, cq.channel], [context, null]);
  }
});

deviceTest("CompletionQueue() takes every completion vector there is", () => {
  using context = openRxe();
  for (let compVector = 0; compVector < context.numCompVectors; compVector++) {
    new CompletionQueue(context, { cqe: 4, compVector }).close();
  }
  const compVector = context.numCompVectors;
  assertThrows(
    () => new CompletionQueue(context, { cqe: 4, compVector }),
    RangeError,
    "compVector",
  );
});

deviceTest("CompletionQueue() tells the device's limit when asked for more", () => {
  using context = openRxe();
  const before = countOf("cq");
  const { maxCqe } = context.queryDevice();
  const error = assertThrows(() => new CompletionQueue(context, { cqe: maxCqe + 1 }), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_create_cq", "EINVAL"]);
  assertStringIncludes(error.message, `(cqe ${maxCqe + 1})`);
  assertStringIncludes(error.hint!, `supports up to ${maxCqe} entries`);
  assertEquals(countOf("cq"), before);
});

deviceTest("CompletionQueue.resize() grows and shrinks the queue", () => {
  using context = openRxe();
  using cq = new CompletionQueue(context, { cqe: 10 });
  cq.resize(1000);
  assert(cq.cqe >= 1000);
  cq.resize(20);
  assert(cq.cqe >= 20 && cq.cqe < 1000);
  const { maxCqe } = context.queryDevice();
  const error = assertThrows(() => cq.resize(maxCqe + 1), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_resize_cq", "EINVAL"]);
  assertThrows(() => cq.resize(0), RangeError);
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
