// Reply paths: who is answered, which handles are kept, and for how long.
import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import {
  AccessFlags,
  AddressHandle,
  type Context,
  Gid,
  Grh,
  initAhFromWc,
  MemoryRegion,
  ProtectionDomain,
  ReplyPath,
  SendRequests,
  VerbsError,
  type WcAddress,
  WcFlags,
  WcStatus,
  WorkCompletions,
} from "../../../mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { nonblocking, verbs } from "../../../ffi/library.ts";
import { viewOf } from "../../../types/completion/work_completions.ts";
import {
  deviceTest,
  type Family,
  gidOf,
  openRxe,
  type Pair,
  PORT,
  QKEY,
  selfAddress,
  udPair,
  until,
  waitFor,
} from "../setup.ts";
import { slowLink } from "../slow_link.ts";

const WC: WcAddress = { wcFlags: WcFlags.GRH, slid: 0, sl: 0, dlidPathBits: 0 };

/** The header of an IPv4 packet, as rxe leaves it. */
function ipv4Grh(from: string, to: string, tos = 0): Grh {
  const bytes = new Uint8Array(Grh.SIZE);
  bytes.set([0x45, tos, 0, 0, 0, 0, 0, 0, 64, 17], 20);
  bytes.set(Gid.parse(from).bytes.subarray(12), 32);
  bytes.set(Gid.parse(to).bytes.subarray(12), 36);
  return new Grh(bytes);
}

/** A packet from the device to itself: there is one peer for each type of service. */
function selfGrh(context: Context, tos = 0): Grh {
  const address = gidOf(context, "ipv4").gid.toString().replace("::ffff:", "");
  return ipv4Grh(address, address, tos);
}

/** Sends a datagram from the left end to the right one. */
function sendRight({ left, right, pd, context }: Pair, family: Family, offset = 0): void {
  using ah = new AddressHandle(pd, selfAddress(context, family));
  right.qp.postRecv({ wrId: BigInt(offset), sge: right.mr.slice(offset, 1024) });
  const sge = left.mr.slice(0, 8);
  left.qp.postSend({ sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
}

for (const family of ["ipv4", "ipv6", "link-local"] as const) {
  deviceTest(`ReplyPath.to() gives a handle that reaches the sender over ${family}`, async () => {
    using pair = udPair();
    const { left, right, pd, context } = pair;
    using path = new ReplyPath(pd, { port: PORT });
    sendRight(pair, family);
    const [wc] = await waitFor(right.cq);
    const grh = right.mr.grhAt(0);
    assertEquals(
      JSON.stringify(path.attr(wc!, grh)),
      JSON.stringify(initAhFromWc(context, PORT, wc!, grh)),
    );
    left.qp.postRecv({ sge: left.mr.slice(0, 1024) });
    const sge = right.mr.slice(2048, 4);
    right.qp.postSend({ sge, ah: path.to(wc!, grh), remoteQpn: wc!.srcQp, remoteQkey: QKEY });
    const completions = await waitFor(left.cq, 2);
    assertEquals(completions.map(({ status }) => status), [WcStatus.SUCCESS, WcStatus.SUCCESS]);
    await waitFor(right.cq);
  });
}

deviceTest("ReplyPath.toAt() and setAh() answer every packet of a poll", async () => {
  using pair = udPair();
  const { left, right, pd } = pair;
  using path = new ReplyPath(pd, { port: PORT });
  const batch = new WorkCompletions(8);
  const replies = new SendRequests({ capacity: 8 });
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

deviceTest("ReplyPath.toAt() reads a packet at any offset of a slice that starts anywhere", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  const batch = new WorkCompletions(2);
  const { size, fields } = structs.ibv_wc;
  viewOf(batch).setUint32(size + fields.wc_flags.offset, WcFlags.GRH, true);
  const mr = new MemoryRegion(pd, new Uint8Array(100), AccessFlags.LOCAL_WRITE);
  mr.bytes(13).set(selfGrh(context).bytes);
  const memory = mr.slice(10);
  assertStrictEquals(path.toAt(batch, 1, memory, 3), path.to(WC, selfGrh(context)));
  assertThrows(() => path.toAt(batch, 2, memory, 3), RangeError);
  assertThrows(() => path.toAt(batch, 1, memory, 60), RangeError);
  assertThrows(() => path.toAt(batch, 1, memory, -1), RangeError);
});

deviceTest("ReplyPath.to() makes one handle for each address", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  using created = spy(verbs(), "ibv_create_ah");
  const first = path.to(WC, selfGrh(context, 0));
  const second = path.to(WC, selfGrh(context, 4));
  assertNotStrictEquals(first, second);
  assertStrictEquals(path.to(WC, selfGrh(context, 0)), first);
  assertStrictEquals(path.to(WC, selfGrh(context, 4)), second);
  assertNotStrictEquals(path.to({ ...WC, sl: 1 }, selfGrh(context, 0)), first);
  assertEquals(path.size, 3);
  assertSpyCalls(created, 3);
});

deviceTest("ReplyPath.to() takes peers for one when only unreceived bytes differ", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  const { bytes } = selfGrh(context);
  const ah = path.to(WC, new Grh(bytes));
  bytes.set([0x01, 0x02, 0x03, 0x04]);
  assertStrictEquals(path.to(WC, new Grh(bytes)), ah);
});

const failures: [what: string, grh: (context: Context) => Grh | undefined, code: string][] = [
  ["a multicast packet", () => ipv4Grh("10.0.0.1", "239.0.0.1"), "EINVAL"],
  ["a packet to an address not of the device", () => ipv4Grh("10.0.0.1", "10.1.2.3"), "EINVAL"],
  ["bytes that are no header", () => new Grh(new Uint8Array(40)), "EPROTONOSUPPORT"],
  ["no GRH although the completion has one", () => undefined, "EPROTONOSUPPORT"],
];
for (const [what, make, code] of failures) {
  deviceTest(`ReplyPath fails as initAhFromWc() does when given ${what}`, async () => {
    using context = openRxe();
    using pd = new ProtectionDomain(context);
    using path = new ReplyPath(pd, { port: PORT });
    const grh = make(context);
    const expected = assertThrows(() => initAhFromWc(context, PORT, WC, grh), VerbsError);
    assertEquals(expected.code, code);
    const errors = [
      assertThrows(() => path.to(WC, grh), VerbsError),
      assertThrows(() => path.attr(WC, grh), VerbsError),
      await assertRejects(() => path.toAsync(WC, grh), VerbsError),
    ];
    for (const error of errors) assertEquals(error.message, expected.message);
    assertEquals(path.size, 0);
  });
}

deviceTest("ReplyPath.to() fails as new AddressHandle() does without a GRH on RoCE", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  const wc = { ...WC, wcFlags: 0, slid: 7 };
  const attr = path.attr(wc);
  assertEquals([attr.isGlobal, attr.dlid, attr.portNum], [false, 7, PORT]);
  const error = assertThrows(() => path.to(wc), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_create_ah", "EINVAL"]);
  assertEquals(path.size, 0);
});

deviceTest("ReplyPath closes the handle not asked for longest when it has too many", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT, maxPeers: 3 });
  const to = (peer: number): AddressHandle => path.to(WC, selfGrh(context, 4 * peer));
  const handles = [to(0), to(1), to(2)];
  to(0);
  to(3);
  assertEquals(handles.map(({ disposed }) => disposed), [false, true, false]);
  assertEquals(path.size, 3);
  assertNotStrictEquals(to(1), handles[1]);
  assertEquals(handles.map(({ disposed }) => disposed), [false, true, true]);
});

