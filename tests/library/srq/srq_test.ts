// Shared receive queues, XRC domains, tag matching, and the queue pairs that use them.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  OpenedQueuePair,
  OpsFlags,
  OpsWrOpcode,
  QpState,
  QpType,
  QueuePair,
  RecvRequestList,
  SharedReceiveQueue,
  SrqType,
  VerbsError,
  WrOpcode,
  XrcDomain,
} from "../../../mod.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { openWhole, testsOn } from "../recorded.ts";
import { assertRefused, bad, fieldsOf } from "../refusals.ts";

const { BASIC, TM } = SrqType;
const { RC, XRC_RECV, XRC_SEND } = QpType;
const { TAG_ADD, TAG_DEL, TAG_SYNC } = OpsWrOpcode;

const on = testsOn(openWhole);

on.test("new SharedReceiveQueue() makes a basic queue with ibv_create_srq", ({ pd }) => {
  const srq = new SharedReceiveQueue(pd, { maxWr: 7 });
  assertEquals([srq.maxWr, srq.maxSge, srq.srqType], [7, 1, BASIC]);
  new SharedReceiveQueue(pd, { maxWr: 7, srqType: BASIC });
  const verbs = recorder.take().map(({ verb }) => verb);
  assertEquals(verbs, ["ibv_create_srq", "ibv_create_srq"]);
});

on.test("SharedReceiveQueue.srqNum is that of the device", ({ pd, cq }) => {
  new SharedReceiveQueue(pd, { maxWr: 7 });
  const tmCap = { maxNumTags: 5, maxOps: 6 };
  assertEquals(new SharedReceiveQueue(pd, { maxWr: 7, srqType: TM, cq, tmCap }).srqNum, 0x101);
});

on.test("SharedReceiveQueue.postRecv() posts objects and runs of prepared lists", ({ mr, pd }) => {
  const srq = new SharedReceiveQueue(pd, { maxWr: 16 });
  const list = new RecvRequestList({ capacity: 4 });
  for (let i = 0; i < 4; i++) list.set(i, { wrId: i, sge: mr.sge(i, 1) });
  recorder.take();
  srq.postRecv({ wrId: 9 });
  srq.postRecv(list, 1, 2);
  const posts = recorder.takeOf("ibv_post_srq_recv");
  const ids = posts.map(({ args }) =>
    Object.entries(args).filter(([name]) => /^recv_wr\[\d+\]$|^wr\[\d+\]$/.test(name))
      .map(([, wr]) => (wr as RecordedStruct).fields.wr_id)
  );
  assertEquals(ids, [[9n], [1n, 2n]]);
  recorder.answerBytes("ibv_post_srq_recv", new Uint8Array(Uint32Array.of(1).buffer));
  recorder.fail("ibv_post_srq_recv", "ENOMEM");
  const error = assertThrows(() => srq.postRecv(list, 1, 3), VerbsError);
  assertEquals([error.verb, error.posted], ["ibv_post_srq_recv", 1]);
  mr.close();
  assertThrows(() => srq.postRecv(list), TypeError, "memory region: it is disposed");
});

on.test("SharedReceiveQueue.postOps() compares whole tags unless asked otherwise", (parts) => {
  const { pd, cq, mr } = parts;
  const tmCap = { maxNumTags: 5, maxOps: 6 };
  const srq = new SharedReceiveQueue(pd, { maxWr: 7, srqType: TM, cq, tmCap });
  srq.postOps({ opcode: TAG_ADD, tag: 3, sge: [mr.sge(8, 16), mr.sge(32, 4)] });
  srq.postOps({ opcode: TAG_ADD, tag: 1n << 63n, mask: 0xff });
  const calls = recorder.takeOf("ibv_post_srq_ops");
  const elements = (calls[0]!.args["op[0].sg_list"] as RecordedStruct).elements;
  assertEquals(elements.map(({ addr, length }) => [addr, length]), [["mr0+8", 16], ["mr0+32", 4]]);
  const found = calls.map(({ args }) => {
    const { fields } = args["op[0]"] as RecordedStruct;
    return { tag: fields["tm.add.tag"], mask: fields["tm.add.mask"], flags: fields.flags };
  });
  const flags = OpsFlags.SIGNALED;
  assertEquals(found, [
    { tag: 3n, mask: 0xffff_ffff_ffff_ffffn, flags },
    { tag: 1n << 63n, mask: 0xffn, flags },
  ]);
});

