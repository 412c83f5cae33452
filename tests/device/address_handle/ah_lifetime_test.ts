// An address handle outlives the sends that use it, and none that is gone is sent with.
import { assertEquals, assertThrows } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import {
  AddressHandle,
  CompletionQueue,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  SendFlags,
  type SendRequest,
  SendRequests,
  WcStatus,
} from "../../../mod.ts";
import { verbs } from "../../../ffi/library.ts";
import {
  deviceTest,
  makeEnd,
  openRxe,
  type Pair,
  pairOf,
  PORT,
  QKEY,
  selfAddress,
  udPair,
  until,
  waitFor,
} from "../setup.ts";

function requestWith({ left, right }: Pair, ah: AddressHandle): SendRequest {
  const sge = left.mr.slice(0, 8);
  return { sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
}

deviceTest("AddressHandle that is disposed lives until its send is polled", async () => {
  using pair = udPair();
  const { left, right, pd } = pair;
  const ah = new AddressHandle(pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  right.qp.postRecv({ sge: right.mr.slice(0, 1024) });
  left.qp.postSend(requestWith(pair, ah));
  ah.close();
  assertEquals(ah.disposed, true);
  assertSpyCalls(destroyed, 0);
  assertEquals((await waitFor(right.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 0);
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 1);
  assertEquals(destroyed.calls[0]!.returned, 0);
});

deviceTest("AddressHandle lives until the last of several sends has completed", async () => {
  using pair = udPair();
  const { left, pd } = pair;
  const ah = new AddressHandle(pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  left.qp.postSend([requestWith(pair, ah), requestWith(pair, ah), requestWith(pair, ah)]);
  ah.close();
  for (const destroyedAfter of [0, 0, 1]) {
    let polled: unknown[] = [];
    while (polled.length === 0) polled = left.cq.poll(1);
    assertSpyCalls(destroyed, destroyedAfter);
  }
  await Promise.resolve();
});

deviceTest("AddressHandle of an unsignaled send lives until a later one completes", async () => {
  using pair = udPair();
  const { left, pd } = pair;
  const ah = new AddressHandle(pd, selfAddress(pair.context));
  using other = new AddressHandle(pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  left.qp.postSend({ ...requestWith(pair, ah), sendFlags: 0 });
  ah.close();
  assertEquals(left.cq.poll(), []);
  assertSpyCalls(destroyed, 0);
  left.qp.postSend({ ...requestWith(pair, other), sendFlags: SendFlags.SIGNALED });
  await waitFor(left.cq);
  assertSpyCalls(destroyed, 1);
});

deviceTest("AddressHandle lives until all queue pairs that sent with it have polled", async () => {
  using pair = udPair();
  const { left, right, pd } = pair;
  const ah = new AddressHandle(pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  left.qp.postSend(requestWith(pair, ah));
  right.qp.postSend({ ...requestWith(pair, ah), remoteQpn: left.qp.qpNum });
  left.qp.postSend(requestWith(pair, ah));
  ah.close();
  await waitFor(left.cq, 2);
  assertSpyCalls(destroyed, 0);
  await waitFor(right.cq);
  assertSpyCalls(destroyed, 1);
});

deviceTest("AddressHandle goes when its queue pair is disposed with sends under way", () => {
  using pair = udPair();
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  pair.left.qp.postSend(requestWith(pair, ah));
  ah.close();
  assertSpyCalls(destroyed, 0);
  pair.left.qp.close();
  assertSpyCalls(destroyed, 1);
});

deviceTest("AddressHandle goes when its queue pair is reset with sends under way", () => {
  using pair = udPair();
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  pair.left.qp.postSend(requestWith(pair, ah));
  ah.close();
  pair.left.qp.modify({ qpState: QpState.RESET });
  assertSpyCalls(destroyed, 1);
});

deviceTest("AddressHandle goes at the reset when its send was flushed", async () => {
  using pair = udPair();
  const { left } = pair;
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  left.qp.modify({ qpState: QpState.ERR });
  left.qp.postSend(requestWith(pair, ah));
  ah.close();
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.WR_FLUSH_ERR);
  left.qp.modify({ qpState: QpState.RESET });
  assertSpyCalls(destroyed, 1);
});

deviceTest("ProtectionDomain.close() takes handles of sends under way with it", () => {
  using pair = udPair();
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  pair.left.qp.postSend([requestWith(pair, ah), requestWith(pair, ah)]);
  pair.pd.close();
  assertSpyCalls(destroyed, 1);
  assertEquals(ah.disposed, true);
});

deviceTest("QueuePair.postSend() refuses a disposed handle before native code", () => {
  using pair = udPair();
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  ah.close();
  assertThrows(
    () => pair.left.qp.postSend(requestWith(pair, ah)),
    TypeError,
    "the address handle is disposed",
  );
  assertEquals(pair.left.cq.poll(), []);
});

deviceTest("QueuePair.postSend() refuses a list whose handle was disposed since", () => {
  using pair = udPair();
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  const requests = new SendRequests({ capacity: 2 });
  requests.set(0, requestWith(pair, ah));
  requests.set(1, requestWith(pair, ah));
  ah.close();
  assertThrows(
    () => pair.left.qp.postSend(requests),
    TypeError,
    "the address handle is disposed",
  );
  assertThrows(() => requests.setAh(0, ah), TypeError, "the address handle is disposed");
});

deviceTest("QueuePair.postSend() refuses the address handle of another protection domain", () => {
  using pair = udPair();
  using pd = new ProtectionDomain(pair.context);
  const ah = new AddressHandle(pd, selfAddress(pair.context));
  assertThrows(
    () => pair.left.qp.postSend(requestWith(pair, ah)),
    TypeError,
    "the address handle belongs to another protection domain",
  );
});

deviceTest("QueuePair.postSend() refuses a UD send without an address handle", () => {
  using pair = udPair();
  assertThrows(
    () => pair.left.qp.postSend({ sge: pair.left.mr.slice(0, 8), remoteQpn: 1 }),
    TypeError,
    "it needs an address handle (ah)",
  );
});

deviceTest("AddressHandle serves sends of a queue pair that completes all of them", async () => {
  using pair = pairOf((pd) => {
    const end = makeEnd(pd, QpType.UD, { sqSigAll: true });
    end.qp.activateUd({ port: PORT, qkey: QKEY });
    return end;
  });
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  pair.left.qp.postSend({ ...requestWith(pair, ah), sendFlags: 0 });
  ah.close();
  await waitFor(pair.left.cq);
  assertSpyCalls(destroyed, 1);
});

deviceTest("AddressHandle is kept through a thousand sends that reuse the queue", async () => {
  using pair = udPair();
  const { left, pd } = pair;
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  let previous: AddressHandle | undefined;
  for (let i = 0; i < 1000; i++) {
    const ah = new AddressHandle(pd, selfAddress(pair.context));
    left.qp.postSend({ ...requestWith(pair, ah), wrId: BigInt(i) });
    previous?.close();
    previous = ah;
    if (i % 32 === 31) await waitFor(left.cq, 32);
  }
  previous!.close();
  await waitFor(left.cq, 1000 % 32);
  assertSpyCalls(destroyed, 1000);
});

deviceTest("AddressHandle goes with the queue pair when its completion was lost", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 1 });
  const cap = { maxSendWr: 64, maxRecvWr: 1 };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  const ah = new AddressHandle(pd, selfAddress(context));
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const request = { ah, remoteQpn: qp.qpNum, remoteQkey: QKEY };
  qp.postSend(Array.from({ length: 60 }, () => request));
  await until("all sent", () => Number(qp.query().attr.sqPsn) >= 60);
  const { length } = cq.poll(64);
  assertEquals(length > 0 && length < 60, true);
  ah.close();
  assertSpyCalls(destroyed, 0);
  qp.close();
  assertSpyCalls(destroyed, 1);
});
