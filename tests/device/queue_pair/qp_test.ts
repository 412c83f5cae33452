// Queue pairs: making them, their states, and what the device tells of them.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessFlags,
  CompletionQueue,
  Gid,
  Mtu,
  ProtectionDomain,
  QpAttrMask,
  QpState,
  QpType,
  QueuePair,
  VerbsError,
} from "../../../mod.ts";
import { connect, connectedPair, REMOTE_ACCESS } from "./rc.ts";
import {
  countOf,
  deviceTest,
  makeEnd,
  openRxe,
  PORT,
  QKEY,
  selfAddress,
  udPair,
} from "../setup.ts";

/** Calls back with a queue pair in state RESET. */
function withQp(type: QpType, use: (qp: QueuePair) => void): void {
  using context = openRxe();
  use(makeEnd(new ProtectionDomain(context), type).qp);
}

function states(qp: QueuePair): QpState[] {
  return [qp.state, qp.query().attr.qpState];
}

for (const name of ["RC", "UC", "UD"] as const) {
  deviceTest(`new QueuePair() makes a ${name} queue pair in state RESET`, () => {
    using context = openRxe();
    using pd = new ProtectionDomain(context);
    using cq = new CompletionQueue(context, { cqe: 8 });
    const before = countOf("qp");
    const cap = { maxSendWr: 5, maxRecvWr: 7, maxSendSge: 2, maxRecvSge: 3, maxInlineData: 16 };
    const qp = new QueuePair(pd, {
      type: QpType[name],
      sendCq: cq,
      recvCq: cq,
      cap,
      sqSigAll: true,
    });
    assertEquals(countOf("qp"), before + 1);
    assertEquals([qp.type, qp.pd], [QpType[name], pd]);
    const { attr, cap: queried, sqSigAll } = qp.query();
    assertEquals(states(qp), [QpState.RESET, QpState.RESET]);
    for (const [limit, asked] of Object.entries(cap)) {
      const key = limit as keyof typeof cap;
      assert(qp.cap[key] >= asked, limit);
      assert(queried[key] >= qp.cap[key], limit);
      assertEquals(attr.cap[key], queried[key], limit);
    }
    assertEquals(sqSigAll, true);
    qp.close();
    assertEquals(countOf("qp"), before);
  });
}

deviceTest(
  "new QueuePair() gives one element and no inline data when those are left out",
  () => {
    using context = openRxe();
    using pd = new ProtectionDomain(context);
    using cq = new CompletionQueue(context, { cqe: 8 });
    const cap = { maxSendWr: 1, maxRecvWr: 1 };
    using qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
    assert(qp.cap.maxSendSge >= 1 && qp.cap.maxRecvSge >= 1);
    assertEquals(qp.query().sqSigAll, false);
  },
);

deviceTest("new QueuePair() tells the device's limits when asked for more", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 8 });
  const { maxQpWr, maxSge } = context.queryDevice();
  const small = { maxSendWr: 1, maxRecvWr: 1 };
  const tooMuch = [
    { maxSendWr: 0xffff_ffff },
    { maxRecvWr: 0xffff_ffff },
    { maxSendSge: 65535 },
    { maxRecvSge: maxSge + 1 },
    { maxSendWr: maxQpWr + 1 },
  ];
  for (const more of tooMuch) {
    const cap = { ...small, ...more };
    const make = () => new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
    const error = assertThrows(make, VerbsError);
    assertEquals([error.verb, error.code], ["ibv_create_qp", "EINVAL"]);
    assertStringIncludes(error.hint!, `allows ${maxQpWr} work requests, ${maxSge} scatter/gather`);
  }
});

deviceTest("new QueuePair() says that the device lacks a transport", () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 8 });
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const type = QpType.RAW_PACKET;
  const error = assertThrows(
    () => new QueuePair(pd, { type, sendCq: cq, recvCq: cq, cap }),
    VerbsError,
  );
  assert(error.notSupported, error.message);
  assertStringIncludes(error.message, "Cannot create queue pair (RAW_PACKET, maxSendWr 1");
});

deviceTest(
  "new QueuePair() refuses bad arguments before native code is reached",
  () => {
    using context = openRxe();
    using other = openRxe();
    using pd = new ProtectionDomain(context);
    using cq = new CompletionQueue(context, { cqe: 8 });
    using foreign = new CompletionQueue(other, { cqe: 8 });
    const disposed = new CompletionQueue(context, { cqe: 8 });
    disposed.close();
    const init = { type: QpType.UD, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } };
    assertThrows(
      () => new QueuePair(pd, { ...init, sendCq: foreign }),
      TypeError,
      "sendCq belongs to another context",
    );
    assertThrows(
      () => new QueuePair(pd, { ...init, recvCq: foreign }),
      TypeError,
      "recvCq belongs to another context",
    );
    assertThrows(
      () => new QueuePair(pd, { ...init, recvCq: disposed }),
      TypeError,
      "it is disposed",
    );
    assertThrows(
      () => new QueuePair(pd, { ...init, cap: { maxSendWr: -1 } }),
      RangeError,
      "maxSendWr",
    );
    assertThrows(() => new QueuePair(pd, { ...init, cap: { maxSendWr: 1.5 } }), TypeError);
  },
);

