// What only Elastic Fabric Adapters have, on the stub: reliable datagrams, and senders by number or by GID.

import { assertEquals, assertThrows } from "@std/assert";
import {
  EfaCompletionQueue,
  EfaDeviceCaps,
  EfaWorkCompletionList,
  queryEfaDevice,
  queryEfaMr,
  SrdQueuePair,
} from "../../../efa.ts";
import { QpState, QpType } from "../../../mod.ts";
import { rxe } from "../setup.ts";
import { assertFails, calls, writeStub } from "../stub.ts";
import { efaTest, End, ends, QKEY, take } from "./adapters.ts";

efaTest("An adapter says what it can do", ({ left: { context, mr } }) => {
  const { RDMA_READ, RNR_RETRY, CQ_WITH_SGID } = EfaDeviceCaps;
  const { deviceCaps, ...attr } = queryEfaDevice(context);
  const all = RDMA_READ | RNR_RETRY | CQ_WITH_SGID;
  assertEquals(deviceCaps & all, all);
  assertEquals({ ...attr, inlineBufSizeEx: 0 }, {
    ...{ maxSqWr: 4096, maxRqWr: 4096, maxSqSge: 2, maxRqSge: 2 },
    ...{ inlineBufSize: 32, inlineBufSizeEx: 0, maxRdmaSize: 2 ** 30 },
  });
  // The kernel of the tests has no such call.
  assertThrows(() => queryEfaMr(mr), Error, "Cannot query memory region");
});

efaTest("Sends that end in another order keep their handle until all are done", async (fabric) => {
  const [from, to] = ends(fabric);
  const [ah, others] = [fabric.left.to(fabric.right), fabric.left.to(fabric.right)];
  writeStub("efa", "reversed");
  try {
    // One post rings the doorbell once: the last of them is the first to go.
    from.qp.postSend([0, 1, 2, 3].map((i) => {
      fabric.left.mr.sge(64 * i, 64).bytes.fill(i + 1);
      const sge = fabric.left.mr.sge(64 * i, 64);
      const where = { ah: i === 0 ? ah : others, remoteQpn: to.qp.qpNum, remoteQkey: QKEY };
      return { wrId: i, sge, ...where };
    }));
    ah.close();
    for (const place of [0, 64, 128]) to.receive(place);
    assertEquals((await take(from.cq, 3)).map(({ wrId }) => wrId), [3n, 2n, 1n]);
    assertEquals(calls("destroy_ah"), []);
    to.receive(192);
    assertEquals((await take(from.cq, 1)).map(({ wrId }) => wrId), [0n]);
    assertEquals(calls("destroy_ah").length, 1);
  } finally {
    writeStub("efa", "ordered");
  }
  const received = await take(to.cq, 4);
  const first = received.map(({ wrId }) => fabric.right.mr.sge(Number(wrId), 64).bytes[0]);
  assertEquals(first, [4, 3, 2, 1]);
});

efaTest("A batch has the GIDs, and clears those of an earlier poll", async (fabric) => {
  const [from, to] = ends(fabric);
  const batch = new EfaWorkCompletionList(2);
  const found: (string | undefined)[] = [];
  for (const _ of [0, 1]) {
    to.receive(0);
    from.send(0, fabric.left.to(fabric.right), to);
    await take(from.cq, 1);
    assertEquals(to.cq.pollInto(batch), 1);
    found.push(batch.sgid(0)?.toString());
    fabric.right.to(fabric.left);
  }
  assertEquals(found, [String(fabric.left.context.queryGid(1, 0)), undefined]);
  assertThrows(() => batch.sgid(2), RangeError);
});

efaTest("Messages are as long as the adapter's packets", async ({ left, right }) => {
  const { maxMsgSz } = left.context.queryPort(1);
  const [from, to] = [left.ud(), right.ud()];
  const where = { ah: left.to(right), remoteQpn: to.qpNum, remoteQkey: QKEY };
  left.mr.sge(0, maxMsgSz).bytes.fill(7);
  to.postRecv({ sge: right.mr.sge(0, 40 + maxMsgSz) });
  from.postSend({ ...where, sge: left.mr.sge(0, maxMsgSz) });
  const [wc] = await take(right.cq, 1);
  assertEquals([wc!.byteLen, right.mr.sge(0, 40 + maxMsgSz).bytes[39 + maxMsgSz]], [
    40 + maxMsgSz,
    7,
  ]);
  await take(left.cq, 1);
  const srd = new End(left);
  for (const qp of [from, srd.qp]) {
    const sge = left.mr.sge(0, maxMsgSz + 1);
    assertThrows(() => qp.postSend({ ...where, sge }), RangeError, `allows ${maxMsgSz}`);
  }
});

efaTest("What is not EFA's is refused, and says so", ({ left }) => {
  using other = rxe();
  const { cq, pd, context } = other;
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const init = { sendCq: cq, recvCq: cq, cap };
  const { hint } = assertFails(() => queryEfaDevice(context), "efadv_query_device", "EOPNOTSUPP");
  assertEquals(hint?.includes("no Elastic Fabric Adapter"), true);
  assertFails(() => new SrdQueuePair(pd, init), "efadv_create_qp_ex", "EOPNOTSUPP");
  assertFails(() => new EfaCompletionQueue(context, { cqe: 4 }), "efadv_create_cq", "EOPNOTSUPP");
  assertThrows(() => new SrdQueuePair(left.pd, init), TypeError, "another context");
  const own = { ...init, sendCq: left.cq, recvCq: left.cq };
  assertThrows(() => new SrdQueuePair(left.pd, { ...own, qpType: QpType.RC } as never), TypeError);
  const qp = new SrdQueuePair(left.pd, own);
  assertThrows(() => qp.activate({ qkey: -1 }), RangeError);
  assertThrows(() => qp.activate({ qkey: 1, rnrRetry: 8 }), RangeError);
  assertThrows(() => qp.activate({ qkey: 1, portNum: 2 }), RangeError);
  assertEquals(qp.state, QpState.RESET);
  qp.activate({ qkey: 1 });
  assertThrows(() => qp.postSend({ sge: left.mr.sge(0, 8) } as never), TypeError, "ah");
});
