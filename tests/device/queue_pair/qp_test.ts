// Queue pairs: making them, their states, and what the device says of them.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { QpAttrMask, QpState, QpType, type QueuePair, VerbsError } from "../../../mod.ts";
import { outputOf } from "../../subprocess.ts";
import { countOf, deviceTest, PORT, QKEY, RXE, rxe } from "../setup.ts";

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
    assertEquals([qp.qpType, qp.pd], [QpType[name], device.pd]);
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
  "Soft-RoCE gives 16 bytes of inline data for each scatter/gather element, as the documents say",
  () => {
    using device = rxe();
    for (const maxSendSge of [1, 2, 4]) {
      const qp = device.newQp(QpType.RC, { cap: { maxSendWr: 1, maxRecvWr: 1, maxSendSge } });
      assertEquals(qp.cap.maxInlineData, 16 * maxSendSge);
    }
  },
);

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
    qp.activateUd({ portNum: PORT, qkey: QKEY, pkeyIndex: 0, sqPsn: 0xabcdef });
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
  const init = { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap };
  const qp = new QueuePair(new ProtectionDomain(context), init);
  try {
    qp.activateUd({ portNum: 1, qkey: 0x8000_0001 });
    console.log(qp.query().attr.qkey);
  } catch ({ verb, code }) {
    console.log(verb, code);
  }`;

deviceTest("QueuePair.modify() needs CAP_NET_RAW for a privileged qkey", async () => {
  assertEquals(await outputOf(SET_PRIVILEGED), `${0x8000_0001}`);
  const prefix = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"];
  assertEquals(await outputOf(SET_PRIVILEGED, { prefix }), "ibv_modify_qp EPERM");
});

deviceTest("QueuePair.query() takes the bits that C takes, also those without a name", () => {
  using device = rxe();
  const qp = device.newQp();
  for (const mask of [0, 1 << 21, 0x1ff_ffff]) {
    assertEquals(qp.query(mask).attr.qpState, QpState.RESET);
  }
  for (const mask of [QpAttrMask.RATE_LIMIT, 2 ** 26, 2 ** 31 - 1]) {
    const { code } = assertThrows(
      () => qp.query(mask),
      VerbsError,
      "RATE_LIMIT and the bits above",
    );
    assertEquals(code, "EOPNOTSUPP");
  }
});
