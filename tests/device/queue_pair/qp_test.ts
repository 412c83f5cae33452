// Queue pairs: making them, their states, and what the device tells of them.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  Gid,
  Mtu,
  type QpAttrInit,
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
} from "../setup.ts";

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

deviceTest(
  "QueuePair.modify() takes a UD queue pair through its states, and changes its qkey",
  () => {
    using device = rxe();
    const qp = device.newQp();
    const { INIT, RTR, RTS, ERR, RESET } = QpState;
    const rest = { [INIT]: { portNum: PORT, pkeyIndex: 0, qkey: QKEY }, [RTS]: { sqPsn: 1 } };
    for (const qpState of [INIT, RTR, RTS, ERR, RESET]) {
      qp.modify({ qpState, ...rest[qpState as keyof typeof rest] });
      assertEquals(states(qp), [qpState, qpState]);
    }
    qp.activateUd({ port: PORT, qkey: QKEY, pkeyIndex: 0, sqPsn: 0xabcdef });
    assertEquals(states(qp), [RTS, RTS]);
    const { attr } = qp.query();
    assertEquals([attr.qkey, attr.sqPsn, attr.portNum], [QKEY, 0xabcdef, PORT]);
    qp.modify({ qkey: 0x2222_2222 });
    assertEquals(qp.query(QpAttrMask.QKEY).attr.qkey, 0x2222_2222);
    assertEquals(qp.state, RTS);
  },
);

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

const { INIT, RTR, RTS, ERR } = QpState;
const UD_INIT = { qpState: INIT, portNum: PORT, pkeyIndex: 0, qkey: QKEY };
const RC_INIT = { qpState: INIT, portNum: PORT, pkeyIndex: 0, qpAccessFlags: 0 };
const RC_RTR = { qpState: RTR, pathMtu: Mtu[256], destQpNum: 1 };
const RC_ARGS = { rqPsn: 0, maxDestRdAtomic: 1, minRnrTimer: 1 };

/** Changes that the device takes, one that it refuses, and the hint. The library tests have all transitions. */
const REFUSED: readonly [QpType, readonly QpAttrInit[], QpAttrInit, string][] = [
  [QpType.UD, [], { qpState: RTS, sqPsn: 0 }, "it goes from RESET to INIT, RTR and RTS"],
  [QpType.UD, [], { qpState: ERR }, "cannot go from RESET to ERR"],
  [QpType.UD, [], { qpState: INIT, portNum: PORT }, "RESET to INIT also needs pkeyIndex, qkey"],
  [QpType.UD, [UD_INIT, { qpState: RTR }], { qpState: RTS }, "RTR to RTS also needs sqPsn"],
  [QpType.RC, [], { qpState: INIT }, "also needs pkeyIndex, portNum, qpAccessFlags"],
  [QpType.RC, [RC_INIT], RC_RTR, "also needs ahAttr, rqPsn, maxDestRdAtomic, minRnrTimer"],
  [
    QpType.RC,
    [RC_INIT, { ...RC_RTR, ...RC_ARGS }],
    { qpState: RTS, sqPsn: 0 },
    "RTR to RTS also needs timeout, retryCnt, rnrRetry, maxRdAtomic",
  ],
];

deviceTest("QueuePair.modify() names what a transition that the device refuses lacks", () => {
  using device = rxe();
  const ahAttr = selfAddress(device.context);
  for (const [type, taken, refused, hint] of REFUSED) {
    using qp = device.newQp(type);
    for (const attr of taken) qp.modify("rqPsn" in attr ? { ...attr, ahAttr } : attr);
    const before = states(qp);
    const error = assertThrows(() => qp.modify(refused), VerbsError);
    assertEquals([error.verb, error.code], ["ibv_modify_qp", "EINVAL"]);
    assertStringIncludes(error.hint!, hint);
    assertEquals(states(qp), before);
  }
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
