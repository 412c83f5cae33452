// Completions of before a reset, which stay in the completion queue.
import { assertEquals } from "@std/assert";
import { AddressHandle, QpState } from "../../../mod.ts";
import { deviceTest, PORT, QKEY, selfAddress, udPair, until, waitFor } from "../setup.ts";

deviceTest("Completions of before a reset are not taken for those of later sends", async () => {
  using pair = udPair();
  const { left, right, pd, context } = pair;
  const send = (ah: AddressHandle, wrId: number): void => {
    const target = { ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
    left.qp.postSend({ ...target, wrId, sge: left.mr.slice(0, 8) });
  };
  const old = new AddressHandle(pd, selfAddress(context));
  for (const wrId of [1, 2]) send(old, wrId);
  // The completions are there when those of a later send on the other queue pair are.
  right.qp.postSend({
    sge: right.mr.slice(0, 8),
    ah: old,
    remoteQpn: left.qp.qpNum,
    remoteQkey: QKEY,
  });
  (await waitFor(right.cq))[0]!.check();
  left.qp.modify({ qpState: QpState.RESET });
  left.qp.activateUd({ port: PORT, qkey: QKEY });
  const ah = new AddressHandle(pd, selfAddress(context));
  send(ah, 3);
  ah.close();
  const found: bigint[] = [];
  await until("the last completion is polled", () => {
    found.push(...left.cq.poll(1).map((wc) => wc.check().wrId));
    return found.at(-1) === 3n;
  });
  // If the handle had gone with an earlier completion, the send would have failed.
  assertEquals(found, [1n, 2n, 3n]);
});
