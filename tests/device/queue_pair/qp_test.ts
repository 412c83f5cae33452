// Queue pairs: making them, their states, and what the device tells of them.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessFlags,
  Gid,
  Mtu,
  QpAttrMask,
  QpState,
  QpType,
  type QueuePair,
  VerbsError,
} from "../../../mod.ts";
import { outputOf } from "../../subprocess.ts";
import {
  connect,
  connectedPair,
  countOf,
  deviceTest,
  PORT,
  QKEY,
  REMOTE_ACCESS,
  RXE,
  rxe,
  selfAddress,
  udPair,
} from "../setup.ts";

/** Calls back with a queue pair in state RESET. */
function withQp(type: QpType, use: (qp: QueuePair) => void): void {
  using device = rxe();
  use(device.newQp(type));
}

/** Asserts attributes of an object. */
function assertObject<T extends object>(object: T, expected: Partial<T>): void {
  const found = Object.keys(expected).map((name) => [name, object[name as keyof T]]);
  assertEquals(Object.fromEntries(found), expected);
}

function states(qp: QueuePair): QpState[] {
  return [qp.state, qp.query().attr.qpState];
}

for (const name of ["RC", "UC", "UD"] as const) {
  deviceTest(`new QueuePair() makes a ${name} queue pair in state RESET`, () => {
    using device = rxe();
    const before = countOf("qp");
    const cap = { maxSendWr: 5, maxRecvWr: 7, maxSendSge: 2, maxRecvSge: 3, maxInlineData: 16 };
    const qp = device.newQp(QpType[name], { cap, sqSigAll: true });
    assertEquals(countOf("qp"), before + 1);
    assertEquals([qp.type, qp.pd], [QpType[name], device.pd]);
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

deviceTest("new QueuePair() gives one element when those are left out", () => {
  using device = rxe();
  const qp = device.newQp();
  assert(qp.cap.maxSendSge >= 1 && qp.cap.maxRecvSge >= 1);
  assertEquals(qp.query().sqSigAll, false);
});

deviceTest("new QueuePair() tells the device's limits when asked for more", () => {
  using device = rxe();
  const { maxQpWr, maxSge } = device.context.queryDevice();
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
    const error = assertThrows(() => device.newQp(QpType.UD, { cap }), VerbsError);
    assertEquals([error.verb, error.code], ["ibv_create_qp", "EINVAL"]);
    assertStringIncludes(error.hint!, `allows ${maxQpWr} work requests, ${maxSge} scatter/gather`);
  }
});

deviceTest("new QueuePair() says that the device lacks a transport", () => {
  using device = rxe();
  const error = assertThrows(() => device.newQp(QpType.RAW_PACKET), VerbsError);
  assert(error.notSupported, error.message);
  assertStringIncludes(error.message, "Cannot create queue pair (RAW_PACKET, maxSendWr 4");
});

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
    const { INIT, RTR, RTS, ERR, RESET } = QpState;
    const rest = { [INIT]: { portNum: PORT, pkeyIndex: 0, qkey: QKEY }, [RTS]: { sqPsn: 1 } };
    for (const qpState of [INIT, RTR, RTS, ERR, RESET]) {
      qp.modify({ qpState, ...rest[qpState as keyof typeof rest] });
      assertEquals(states(qp), [qpState, qpState]);
    }
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

/** Gives a queue pair a qkey whose highest bit is set, and prints how that goes. */
const SET_PRIVILEGED = `
  import { CompletionQueue, Context, ProtectionDomain, QpType, QueuePair } from MOD;
  using context = Context.open("${RXE}");
  const cq = new CompletionQueue(context, { cqe: 1 });
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const init = { type: QpType.UD, sendCq: cq, recvCq: cq, cap };
  const qp = new QueuePair(new ProtectionDomain(context), init);
  try {
    qp.activateUd({ port: 1, qkey: 0x8000_0001 });
    console.log(qp.query().attr.qkey);
  } catch ({ verb, code }) {
    console.log(verb, code);
  }`;

deviceTest("QueuePair.modify() needs CAP_NET_RAW for a privileged qkey", async () => {
  assertEquals(await outputOf(SET_PRIVILEGED), `${0x8000_0001}`);
  const prefix = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"];
  assertEquals(await outputOf(SET_PRIVILEGED, { prefix }), "ibv_modify_qp EPERM");
});

deviceTest("QueuePair.modify() takes an RC queue pair up with every attribute as given", () => {
  using pair = connectedPair();
  const { left, right } = pair;
  const { attr } = left.qp.query();
  const { dgid, sgidIndex } = selfAddress(pair.context).grh!;
  const expected = {
    ...{ qpState: QpState.RTS, pathMtu: Mtu[1024], destQpNum: right.qp.qpNum },
    ...{ rqPsn: 100, sqPsn: 100, maxDestRdAtomic: 16, maxRdAtomic: 16, minRnrTimer: 12 },
    ...{ timeout: 14, retryCnt: 7, rnrRetry: 7 },
  };
  assertObject(attr, expected);
  assertEquals(attr.qpAccessFlags & REMOTE_ACCESS, REMOTE_ACCESS);
  const { ahAttr } = attr;
  assertObject(ahAttr, { isGlobal: true, portNum: PORT });
  // Linux 6.1 takes the hop limit of the route.
  assertObject(ahAttr.grh, { dgid, sgidIndex, hopLimit: 64 });
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
  using device = rxe();
  const qp = device.newQp(QpType.RC);
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
    ahAttr: selfAddress(device.context),
    maxDestRdAtomic: 1,
    minRnrTimer: 1,
  });
  const rts = transitionError(qp, { qpState: QpState.RTS, sqPsn: 0 });
  assertEquals(rts.hint, "RTR to RTS also needs timeout, retryCnt, rnrRetry, maxRdAtomic");
});

deviceTest("QueuePair.modify() names the peer that there is no route to", () => {
  using device = rxe();
  const { grh } = selfAddress(device.context, "ipv6");
  const dgid = Gid.parse("2001:db8::9");
  const error = assertThrows(
    () => connect(device.newQp(QpType.RC), 1, { portNum: PORT, grh: { ...grh!, dgid } }),
    VerbsError,
  );
  assertEquals(error.code, "ENETUNREACH");
  assertStringIncludes(error.hint!, "has no route to 2001:db8::9");
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
