// Queue pairs that connect by the addresses they give each other.
import { assertEquals } from "@std/assert";
import { AccessFlags, QpState, QpType, WcStatus, WrOpcode } from "../../../mod.ts";
import { deviceTest, gidOf, makeEnd, pairOf, PORT, waitFor } from "../setup.ts";

const qpAccessFlags = AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_READ |
  AccessFlags.REMOTE_ATOMIC;

for (const name of ["RC", "UC"] as const) {
  deviceTest(`Two ${name} queue pairs connect by addresses that went through JSON`, async () => {
    using pair = pairOf((pd) => makeEnd(pd, QpType[name]));
    const { left, right, context } = pair;
    const { gidIndex } = gidOf(context, "ipv4");
    for (const { qp } of [left, right]) qp.init({ portNum: PORT, gidIndex, qpAccessFlags });
    right.qp.postRecv({ wrId: 4, sge: right.mr.sge(0, 8) });
    for (const [mine, peer] of [[left.qp, right.qp], [right.qp, left.qp]] as const) {
      const address = JSON.parse(JSON.stringify(peer.address));
      if (name === "RC") mine.activateRc(address);
      else mine.activateUc(address);
    }
    left.mr.sge(0, 8).bytes.fill(7);
    left.qp.postSend({ wrId: 3, sge: left.mr.sge(0, 8) });
    assertEquals((await waitFor(left.cq))[0]!.check().wrId, 3n);
    assertEquals((await waitFor(right.cq))[0]!.check().wrId, 4n);
    assertEquals(right.mr.sge(0, 8).bytes, new Uint8Array(8).fill(7));
    const remoteAddr = right.mr.addr + 64n;
    const opcode = WrOpcode.RDMA_WRITE;
    left.qp.postSend({ opcode, sge: left.mr.sge(0, 8), remoteAddr, rkey: right.mr.rkey });
    (await waitFor(left.cq))[0]!.check();
  });
}

deviceTest("QueuePair.activateRc() notices by its defaults that the peer is gone", async () => {
  using pair = pairOf((pd) => makeEnd(pd, QpType.RC));
  const { left, right, context } = pair;
  const { gidIndex } = gidOf(context, "ipv4");
  for (const { qp } of [left, right]) qp.init({ portNum: PORT, gidIndex });
  left.qp.activateRc(right.qp.address);
  right.qp.close();
  left.qp.postSend({ sge: left.mr.sge(0, 8) });
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.RETRY_EXC_ERR);
});

deviceTest("QueuePair.activateRc() sets what QueuePair.query() then reports", () => {
  using pair = pairOf((pd) => makeEnd(pd, QpType.RC));
  const { left: { qp }, right, context } = pair;
  const { gidIndex } = gidOf(context, "ipv4");
  for (const end of [qp, right.qp]) end.init({ portNum: PORT, gidIndex, qpAccessFlags });
  qp.activateRc(right.qp.address, { timeout: 10, retryCnt: 3, rnrRetry: 2, minRnrTimer: 5 });
  const { attr } = qp.query();
  const { psn } = qp.address;
  const peer = right.qp.address;
  assertEquals(attr.qpState, QpState.RTS);
  assertEquals([attr.destQpNum, attr.rqPsn, attr.sqPsn], [peer.qpNum, peer.psn, psn]);
  assertEquals([attr.timeout, attr.retryCnt, attr.rnrRetry, attr.minRnrTimer], [10, 3, 2, 5]);
  const limit = context.queryDevice().maxQpRdAtom;
  assertEquals([attr.maxDestRdAtomic, peer.rdAtomic], [limit, limit]);
  assertEquals(attr.qpAccessFlags & qpAccessFlags, qpAccessFlags);
});
