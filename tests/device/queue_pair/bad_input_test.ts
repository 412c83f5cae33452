// What posting refuses, and how it tells.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  MemoryRegion,
  nameOf,
  ProtectionDomain,
  QpState,
  QpType,
  type QueuePair,
  RecvRequests,
  SendFlags,
  type SendRequest,
  SendRequests,
  VerbsError,
  WorkCompletionError,
  WrOpcode,
} from "../../../mod.ts";
import { connectedPair } from "./rc.ts";
import {
  deviceTest,
  makeEnd,
  openRxe,
  PORT,
  QKEY,
  selfAddress,
  udPair,
  waitFor,
} from "../setup.ts";

function postError(post: () => void): VerbsError {
  return assertThrows(post, VerbsError);
}

/** Sends on a queue pair of a single send and receive, whose size the device chooses. */
function sendsOf(qp: QueuePair, request: SendRequest, count: number): SendRequests {
  const requests = new SendRequests({ capacity: count });
  for (let i = 0; i < count; i++) requests.set(i, { ...request, wrId: BigInt(i) });
  assertEquals(qp.type, QpType.UD);
  return requests;
}

deviceTest(
  "QueuePair.postSend() tells which request found the queue full, and the ones before it go out",
  async () => {
    using pair = udPair();
    const { left, right } = pair;
    const ah: AddressHandle = new AddressHandle(pair.pd, selfAddress(pair.context));
    const target = { ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
    const room = left.qp.query().cap.maxSendWr;
    const requests = sendsOf(left.qp, { ...target, sge: left.mr.slice(0, 8) }, room + 64);
    const error = postError(() => left.qp.postSend(requests));
    assertEquals([error.verb, error.code], ["ibv_post_send", "ENOMEM"]);
    const posted = error.posted!;
    assertEquals(posted >= room && posted < room + 64, true);
    assertStringIncludes(error.message, `Cannot post send (request ${posted} of the list`);
    assertStringIncludes(error.hint!, "The queue is full");
    const sent = await waitFor(left.cq, posted);
    assertEquals(sent.map(({ wrId }) => wrId), Array.from({ length: posted }, (_, i) => BigInt(i)));
    assertEquals(left.cq.poll(), []);
  },
);

deviceTest("QueuePair.postRecv() tells which request found the queue full", () => {
  using pair = udPair();
  const { qp, mr } = pair.left;
  const requests = new RecvRequests({ capacity: 1000 });
  for (let i = 0; i < 1000; i++) requests.set(i, { sge: mr.slice(0, 64) });
  const error = postError(() => qp.postRecv(requests, 900, 100));
  assertEquals([error.verb, error.code], ["ibv_post_recv", "ENOMEM"]);
  const posted = error.posted!;
  assertEquals(posted >= qp.cap.maxRecvWr && posted < 900, true);
  assertEquals(postError(() => qp.postRecv(requests, 1, 0)).posted, 0);
});

deviceTest("QueuePair.postSend() names the state when it is wrong", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const { qp, mr } = makeEnd(pd, QpType.UD);
  const ah = new AddressHandle(pd, selfAddress(context));
  const error = postError(() =>
    qp.postSend({ sge: mr.slice(0, 8), ah, remoteQpn: 1, remoteQkey: QKEY })
  );
  // rxe finds that out when all requests are in the queue, and then names none of them
  assertEquals([error.code, error.posted], ["EINVAL", undefined]);
  assertStringIncludes(error.message, "Cannot post send: ibv_post_send gave EINVAL");
  assertStringIncludes(error.hint!, "The queue pair is in state RESET");
  const receive = postError(() => qp.postRecv({ sge: mr.slice(0, 64) }));
  assertEquals(receive.code, "EINVAL");
  qp.modify({ qpState: QpState.INIT, portNum: PORT, pkeyIndex: 0, qkey: QKEY });
  qp.postRecv({ sge: mr.slice(0, 64) });
});

deviceTest("QueuePair.postRecv() refuses a datagram buffer that cannot take the GRH", () => {
  using pair = udPair();
  const { qp, mr } = pair.left;
  const refused = "and on UD the GRH alone takes 40";
  assertThrows(() => qp.postRecv({ sge: mr.slice(0, 39) }), RangeError, refused);
  assertThrows(() => qp.postRecv({}), RangeError, "its buffer has 0 bytes");
  assertThrows(
    () => qp.postRecv({ sge: [mr.slice(0, 20), mr.slice(20, 19)] }),
    RangeError,
    "its buffer has 39 bytes",
  );
  qp.postRecv({ sge: [mr.slice(0, 20), mr.slice(20, 20)] });
});

deviceTest("QueuePair.postRecv() takes smaller buffers on a connected queue pair", () => {
  using pair = connectedPair();
  pair.left.qp.postRecv([{ sge: pair.left.mr.slice(0, 1) }, {}]);
});

deviceTest("QueuePair.postSend() and postRecv() refuse memory whose region is disposed", () => {
  using pair = connectedPair();
  const { left, pd } = pair;
  const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
  const sge = mr.slice(0, 100);
  const sends = new SendRequests({ capacity: 1 });
  const receives = new RecvRequests({ capacity: 1 });
  sends.set(0, { sge });
  receives.set(0, { sge });
  mr.close();
  const uses = [
    () => left.qp.postSend({ sge }),
    () => left.qp.postRecv({ sge }),
    () => left.qp.postSend(sends),
    () => left.qp.postRecv(receives),
    () => sends.setSge(0, sge),
  ];
  for (const use of uses) {
    assertThrows(use, TypeError, "Cannot use memory region: it is disposed");
  }
  assertEquals(left.cq.poll(), []);
});