deviceTest("QueuePair.activateUd() leads from RESET to RTS", () => {
  withQp(QpType.UD, (qp) => {
    qp.activateUd({ port: PORT, qkey: QKEY, pkeyIndex: 0, sqPsn: 0xabcdef });
    assertEquals(states(qp), [QpState.RTS, QpState.RTS]);
    const { attr } = qp.query();
    assertEquals([attr.qkey, attr.sqPsn, attr.portNum], [QKEY, 0xabcdef, PORT]);
  });
});

deviceTest("QueuePair.modify() takes a UD queue pair through its states one by one", () => {
  withQp(QpType.UD, (qp) => {
    qp.modify({ qpState: QpState.INIT, portNum: PORT, pkeyIndex: 0, qkey: QKEY });
    assertEquals(states(qp), [QpState.INIT, QpState.INIT]);
    qp.modify({ qpState: QpState.RTR });
    assertEquals(states(qp), [QpState.RTR, QpState.RTR]);
    qp.modify({ qpState: QpState.RTS, sqPsn: 1 });
    assertEquals(states(qp), [QpState.RTS, QpState.RTS]);
    qp.modify({ qpState: QpState.ERR });
    assertEquals(states(qp), [QpState.ERR, QpState.ERR]);
    qp.modify({ qpState: QpState.RESET });
    assertEquals(states(qp), [QpState.RESET, QpState.RESET]);
    qp.activateUd({ port: PORT, qkey: 5 });
    assertEquals(qp.query().attr.qkey, 5);
  });
});

deviceTest("QueuePair.modify() changes the qkey of a UD queue pair that is up", () => {
  withQp(QpType.UD, (qp) => {
    qp.activateUd({ port: PORT, qkey: QKEY });
    qp.modify({ qkey: 0x2222_2222 });
    assertEquals(qp.query(QpAttrMask.QKEY).attr.qkey, 0x2222_2222);
    assertEquals(qp.state, QpState.RTS);
  });
});

deviceTest("QueuePair.modify() takes an RC queue pair up with every attribute as given", () => {
  using pair = connectedPair();
  const { left, right } = pair;
  const { attr } = left.qp.query();
  const { dgid, sgidIndex, hopLimit } = selfAddress(pair.context).grh!;
  assertEquals(attr.qpState, QpState.RTS);
  assertEquals([attr.pathMtu, attr.destQpNum], [Mtu[1024], right.qp.qpNum]);
  assertEquals([attr.rqPsn, attr.sqPsn], [100, 100]);
  assertEquals([attr.maxDestRdAtomic, attr.maxRdAtomic, attr.minRnrTimer], [16, 16, 12]);
  assertEquals([attr.timeout, attr.retryCnt, attr.rnrRetry], [14, 7, 7]);
  assertEquals(attr.qpAccessFlags & REMOTE_ACCESS, REMOTE_ACCESS);
  const { ahAttr } = attr;
  assertEquals(ahAttr.grh.dgid.toString(), dgid.toString());
  assertEquals([ahAttr.isGlobal, ahAttr.portNum], [true, PORT]);
  assertEquals(ahAttr.grh.sgidIndex, sgidIndex);
  assert(ahAttr.grh.hopLimit === hopLimit || ahAttr.grh.hopLimit > 0);
});

