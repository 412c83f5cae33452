// What the device refuses to post, and how it tells. What is refused before native code is in tests/library/work.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AddressHandle,
  MemoryRegion,
  ProtectionDomain,
  QpState,
  QpType,
  RecvRequests,
  SendRequests,
  VerbsError,
  WorkCompletionError,
} from "../../../mod.ts";
import { deviceTest, makeEnd, PORT, QKEY, rxe, selfAddress, udPair, waitFor } from "../setup.ts";

function postError(post: () => void): VerbsError {
  return assertThrows(post, VerbsError);
}

deviceTest("QueuePair.postSend() posts what comes before the queue is full", async () => {
  using pair = udPair();
  const { left, toRight } = pair;
  const room = left.qp.query().cap.maxSendWr;
  const requests = new SendRequests({ capacity: room + 64 });
  for (let i = 0; i < room + 64; i++) {
    requests.set(i, { ...toRight, sge: left.mr.slice(0, 8), wrId: i });
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

deviceTest("QueuePair.postRecv() tells which request found the queue full", () => {
  using pair = udPair();
  const { qp, mr } = pair.left;
  const requests = new RecvRequests({ capacity: 1000 });
  for (let i = 0; i < 1000; i++) requests.set(i, { sge: mr.slice(0, 64) });
  const error = postError(() => qp.postRecv(requests, 900, 100));
  assertEquals([error.verb, error.code], ["ibv_post_recv", "ENOMEM"]);
  const posted = error.posted!;
  assertEquals(posted >= qp.cap.maxRecvWr && posted < 900, true);
  assertEquals(postError(() => qp.postRecv(requests, 1, 0)).posted, 0);
});

deviceTest("QueuePair.postSend() names the state when it is wrong", () => {
  using device = rxe();
  const { qp, mr } = makeEnd(device.pd, QpType.UD);
  const ah = new AddressHandle(device.pd, selfAddress(device.context));
  const error = postError(() =>
    qp.postSend({ sge: mr.slice(0, 8), ah, remoteQpn: 1, remoteQkey: QKEY })
  );
  // rxe finds that out when all requests are in the queue, and then names none of them
  assertEquals([error.code, error.posted], ["EINVAL", undefined]);
  assertStringIncludes(error.message, "Cannot post send: ibv_post_send gave EINVAL");
  assertStringIncludes(error.hint!, "The queue pair is in state RESET");
  const receive = postError(() => qp.postRecv({ sge: mr.slice(0, 64) }));
  assertEquals(receive.code, "EINVAL");
  qp.modify({ qpState: QpState.INIT, portNum: PORT, pkeyIndex: 0, qkey: QKEY });
  qp.postRecv({ sge: mr.slice(0, 64) });
});

deviceTest("A send from memory of another protection domain fails", async () => {
  using pair = udPair();
  using pd = new ProtectionDomain(pair.context);
  const { left, toRight } = pair;
  left.qp.postSend({ ...toRight, wrId: 6n, sge: new MemoryRegion(pd, 64, 0).slice(0, 8) });
  const [wc] = await waitFor(left.cq);
  assertEquals([wc!.wrId, wc!.ok], [6n, false]);
  assertThrows(() => wc!.check(), WorkCompletionError, "of the queue pair's protection domain");
});
