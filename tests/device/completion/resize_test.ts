// A completion queue that is made larger and smaller.
import { assertEquals, assertThrows } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import { deviceTest, udPair, waitFor } from "../setup.ts";

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