function transitionError(qp: QueuePair, attr: Parameters<QueuePair["modify"]>[0]): VerbsError {
  const before = states(qp);
  const error = assertThrows(() => qp.modify(attr), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_modify_qp", "EINVAL"]);
  assertEquals(states(qp), before);
  return error;
}

deviceTest("QueuePair.modify() names the order of states when one is left out", () => {
  withQp(QpType.UD, (qp) => {
    const skipped = transitionError(qp, { qpState: QpState.RTS, sqPsn: 0 });
    assertEquals(
      skipped.hint,
      "A queue pair cannot go from RESET to RTS: it goes from RESET to INIT, RTR and RTS",
    );
    const unused = transitionError(qp, { qpState: QpState.ERR });
    assertStringIncludes(unused.hint!, "cannot go from RESET to ERR");
    qp.activateUd({ port: PORT, qkey: QKEY });
    const back = transitionError(qp, { qpState: QpState.RTR });
    assertStringIncludes(back.hint!, "cannot go from RTS to RTR");
  });
});

deviceTest("QueuePair.modify() names the attributes that a UD transition lacks", () => {
  withQp(QpType.UD, (qp) => {
    const init = transitionError(qp, { qpState: QpState.INIT, portNum: PORT });
    assertEquals(init.hint, "RESET to INIT also needs pkeyIndex, qkey");
    qp.modify({ qpState: QpState.INIT, portNum: PORT, pkeyIndex: 0, qkey: QKEY });
    qp.modify({ qpState: QpState.RTR });
    const rts = transitionError(qp, { qpState: QpState.RTS });
    assertEquals(rts.hint, "RTR to RTS also needs sqPsn");
  });
});

deviceTest("QueuePair.modify() names the attributes that an RC transition lacks", () => {
  using context = openRxe();
  const { qp } = makeEnd(new ProtectionDomain(context), QpType.RC);
  const init = transitionError(qp, { qpState: QpState.INIT });
  assertEquals(init.hint, "RESET to INIT also needs pkeyIndex, portNum, qpAccessFlags");
  qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: PORT, qpAccessFlags: 0 });
  const rtr = transitionError(qp, { qpState: QpState.RTR, pathMtu: Mtu[256], destQpNum: 1 });
  assertEquals(
    rtr.hint,
    "INIT to RTR also needs ahAttr, rqPsn, maxDestRdAtomic, minRnrTimer",
  );
  qp.modify({
    qpState: QpState.RTR,
    pathMtu: Mtu[256],
    destQpNum: 1,
    rqPsn: 0,
    ahAttr: selfAddress(context),
    maxDestRdAtomic: 1,
    minRnrTimer: 1,
  });
  const rts = transitionError(qp, { qpState: QpState.RTS, sqPsn: 0 });
  assertEquals(rts.hint, "RTR to RTS also needs timeout, retryCnt, rnrRetry, maxRdAtomic");
});

deviceTest("QueuePair.modify() names the peer that there is no route to", () => {
  using context = openRxe();
  const { qp } = makeEnd(new ProtectionDomain(context), QpType.RC);
  const { grh } = selfAddress(context, "ipv6");
  const dgid = Gid.parse("2001:db8::9");
  const error = assertThrows(
    () => connect(qp, 1, { portNum: PORT, grh: { ...grh!, dgid } }),
    VerbsError,
  );
  assertEquals(error.code, "ENETUNREACH");
  assertStringIncludes(error.hint!, "has no route to 2001:db8::9");
});

deviceTest("QueuePair.modify() refuses what C cannot take before native code is reached", () => {
  withQp(QpType.UD, (qp) => {
    const init = { qpState: QpState.INIT, portNum: PORT, pkeyIndex: 0, qkey: QKEY };
    assertThrows(() => qp.modify({ ...init, portNum: 2 }), RangeError, "Cannot use port 2");
    assertThrows(() => qp.modify({ ...init, portNum: 256 }), RangeError);
    assertThrows(() => qp.modify({ ...init, qkey: 2 ** 32 }), RangeError, "qkey");
    assertThrows(() => qp.modify({ ...init, qkey: NaN }), TypeError, "qkey");
    assertThrows(() => qp.modify({ qpState: 9 as QpState }), RangeError, "qpState");
    assertThrows(() => qp.modify({ sqPsn: 2 ** 24 }), RangeError, "sqPsn");
    assertThrows(() => qp.activateUd({ port: 0, qkey: QKEY }), RangeError, "Cannot use port 0");
    assertEquals(states(qp), [QpState.RESET, QpState.RESET]);
  });
});

deviceTest("QueuePair.modify() gives the access flags that query() then tells", () => {
  withQp(QpType.RC, (qp) => {
    const qpAccessFlags = AccessFlags.REMOTE_READ;
    qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: PORT, qpAccessFlags });
    const told = qp.query(QpAttrMask.ACCESS_FLAGS).attr.qpAccessFlags;
    assertEquals(told & REMOTE_ACCESS, AccessFlags.REMOTE_READ);
  });
});

deviceTest("QueuePair refuses everything when it is disposed", () => {
  using pair = udPair();
  const { qp } = pair.left;
  qp.close();
  qp.close();
  for (
    const use of [
      () => qp.state,
      () => qp.query(),
      () => qp.modify({ qpState: QpState.RESET }),
      () => qp.postRecv({ sge: pair.left.mr.slice(0, 100) }),
      () => qp.unsafeHandle,
    ]
  ) {
    assertThrows(use, TypeError, "Cannot use queue pair: it is disposed");
  }
});

deviceTest("QueuePair goes before its completion queue and its protection domain", () => {
  using pair = udPair();
  const { left, right } = pair;
  left.cq.close();
  assertEquals([left.qp.disposed, right.qp.disposed], [true, false]);
  pair.pd.close();
  assertEquals([right.qp.disposed, right.cq.disposed], [true, false]);
});
