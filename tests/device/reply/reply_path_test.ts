// Reply paths: who is answered, which handles are kept, and for how long.
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import {
  AddressHandle,
  ReplyPath,
  SendRequestList,
  WcStatus,
  WorkCompletionList,
} from "../../../mod.ts";
import {
  deviceTest,
  type Family,
  type Pair,
  PORT,
  QKEY,
  selfAddress,
  udPair,
  waitFor,
} from "../setup.ts";

/** Sends a datagram from the left end to the right one. */
function sendRight({ left, right, pd, context }: Pair, family: Family, offset = 0): void {
  using ah = new AddressHandle(pd, selfAddress(context, family));
  right.qp.postRecv({ wrId: BigInt(offset), sge: right.mr.sge(offset, 1024) });
  const sge = left.mr.sge(0, 8);
  left.qp.postSend({ sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
}

deviceTest("ReplyPath.toAt() answers every packet of a poll", async () => {
  using pair = udPair();
  const { left, right, pd } = pair;
  using path = new ReplyPath(pd, { portNum: PORT });
  const batch = new WorkCompletionList(8);
  const replies = new SendRequestList({ capacity: 8 });
  for (let i = 0; i < 8; i++) {
    left.qp.postRecv({ sge: left.mr.sge(1024 * i, 1024) });
    sendRight(pair, i % 2 === 0 ? "ipv4" : "ipv6", 1024 * i);
  }
  await waitFor(left.cq, 8);
  assertEquals(right.cq.pollInto(batch), 8);
  for (let i = 0; i < 8; i++) {
    const offset = batch.wrIdLow(i);
    const ah = path.toAt(batch, i, right.mr, offset);
    assertStrictEquals(ah, path.to(batch.at(i), right.mr.grhAt(offset)));
    const remoteQpn = batch.srcQp(i);
    path.toAt(batch, 7 - i, right.mr, batch.wrIdLow(7 - i));
    replies.set(i, { sge: right.mr.sge(0, 4), remoteQpn, remoteQkey: QKEY });
    replies.setAh(i, path.toAt(batch, i, right.mr.sge(offset, 1024), 0));
  }
  assertEquals(path.size, 2);
  right.qp.postSend(replies);
  const received = await waitFor(left.cq, 8);
  assert(received.every(({ status }) => status === WcStatus.SUCCESS));
  await waitFor(right.cq, 8);
});
