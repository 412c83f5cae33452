// Reply paths: who is answered, which handles are kept, and for how long.
import { assert, assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import {
  AddressHandle,
  type Context,
  Grh,
  ProtectionDomain,
  ReplyPath,
  SendRequestList,
  type VerbsError,
  WcStatus,
  WorkCompletions,
} from "../../../mod.ts";
import { nonblocking, verbs } from "../../../ffi/library.ts";
import {
  deviceTest,
  type Family,
  gidOf,
  ipv4Grh,
  openRxe,
  type Pair,
  PORT,
  QKEY,
  selfAddress,
  udPair,
  waitFor,
  WITH_GRH,
} from "../setup.ts";
import { slowLink } from "../slow_link.ts";

/** A packet from the device to itself: there is one peer for each type of service. */
function selfGrh(context: Context, tos = 0): Grh {
  const address = `${gidOf(context, "ipv4").gid}`;
  return ipv4Grh(address, address, tos);
}

/** Sends a datagram from the left end to the right one. */
function sendRight({ left, right, pd, context }: Pair, family: Family, offset = 0): void {
  using ah = new AddressHandle(pd, selfAddress(context, family));
  right.qp.postRecv({ wrId: BigInt(offset), sge: right.mr.slice(offset, 1024) });
  const sge = left.mr.slice(0, 8);
  left.qp.postSend({ sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
}

deviceTest("ReplyPath.toAt() and setAh() answer every packet of a poll", async () => {
  using pair = udPair();
  const { left, right, pd } = pair;
  using path = new ReplyPath(pd, { port: PORT });
  const batch = new WorkCompletions(8);
  const replies = new SendRequestList({ capacity: 8 });
  for (let i = 0; i < 8; i++) {
    left.qp.postRecv({ sge: left.mr.slice(1024 * i, 1024) });
    sendRight(pair, i % 2 === 0 ? "ipv4" : "ipv6", 1024 * i);
  }
  await waitFor(left.cq, 8);
  assertEquals(right.cq.pollInto(batch), 8);
  for (let i = 0; i < 8; i++) {
    const offset = batch.wrIdLow(i);
    const ah = path.toAt(batch, i, right.mr, offset);
    assertStrictEquals(ah, path.to(batch.at(i), right.mr.grhAt(offset)));
    const remoteQpn = batch.srcQp(i);
    const other = path.toAt(batch, 7 - i, right.mr, batch.wrIdLow(7 - i));
    replies.set(i, { sge: right.mr.slice(0, 4), ah: other, remoteQpn, remoteQkey: QKEY });
    path.setAh(replies, i, batch, i, right.mr.slice(offset, 1024), 0);
  }
  assertEquals(path.size, 2);
  right.qp.postSend(replies);
  const received = await waitFor(left.cq, 8);
  assert(received.every(({ status }) => status === WcStatus.SUCCESS));
  await waitFor(right.cq, 8);
});

deviceTest("ReplyPath.to() makes one handle for each address", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  using created = spy(verbs(), "ibv_create_ah");
  const first = path.to(WITH_GRH, selfGrh(context, 0));
  const second = path.to(WITH_GRH, selfGrh(context, 4));
  assertNotStrictEquals(first, second);
  assertStrictEquals(path.to(WITH_GRH, selfGrh(context, 0)), first);
  assertStrictEquals(path.to(WITH_GRH, selfGrh(context, 4)), second);
  assertNotStrictEquals(path.to({ ...WITH_GRH, sl: 1 }, selfGrh(context, 0)), first);
  const { bytes } = selfGrh(context);
  // These were not received.
  bytes.set([0x01, 0x02, 0x03, 0x04]);
  assertStrictEquals(path.to(WITH_GRH, new Grh(bytes)), first);
  assertEquals(path.size, 3);
  assertSpyCalls(created, 3);
});

deviceTest("ReplyPath keeps a handle it gave up until its sends have completed", async () => {
  using pair = udPair();
  const { left, right, pd, context } = pair;
  using path = new ReplyPath(pd, { port: PORT, maxPeers: 1 });
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const ah = path.to(WITH_GRH, selfGrh(context));
  right.qp.postRecv({ sge: right.mr.slice(0, 1024) });
  const sge = left.mr.slice(0, 8);
  left.qp.postSend({ sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  path.to(WITH_GRH, selfGrh(context, 4));
  assertEquals(ah.disposed, true);
  assertSpyCalls(destroyed, 0);
  assertEquals((await waitFor(right.cq))[0]!.status, WcStatus.SUCCESS);
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 1);
});

/** A packet from the peer that cannot be resolved yet. */
const SLOW = ipv4Grh("10.9.0.77", "10.9.0.1");

deviceTest("ReplyPath.toAsync() asks once for a peer, and remembers no failure", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { port: PORT });
  using created = spy(nonblocking(), "ibv_create_ah");
  const ask = (): Promise<AddressHandle> => path.toAsync(WITH_GRH, SLOW);
  const outcomes = await Promise.allSettled([ask(), ask()]);
  for (const outcome of outcomes) {
    assert(outcome.status === "rejected");
    assertEquals((outcome.reason as VerbsError).code, "ETIMEDOUT");
  }
  assertSpyCalls(created, 1);
  assertEquals(path.size, 0);
  link.answer();
  const [first, second] = await Promise.all([ask(), ask()]);
  assertStrictEquals(first, second);
  assertStrictEquals(path.to(WITH_GRH, SLOW), first);
  assertSpyCalls(created, 2);
});
