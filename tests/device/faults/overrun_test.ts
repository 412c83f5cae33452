// More messages than receives, and more completions than entries.
import { assert, assertEquals } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { verbs } from "../../../ffi/library.ts";
import {
  AddressHandle,
  type AsyncEvent,
  CompletionQueue,
  EventType,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  WcStatus,
} from "../../../mod.ts";
import {
  deviceTest,
  gidOf,
  makeEnd,
  openRxe,
  pairOf,
  PORT,
  QKEY,
  REMOTE_ACCESS,
  selfAddress,
  udPair,
  until,
  waitFor,
} from "../setup.ts";

deviceTest("Datagrams beyond the posted receives are dropped without an error", async () => {
  using pair = udPair();
  const { left, right } = pair;
  const [SENT, POSTED, STRIDE] = [20, 3, 64];
  function send(first: number, count: number): void {
    for (let i = first; i < first + count; i++) {
      left.mr.bytes(i, 1)[0] = i;
      left.qp.postSend({ sge: left.mr.slice(i, 1), ...pair.toRight });
    }
  }
  for (let i = 0; i < POSTED; i++) {
    right.qp.postRecv({ wrId: i, sge: right.mr.slice(i * STRIDE, 41) });
  }
  send(0, SENT);
  assert((await waitFor(left.cq, SENT)).every((wc) => wc.ok));
  const received = await waitFor(right.cq, POSTED);
  const firstByte = (wrId: bigint): number => right.mr.bytes(Number(wrId) * STRIDE + 40, 1)[0]!;
  assertEquals(received.map((wc) => firstByte(wc.check().wrId)), [0, 1, 2]);
  assertEquals(right.cq.poll(), []);
  right.qp.postRecv({ wrId: 0, sge: right.mr.slice(0, 41) });
  send(SENT, 1);
  assertEquals(firstByte((await waitFor(right.cq))[0]!.check().wrId), SENT);
});

deviceTest("An RC queue pair waits for a receive of its peer, and loses nothing", async () => {
  using pair = pairOf((pd) => makeEnd(pd, QpType.RC));
  const { left, right, context } = pair;
  const { gidIndex } = gidOf(context, "ipv4");
  const qpAccessFlags = REMOTE_ACCESS;
  for (const { qp } of [left, right]) qp.init({ port: PORT, gidIndex, qpAccessFlags });
  right.qp.activateRc(left.qp.address, { minRnrTimer: 1 });
  left.qp.activateRc(right.qp.address, { rnrRetry: 7 });
  const COUNT = 16;
  for (let i = 0; i < COUNT; i++) left.qp.postSend({ wrId: i, sge: left.mr.slice(0, i + 1) });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assertEquals(left.cq.poll(), [], "a send was completed before the peer had a receive");
  const lengths: number[] = [];
  for (let i = 0; i < COUNT; i++) {
    right.qp.postRecv({ sge: right.mr.slice(0, 64) });
    lengths.push((await waitFor(right.cq))[0]!.check().byteLen);
  }
  assertEquals(lengths, Array.from({ length: COUNT }, (_, i) => i + 1));
  assert((await waitFor(left.cq, COUNT)).every((wc) => wc.ok));
});

deviceTest("A completion queue that overruns raises CQ_ERR, and loses the rest", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 4 });
  const cap = { maxSendWr: 64, maxRecvWr: 4 };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  const ah = new AddressHandle(pd, selfAddress(context));
  const events: AsyncEvent[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  const listening = (async () => {
    for await (const event of context.events({ signal })) events.push(event);
  })();
  const send = (wrId: number): void =>
    qp.postSend({ wrId, ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
  const LOST = 5;
  for (let i = 0; i < cq.cqe + LOST; i++) send(i);
  await until("an event for each lost completion", () => events.length === LOST);
  controller.abort();
  await listening.catch((error) => assertEquals(error, signal.reason));
  assert(events.every(({ type, element }) => type === EventType.CQ_ERR && element === cq));
  const kept = cq.poll(64);
  assertEquals(kept.map(({ wrId }) => Number(wrId)), [...Array(cq.cqe).keys()]);
  assert(kept.every(({ status }) => status === WcStatus.SUCCESS));
  // mlx5 and others stop the queue here; rxe goes on with it.
  send(100);
  assertEquals((await waitFor(cq))[0]!.check().wrId, 100n);
  assertEquals(qp.query().attr.qpState, QpState.RTS);
  // The completions of some sends are lost: their handle goes with the queue pair.
  for (let i = 0; i < cq.cqe + LOST; i++) send(200 + i);
  await until("all sent", () => Number(qp.query().attr.sqPsn) >= 2 * (cq.cqe + LOST) + 1);
  cq.poll(64);
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  ah.close();
  assertSpyCalls(destroyed, 0);
  qp.close();
  assertSpyCalls(destroyed, 1);
});