on.test("SharedReceiveQueue.postOps() refuses what does not go together", ({ pd, mr }) => {
  const srq = new SharedReceiveQueue(pd, { maxWr: 7 });
  const gone = mr.sge(0, 8);
  mr.close();
  const post = (op: object) => () => srq.postOps(bad(op));
  const other = "its opcode has no attribute";
  assertRefused(
    [post({ opcode: 9 }), RangeError, "opcode 9"],
    [post({ opcode: TAG_DEL }), TypeError, "handle is missing"],
    [post({ opcode: TAG_DEL, handle: 1, tag: 1 }), TypeError, `${other} tag`],
    [post({ opcode: TAG_SYNC, handle: 1 }), TypeError, `${other} handle`],
    [post({ opcode: TAG_ADD, tag: 1, flags: 8 }), RangeError, "flags 8"],
    [post({ opcode: TAG_ADD, tag: 1, sge: gone }), TypeError, "memory region: it is disposed"],
  );
});

on.test("new QueuePair() with a shared receive queue has none of its own", ({ pd, cq }) => {
  const srq = new SharedReceiveQueue(pd, { maxWr: 4 });
  const init = { qpType: RC, sendCq: cq, recvCq: cq, srq, cap: { maxSendWr: 1 } };
  const qp = new QueuePair(pd, init);
  // C ignores these sizes.
  const same = new QueuePair(pd, { ...init, cap: { maxSendWr: 1, maxRecvWr: 9, maxRecvSge: 2 } });
  for (const one of [qp, same]) {
    assertRefused([
      () => one.postRecv({}),
      TypeError,
      "of its own; post it to the shared one: srq.postRecv()",
    ]);
  }
  srq.close();
  assertEquals([qp.disposed, recorder.live("qp"), recorder.violations()], [true, 0, []]);
});

on.test("The two sides of an extended connection have one queue each, and XRC_RECV its domain", (made) => {
  const { context, pd, cq } = made;
  const xrcd = new XrcDomain(context);
  const receiver = new QueuePair(pd, { qpType: XRC_RECV, xrcd });
  const sender = new QueuePair(pd, { qpType: XRC_SEND, sendCq: cq, cap: { maxSendWr: 4 } });
  assertRefused(
    [() => receiver.postRecv({}), TypeError, "no receive queue"],
    [() => receiver.postSend({}), TypeError, "no send queue"],
    [() => sender.postSend({}), TypeError, "XRC_SEND queue pair it needs remoteSrqn"],
  );
  sender.postSend({ opcode: WrOpcode.RDMA_WRITE, remoteAddr: 0, rkey: 1 });
  receiver.init({ portNum: 1, qpAccessFlags: 0 });
  assertEquals(receiver.state, QpState.INIT);
  xrcd.close();
  assertEquals([receiver.disposed, sender.disposed], [true, false]);
});

on.test("new QueuePair() refuses parts that an extended connection does not have", (made) => {
  const { context, pd, cq } = made;
  const xrcd = new XrcDomain(context);
  const srq = new SharedReceiveQueue(pd, { maxWr: 4 });
  const cap = { maxSendWr: 1 };
  const make = (qpType: number, init: object) => () => new QueuePair(pd, bad({ qpType, ...init }));
  assertRefused(
    [make(XRC_RECV, {}), TypeError, "XRC_RECV needs xrcd"],
    [make(XRC_RECV, { xrcd, sendCq: cq }), TypeError, "XRC_RECV has no send queue"],
    [make(XRC_RECV, { xrcd, srq }), TypeError, "XRC_RECV has no receive queue"],
    [make(XRC_SEND, { cap }), TypeError, "XRC_SEND needs sendCq"],
    [make(XRC_SEND, { sendCq: cq }), TypeError, "cap.maxSendWr is missing"],
    [make(XRC_SEND, { sendCq: cq, recvCq: cq, cap }), TypeError, "has no receive queue"],
    [make(XRC_SEND, { sendCq: cq, xrcd, cap }), TypeError, "and other types have none"],
  );
});

on.test("new OpenedQueuePair() makes a queue pair that its XRC domain closes", ({ context }) => {
  const xrcd = new XrcDomain(context);
  const qp = new OpenedQueuePair({ xrcd, qpNum: 0x1234 });
  assertEquals(fieldsOf("ibv_open_qp").qp_num, 0x1234);
  qp.modify({ qpState: QpState.INIT });
  xrcd.close();
  assertEquals([qp.disposed, recorder.violations()], [true, []]);
});