deviceTest("A send from memory of another protection domain fails", async () => {
  using pair = udPair();
  using pd = new ProtectionDomain(pair.context);
  const { left, right } = pair;
  const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  const sge = new MemoryRegion(pd, 64, 0).slice(0, 8);
  left.qp.postSend({ wrId: 6n, sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  const [wc] = await waitFor(left.cq);
  assertEquals([wc!.wrId, wc!.ok], [6n, false]);
  assertThrows(() => wc!.check(), WorkCompletionError, "of the queue pair's protection domain");
});

deviceTest(
  "QueuePair.postSend() passes over regions that earlier requests used and that are gone",
  async () => {
    using pair = connectedPair();
    const { left, right, pd } = pair;
    const gone = new MemoryRegion(pd, 4096, 0);
    const prepared = new SendRequests({ capacity: 1, maxSge: 2 });
    const both = [left.mr.slice(0, 1), gone.slice(0, 1)];
    prepared.set(0, { sge: both });
    for (let i = 0; i < 3; i++) right.qp.postRecv({ sge: right.mr.slice(0, 8) });
    left.qp.postSend({ sge: both });
    (await waitFor(left.cq))[0]!.check();
    gone.close();
    prepared.setSge(0, left.mr.slice(0, 1));
    left.qp.postSend(prepared);
    left.qp.postSend({ sge: left.mr.slice(0, 1) });
    for (const wc of await waitFor(left.cq, 2)) wc.check();
  },
);

deviceTest("QueuePair.postSend() refuses opcodes that follow pointers of the caller", () => {
  using pair = connectedPair();
  for (const opcode of [WrOpcode.TSO, WrOpcode.DRIVER1, 99, -1, 0.5]) {
    assertThrows(
      () => pair.left.qp.postSend({ opcode: opcode as WrOpcode }),
      RangeError,
      `opcode ${nameOf(WrOpcode, opcode)} is not offered`,
    );
  }
});

deviceTest("QueuePair.postSend() refuses inline data that is no part of a region", () => {
  using pair = connectedPair();
  const { addr, lkey } = pair.left.mr;
  const sge = { addr, lkey, length: 8 };
  const sendFlags = SendFlags.INLINE;
  assertThrows(
    () => pair.left.qp.postSend({ sge, sendFlags }),
    TypeError,
    "the memory is not given as a slice of a memory region",
  );
});

deviceTest(
  "QueuePair.postSend() names the limit when there is more inline data than the queue pair allows",
  () => {
    using pair = connectedPair();
    const { qp, mr } = pair.left;
    const sge = mr.slice(0, 8192);
    assertThrows(
      () => qp.postSend({ sge, inline: true }),
      RangeError,
      `and the queue pair allows ${qp.cap.maxInlineData}`,
    );
  },
);

deviceTest(
  "QueuePair.postSend() refuses numbers out of range before native code is reached",
  () => {
    using pair = udPair();
    const { left } = pair;
    const ah = new AddressHandle(pair.pd, selfAddress(pair.context));
    const sge = left.mr.slice(0, 8);
    const request = { ah, sge, remoteQpn: 1, remoteQkey: 1 };
    const tooLarge: SendRequest[] = [
      { ...request, wrId: -1n },
      { ...request, wrId: 1n << 64n },
      { ...request, remoteQpn: 0x100_0000 },
      { ...request, remoteQkey: -1 },
      { ...request, immData: 2 ** 32 },
      { ...request, sendFlags: -1 },
      { ...request, sge: { addr: -1n, length: 1, lkey: 1 } },
      { ...request, sge: { addr: 1n, length: -1, lkey: 1 } },
      { ...request, sge: Array.from({ length: 65 }, () => sge) },
    ];
    for (const bad of tooLarge) assertThrows(() => left.qp.postSend(bad), RangeError);
    assertThrows(() => left.qp.postSend({ ...request, wrId: 0.5 }), TypeError);
    assertThrows(() => left.qp.postSend({ ...request, remoteQpn: NaN }), TypeError);
    assertEquals(left.cq.poll(), []);
  },
);

deviceTest("QueuePair.postSend() refuses a run that is not within the list", () => {
  using pair = udPair();
  const requests = new RecvRequests({ capacity: 4 });
  for (const [count, start] of [[5, 0], [1, 4], [0, 0], [1, -1], [NaN, 0], [2, 3]] as const) {
    assertThrows(() => pair.left.qp.postRecv(requests, count, start), RangeError);
  }
  assertThrows(() => requests.setWrId(4, 0n), RangeError, "there are 4");
  assertThrows(() => new SendRequests({ capacity: 0 }), RangeError);
});

deviceTest("RequestList.setLength() refuses a length beyond the memory region", () => {
  using pair = udPair();
  const { mr } = pair.left;
  const requests = new RecvRequests({ capacity: 1 });
  requests.set(0, { sge: mr.slice(mr.length - 100) });
  requests.setLength(0, 100);
  assertThrows(() => requests.setLength(0, 101), RangeError);
  assertThrows(() => requests.setLength(0, -1), RangeError);
});
