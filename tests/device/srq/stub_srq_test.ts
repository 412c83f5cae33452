// Extended reliable connections and shared receive queues on libmlx4.
import { assertEquals, assertThrows } from "@std/assert";
import {
  Mtu,
  OpenedQueuePair,
  QpState,
  QpType,
  QueuePair,
  SharedReceiveQueue,
  SrqType,
  VerbsError,
  XrcDomain,
} from "../../../mod.ts";
import { OpenDevice, waitFor } from "../setup.ts";
import { assertLastCall, deliverXrc, IB_PORT, openStub, STUB, stubTest } from "../stub.ts";

/** The stub with an XRC domain, and a shared receive queue of it. */
class Xrc extends OpenDevice {
  readonly xrcd = new XrcDomain(this.context);
  readonly srq = this.newSrq();

  constructor() {
    super(STUB);
  }

  newSrq(): SharedReceiveQueue {
    const { pd, cq, xrcd } = this;
    return new SharedReceiveQueue(pd, { maxWr: 16, srqType: SrqType.XRC, xrcd, cq });
  }
}

/** Takes a receiving queue pair of an extended reliable connection to RTR. */
function connect(qp: QueuePair | OpenedQueuePair): void {
  qp.modify({ qpState: QpState.INIT, portNum: IB_PORT, pkeyIndex: 0, qpAccessFlags: 0 });
  qp.modify({
    qpState: QpState.RTR,
    ahAttr: { portNum: IB_PORT, dlid: 1 },
    pathMtu: Mtu[1024],
    destQpNum: 1,
    rqPsn: 0,
    maxDestRdAtomic: 1,
    minRnrTimer: 12,
  });
}

stubTest("A message for an XRC target goes to the queue that it names", async () => {
  using xrc = new Xrc();
  const { pd, cq, xrcd, srq } = xrc;
  const other = xrc.newSrq();
  const mr = xrc.newMr();
  const receiver = new QueuePair(pd, { qpType: QpType.XRC_RECV, xrcd });
  assertEquals(srq.srqNum !== other.srqNum, true);
  connect(receiver);
  srq.postRecv({ wrId: 5, sge: mr.sge(0, 64) });
  other.postRecv({ wrId: 6, sge: mr.sge(64, 64) });
  deliverXrc(receiver.qpNum, other.srqNum, Uint8Array.of(1, 2, 3));
  const [received] = await waitFor(cq);
  assertEquals([received!.check().wrId, received!.byteLen], [6n, 3]);
  assertEquals([...mr.sge(64, 3).bytes], [1, 2, 3]);
});

stubTest("new OpenedQueuePair() shares a receiving queue pair of the domain", async () => {
  using xrc = new Xrc();
  const { pd, cq, xrcd, srq } = xrc;
  const mr = xrc.newMr();
  const made = new QueuePair(pd, { qpType: QpType.XRC_RECV, xrcd });
  const opened = new OpenedQueuePair({ xrcd, qpNum: made.qpNum });
  assertEquals([opened.qpNum, opened.qpType], [made.qpNum, QpType.XRC_RECV]);
  connect(opened);
  made.close();
  srq.postRecv({ wrId: 1, sge: mr.sge(0, 64) });
  deliverXrc(opened.qpNum, srq.srqNum, Uint8Array.of(9));
  assertEquals((await waitFor(cq))[0]!.check().wrId, 1n);
  const error = assertThrows(() => new OpenedQueuePair({ xrcd, qpNum: 0x123456 }), VerbsError);
  assertEquals(error.verb, "ibv_open_qp");
});

stubTest("A sending queue pair of an extended reliable connection goes to RTS", () => {
  using xrc = new Xrc();
  const { pd, cq } = xrc;
  const qp = new QueuePair(pd, { qpType: QpType.XRC_SEND, sendCq: cq, cap: { maxSendWr: 4 } });
  qp.init({ portNum: IB_PORT });
  const { transport: _, ...address } = qp.address;
  qp.activateRc({ ...address, transport: "XRC_RECV" });
  assertEquals(qp.state, QpState.RTS);
  assertLastCall("modify_qp", { ret: 0 });
});

stubTest("QueuePair.modify() sets an alternative path, which query() reports", () => {
  using stub = openStub();
  const qp = stub.newQp(QpType.RC);
  qp.init({ portNum: IB_PORT });
  qp.activateRc({ ...qp.address });
  const altAhAttr = { portNum: IB_PORT, dlid: 0x77, sl: 2 };
  qp.modify({
    qpState: QpState.RTS,
    altAhAttr,
    altPkeyIndex: 0,
    altPortNum: IB_PORT,
    altTimeout: 13,
  });
  const { attr } = qp.query();
  assertEquals([attr.altAhAttr.dlid, attr.altAhAttr.sl, attr.altTimeout], [0x77, 2, 13]);
  assertEquals([attr.altPortNum, attr.ahAttr.dlid !== 0x77], [IB_PORT, true]);
});