deviceTest("ReplyPath keeps a handle it gave up until its sends have completed", async () => {
  using pair = udPair();
  const { left, right, pd, context } = pair;
  using path = new ReplyPath(pd, { port: PORT, maxPeers: 1 });
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const ah = path.to(WC, selfGrh(context));
  right.qp.postRecv({ sge: right.mr.slice(0, 1024) });
  const sge = left.mr.slice(0, 8);
  left.qp.postSend({ sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  path.to(WC, selfGrh(context, 4));
  assertEquals(ah.disposed, true);
  assertSpyCalls(destroyed, 0);
  assertEquals((await waitFor(right.cq))[0]!.status, WcStatus.SUCCESS);
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 1);
});

deviceTest("ReplyPath.to() makes a new handle when the one it gave was disposed", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  path.to(WC, selfGrh(context)).close();
  assertEquals(path.to(WC, selfGrh(context)).disposed, false);
  assertEquals(path.size, 1);
});

for (const peers of [10, 1000, 10_000]) {
  deviceTest(`ReplyPath keeps the handles of ${peers} peers`, () => {
    using context = openRxe();
    using pd = new ProtectionDomain(context);
    using path = new ReplyPath(pd, { port: PORT, maxPeers: peers });
    const { bytes } = selfGrh(context);
    const grhOf = (peer: number): Grh => {
      bytes[21] = peer & 0xfc;
      bytes[28] = 1 + peer % 4 + 4 * (peer >> 8);
      return new Grh(bytes);
    };
    const handles = Array.from({ length: peers }, (_, peer) => path.to(WC, grhOf(peer)));
    assertEquals(path.size, peers);
    using created = spy(verbs(), "ibv_create_ah");
    for (const [peer, ah] of handles.entries()) assertStrictEquals(path.to(WC, grhOf(peer)), ah);
    assertSpyCalls(created, 0);
  });
}

deviceTest("ReplyPath.invalidate() has handles made anew, and leaves those given out open", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  const before = path.to(WC, selfGrh(context));
  path.invalidate();
  assertEquals(path.size, 0);
  assertEquals(before.disposed, false);
  assertNotStrictEquals(path.to(WC, selfGrh(context)), before);
});

