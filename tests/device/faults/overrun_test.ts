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
import { deviceTest, openRxe, PORT, QKEY, selfAddress, until, waitFor } from "../setup.ts";

deviceTest("A completion queue that overruns raises CQ_ERR, and loses the rest", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 4 });
  const cap = { maxSendWr: 64, maxRecvWr: 4 };
  const qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ portNum: PORT, qkey: QKEY });
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
  assert(
    events.every(({ eventType, element }) => eventType === EventType.CQ_ERR && element === cq),
  );
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
