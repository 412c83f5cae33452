// An address handle outlives the sends that use it. The library tests have each way in which sends end.
import { assertEquals } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { WcStatus } from "../../../mod.ts";
import { verbs } from "../../../ffi/library.ts";
import { deviceTest, udPair, waitFor } from "../setup.ts";

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

deviceTest("ProtectionDomain.close() takes handles of sends under way with it", () => {
  using pair = udPair();
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const { ah } = pair;
  pair.left.qp.postSend([pair.toRight, pair.toRight]);
  pair.pd.close();
  assertSpyCalls(destroyed, 1);
  assertEquals(ah.disposed, true);
});