/** A packet from the peer that cannot be resolved yet. */
const SLOW = ipv4Grh("10.9.0.77", "10.9.0.1");

deviceTest("ReplyPath.toAsync() leaves threads for files while no peer answers", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { port: PORT, maxPending: 1000 });
  using created = spy(nonblocking(), "ibv_create_ah");
  let settled = 0;
  const asked = Array.from({ length: 600 }, async (_, i) => {
    await assertRejects(() => path.toAsync({ ...WC, slid: i }, SLOW));
    settled++;
  });
  await Deno.readTextFile("/proc/self/status");
  // If the calls took all threads, nearly all of them would have to fail first.
  assert(settled < 300, "the file had to wait for peers");
  const started = created.calls.length;
  // 8 calls run at a time. When one of them has failed in this turn, the next one has started already.
  assert(started - settled <= 16);
  path.close();
  await Promise.all(asked);
  await Promise.allSettled(created.calls.map(({ returned }) => returned));
  assertSpyCalls(created, started);
});

deviceTest("ReplyPath.toAsync() asks once for a peer, and remembers no failure", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { port: PORT });
  using created = spy(nonblocking(), "ibv_create_ah");
  const ask = (): Promise<AddressHandle> => path.toAsync(WC, SLOW);
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
  assertStrictEquals(path.to(WC, SLOW), first);
  assertSpyCalls(created, 2);
});

deviceTest("ReplyPath.toAsync() ends one wait when its signal aborts", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { port: PORT });
  const controller = new AbortController();
  const aborted = path.toAsync(WC, SLOW, { signal: controller.signal });
  const other = path.toAsync(WC, SLOW);
  const reason = new Error("enough");
  controller.abort(reason);
  assertStrictEquals(await assertRejects(() => aborted), reason);
  link.answer();
  assertEquals((await other).disposed, false);
  const { signal } = controller;
  assertStrictEquals(await assertRejects(() => path.toAsync(WC, SLOW, { signal })), reason);
});

deviceTest("ReplyPath.toAsync() makes another handle when addresses change meanwhile", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { port: PORT });
  using created = spy(nonblocking(), "ibv_create_ah");
  const asking = path.toAsync(WC, SLOW);
  path.invalidate();
  link.answer();
  const ah = await asking;
  assertEquals(ah.disposed, false);
  assertSpyCalls(created, 2);
  assertEquals(path.size, 1);
});

deviceTest("ReplyPath.toAsync() gives what to() made meanwhile", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { port: PORT });
  const asking = path.toAsync(WC, SLOW);
  link.answer();
  const made = path.to(WC, SLOW);
  assertStrictEquals(await asking, made);
  assertEquals(path.size, 1);
});

deviceTest("ReplyPath.toAsync() rejects when the path is disposed meanwhile", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  const path = new ReplyPath(pd, { port: PORT });
  using created = spy(nonblocking(), "ibv_create_ah");
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const asking = path.toAsync(WC, SLOW);
  path.close();
  await assertRejects(() => asking, TypeError, "Cannot use reply path: it is disposed");
  link.answer();
  await created.calls[0]!.returned;
  await until("the late handle destroyed", () => destroyed.calls.length === 1);
});

for (const what of ["path", "pd", "context"] as const) {
  deviceTest(`ReplyPath and its handles are disposed when its ${what} is closed`, async () => {
    using context = openRxe();
    using pd = new ProtectionDomain(context);
    using path = new ReplyPath(pd, { port: PORT });
    const grh = selfGrh(context);
    const before = path.to(WC, grh);
    path.invalidate();
    const ah = path.to(WC, grh);
    const mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE);
    ({ path, pd, context })[what].close();
    assertEquals([path.disposed, before.disposed, ah.disposed], [true, true, true]);
    const batch = new WorkCompletions(1);
    const memory = mr;
    const uses: ((path: ReplyPath) => unknown)[] = [
      (path) => path.to(WC, grh),
      (path) => path.toAt(batch, 0, memory, 0),
      (path) => path.attr(WC, grh),
      (path) => path.writeAttr(new DataView(new ArrayBuffer(32)), 0, batch, 0, memory, 0),
      (path) => path.refresh(),
      (path) => path.invalidate(),
    ];
    for (const use of uses) {
      assertThrows(() => use(path), TypeError, "Cannot use reply path: it is disposed");
    }
    await assertRejects(() => path.toAsync(WC, grh), TypeError, "Cannot use reply path");
  });
}

deviceTest("new ReplyPath() refuses a port or a size that cannot be", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  assertThrows(() => new ReplyPath(pd, { port: 2 }), RangeError, "port 1 only");
  assertThrows(() => new ReplyPath(pd, { port: PORT, maxPeers: 0 }), RangeError, "maxPeers 0");
  using path = new ReplyPath(pd, { port: PORT });
  const grh = new Uint8Array(40) as unknown as Grh;
  assertThrows(() => path.to(WC, grh), TypeError, "it is not a Grh");
});
