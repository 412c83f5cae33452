// What the device refuses to post, and how it tells. What is refused before native code is in tests/library/work.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  MemoryRegion,
  ProtectionDomain,
  SendRequestList,
  VerbsError,
  WorkCompletionError,
} from "../../../mod.ts";
import { differs } from "../kernels.ts";
import { deviceTest, udPair, waitFor } from "../setup.ts";

function postError(post: () => void): VerbsError {
  return assertThrows(post, VerbsError);
}

deviceTest("QueuePair.postSend() posts what comes before the queue is full", async () => {
  using pair = udPair();
  const { left, toRight } = pair;
  const room = left.qp.query().cap.maxSendWr;
  const requests = new SendRequestList({ capacity: room + 64 });
  for (let i = 0; i < room + 64; i++) {
    requests.set(i, { ...toRight, sge: left.mr.sge(0, 8), wrId: i });
  }
  const error = postError(() => left.qp.postSend(requests));
  assertEquals([error.verb, error.code], ["ibv_post_send", "ENOMEM"]);
  const posted = error.posted!;
  assertEquals(posted >= room && posted < room + 64, true);
  assertStringIncludes(error.message, `Cannot post send (request ${posted} of the list`);
  assertStringIncludes(error.hint!, "The queue is full");
  const sent = await waitFor(left.cq, posted);
  assertEquals(sent.map(({ wrId }) => Number(wrId)), [...Array(posted).keys()]);
  assertEquals(left.cq.poll(), []);
});

deviceTest("A send from memory of another protection domain fails", async () => {
  using pair = udPair();
  using pd = new ProtectionDomain(pair.context);
  const { left, toRight } = pair;
  left.qp.postSend({ ...toRight, wrId: 6n, sge: new MemoryRegion(pd, 64, 0).sge(0, 8) });
  const [wc] = await waitFor(left.cq);
  assertEquals([wc!.wrId, wc!.ok], [6n, false]);
  const hint = differs("flushesFaultySends")
    ? "WR_FLUSH_ERR"
    : "of the queue pair's protection domain";
  assertThrows(() => wc!.check(), WorkCompletionError, hint);
});
