// An address handle outlives the sends that use it. The library tests have each way in which sends end.
import { assertEquals } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { AddressHandle, QpState, WcStatus } from "../../../mod.ts";
import { verbs } from "../../../ffi/library.ts";
import { deviceTest, selfAddress, udPair, waitFor } from "../setup.ts";

deviceTest("AddressHandle that is disposed lives until its send is polled", async () => {
  using pair = udPair();
  const { left, right, ah } = pair;
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  right.qp.postRecv({ sge: right.mr.slice(0, 1024) });
  left.qp.postSend({ ...pair.toRight, sge: left.mr.slice(0, 8) });
  ah.close();
  assertEquals(ah.disposed, true);
  assertEquals((await waitFor(right.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 0);
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 1);
  assertEquals(destroyed.calls[0]!.returned, 0);
});

deviceTest("AddressHandle goes at the reset when its send was flushed", async () => {
  using pair = udPair();
  const { left: { qp, cq }, ah } = pair;
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  qp.modify({ qpState: QpState.ERR });
  qp.postSend(pair.toRight);
  ah.close();
  assertEquals((await waitFor(cq))[0]!.status, WcStatus.WR_FLUSH_ERR);
  assertSpyCalls(destroyed, 0);
  qp.modify({ qpState: QpState.RESET });
  assertSpyCalls(destroyed, 1);
});

deviceTest("ProtectionDomain.close() takes handles of sends under way with it", () => {
  using pair = udPair();
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const { ah } = pair;
  pair.left.qp.postSend([pair.toRight, pair.toRight]);
  pair.pd.close();
  assertSpyCalls(destroyed, 1);
  assertEquals(ah.disposed, true);
});

deviceTest("AddressHandle is kept through 200 sends that reuse the queue", async () => {
  using pair = udPair();
  const { left, pd, context } = pair;
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  let previous: AddressHandle | undefined;
  for (let i = 0; i < 200; i++) {
    const ah = new AddressHandle(pd, selfAddress(context));
    left.qp.postSend({ ah, remoteQpn: pair.right.qp.qpNum, remoteQkey: 1, wrId: i });
    previous?.close();
    previous = ah;
    if (i % 32 === 31) await waitFor(left.cq, 32);
  }
  previous!.close();
  await waitFor(left.cq, 200 % 32);
  assertSpyCalls(destroyed, 200);
});
