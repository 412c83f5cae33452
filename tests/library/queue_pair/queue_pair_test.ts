// Queue pairs: how they are made, modified and closed, and what is refused before native code.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  type AddressHandle,
  CompletionQueue,
  type Context,
  Gid,
  QpAttrMask,
  QpCreateFlags,
  type QpInitAttr,
  type QpModifyAttr,
  QpState,
  QpType,
  QueuePair,
  QueuePairEx,
  RwqIndirectionTable,
  RxHash,
  SendOpsFlags,
  VerbsError,
  WorkQueue,
} from "../../../mod.ts";
import { stub } from "@std/testing/mock";
import { constants } from "../../../ffi/layout.ts";
import { requiredFor } from "../../../types/queue_pair/activation.ts";
import { hintModify } from "../../../types/queue_pair/hints.ts";
import type { Fields, RecordedStruct } from "../../provider/records.ts";
import { assertRefused, bad, fieldsOf } from "../refusals.ts";
import { handle, onRc, onUd, QKEY, record, type Recorded } from "../work/recorded.ts";

const { RC, UD } = QpType;
const { RESET, INIT, RTR, RTS, SQE, ERR } = QpState;

const GROUP = Gid.parse("ff0e::1234");
const CAP = { maxSendWr: 4, maxRecvWr: 4 };

onUd.test("new QueuePair() uses ibv_create_qp unless an attribute needs ibv_create_qp_ex", (parts) => {
  const { pd, cq } = parts;
  const init = { qpType: UD, sendCq: cq, recvCq: cq, cap: { ...CAP, maxInlineData: 8 } };
  const cases: [Partial<QpInitAttr>, number][] = [
    [{ createFlags: QpCreateFlags.SCATTER_FCS }, 5],
    [{ sourceQpn: 0x123456 }, 5],
    [{ maxTsoHeader: 64 }, 9],
    [{ sendOpsFlags: SendOpsFlags.SEND }, 65],
    [{ createFlags: 0, sendOpsFlags: 0 }, 69],
  ];
  new QueuePair(pd, init);
  const plain = recorder.take().map(({ verb }) => verb);
  assertEquals(plain, ["ibv_create_qp"]);
  for (const [more, mask] of cases) {
    new QueuePair(pd, { ...init, ...more } as QpInitAttr);
    const attr = fieldsOf("ibv_create_qp_ex");
    assertEquals([attr.comp_mask, attr.pd, attr.send_cq], [mask, "pd0", "cq0"]);
    assertEquals(attr.send_ops_flags, BigInt(more.sendOpsFlags ?? 0));
    assertEquals(attr.source_qpn, more.sourceQpn ?? 0);
    const flags = (more.createFlags ?? 0) | (more.sourceQpn ? QpCreateFlags.SOURCE_QPN : 0);
    assertEquals(attr.create_flags, flags);
  }
});

onUd.test("new QueuePair() writes every attribute where C reads it", ({ pd, context }) => {
  const [sendCq, recvCq] = [8, 8].map((cqe) => new CompletionQueue(context, { cqe }));
  const cap = { maxSendWr: 1, maxRecvWr: 2, maxSendSge: 3, maxRecvSge: 4, maxInlineData: 5 };
  recorder.take();
  const qp = new QueuePair(pd, {
    qpType: RC,
    sendCq: sendCq!,
    recvCq: recvCq!,
    cap,
    sqSigAll: true,
  });
  const attr = fieldsOf("ibv_create_qp", "init_attr");
  assertEquals([attr.send_cq, attr.recv_cq, attr.srq], ["cq1", "cq2", null]);
  assertEquals([attr.qp_type, attr.sq_sig_all], [RC, 1]);
  const caps = ["send_wr", "recv_wr", "send_sge", "recv_sge", "inline_data"];
  assertEquals(caps.map((name) => attr[`cap.max_${name}`]), [1, 2, 3, 4, 5]);
  assertEquals([qp.pd === pd, qp.context === context, qp.cap], [true, true, cap]);
});

onUd.test("new QueuePair() refuses queues that do not go together", ({ pd, cq }) => {
  const make = (attr: object) => () => new QueuePair(pd, bad({ qpType: UD, cap: CAP, ...attr }));
  const both = { sendCq: cq, recvCq: cq };
  assertRefused(
    [make({ recvCq: cq }), TypeError, "sendCq is missing"],
    [make({ sendCq: cq }), TypeError, "recvCq is missing"],
    [make({ ...both, cap: undefined }), TypeError, "cap.maxSendWr is missing"],
    [make({ ...both, qpType: 5 }), RangeError, "qpType 5: it is none of 2 (RC), 3 (UC), 4 (UD)"],
  );
});

onRc.test("QueuePair.modify() sets exactly the attributes that are given", ({ qp }) => {
  const all: [QpModifyAttr, number, Fields][] = [
    [{ qpState: RTS, curQpState: RTR }, 3, { qp_state: RTS, cur_qp_state: RTR }],
    [{ cap: { maxSendWr: 9 } }, QpAttrMask.CAP, { "cap.max_send_wr": 9 }],
    [{ enSqdAsyncNotify: 1 }, QpAttrMask.EN_SQD_ASYNC_NOTIFY, { en_sqd_async_notify: 1 }],
    [{ rateLimit: 5 }, QpAttrMask.RATE_LIMIT, { rate_limit: 5 }],
  ];
  for (const [attr, mask, expected] of all) {
    recorder.take();
    qp.modify(attr);
    const { args } = recorder.takeOne("ibv_modify_qp");
    assertEquals(args.attr_mask, mask, JSON.stringify(Object.keys(attr)));
    const { fields } = args.attr as RecordedStruct;
    const found = Object.keys(expected).map((name) => [name, fields[name]]);
    assertEquals(Object.fromEntries(found), expected);
  }
});

onUd.test("QueuePair.query() passes all bits on that an int has, as C does", ({ qp }) => {
  const asked = (mask?: number): unknown => {
    qp.query(mask);
    return recorder.takeOne("ibv_query_qp").args.attr_mask;
  };
  recorder.take();
  const given = [1, 0, 0x1ff_ffff, 2 ** 25, 2 ** 31 - 1];
  assertEquals([asked(), ...given.map(asked)], [2 ** 21 - 1, ...given]);
  for (const mask of [-1, 2 ** 31]) {
    assertRefused([() => qp.query(mask), RangeError, `mask ${mask}`]);
  }
});

onUd.test("QueuePair.query() names the bits that no device reports", ({ qp }) => {
  const { QKEY, RATE_LIMIT } = QpAttrMask;
  const hintOf = (mask: number): string | undefined => {
    recorder.fail("ibv_query_qp", constants.EOPNOTSUPP, { times: 1 });
    return assertThrows(() => qp.query(mask), VerbsError).hint;
  };
  const hint = "RATE_LIMIT and the bits above it can be set, but not queried";
  assertEquals([hintOf(RATE_LIMIT), hintOf(2 ** 26 + QKEY)], [hint, hint]);
  assertStringIncludes(hintOf(QKEY)!, "does not have it");
});

onUd.test("QueuePair.modify() names ports and values that there are not", ({ qp }) => {
  const modify = (attr: object) => () => qp.modify(attr);
  const noState = "qpState 7: it is none of 0 (RESET), 1 (INIT)";
  const noMtu = "pathMtu 1024: it is none of 1 (256), 2 (512), 3 (1024)";
  assertRefused(
    [modify({}), TypeError, "Cannot modify queue pair: no attribute is given"],
    [modify({ pathMtu: 1024 }), RangeError, noMtu],
    [modify({ qpState: QpState.UNKNOWN }), RangeError, noState],
    [modify({ pathMigState: 3 }), RangeError, "pathMigState 3: it is none of"],
    [modify({ sqDraining: 1 }), TypeError, 'there is no attribute "sqDraining"'],
    [modify({ ahAttr: { portNum: 3 } }), RangeError, "Cannot use portNum 3"],
    [modify({ altPortNum: 0 }), RangeError, "Cannot use portNum 0"],
    [modify({ altPortNum: 9 }), RangeError, "Cannot use portNum 9"],
    [modify({ altAhAttr: { portNum: 9 } }), RangeError, "Cannot use portNum 9"],
  );
});

onUd.test("QueuePair.modify() does not throw after the device has done it", ({ qp }) => {
  qp.modify({ qpState: RESET });
  recorder.take();
  recorder.fail("___ibv_query_port", "EIO");
  const init = { qpState: INIT, portNum: 1, qkey: QKEY, pkeyIndex: 0 };
  assertThrows(() => qp.modify(init), VerbsError, "EIO");
  assertEquals(recorder.takeOf("ibv_modify_qp"), []);
  assertEquals(qp.state, RESET);
});

Deno.test("QueuePair.modify() explains a transition only where that is the cause", () => {
  const cases: [
    QpType,
    QpState,
    QpModifyAttr,
    "EINVAL" | "ENOMEM" | "EPERM",
    string | undefined,
  ][] = [
    [UD, RESET, { qpState: RTS, sqPsn: 0 }, "EINVAL", "cannot go from RESET to RTS"],
    [UD, RESET, { qpState: INIT, portNum: 1 }, "EINVAL", "also needs pkeyIndex, qkey"],
    [UD, RESET, { qpState: INIT, portNum: 1 }, "ENOMEM", undefined],
    [UD, RTS, { qpState: QpState.SQD }, "EINVAL", undefined],
    [UD, RTS, { qpState: RTS, qkey: 1 }, "EINVAL", undefined],
    [
      RC,
      INIT,
      { qpState: RTR, pathMtu: 3, destQpNum: 1, rqPsn: 0 },
      "EINVAL",
      "also needs ahAttr",
    ],
    [RC, RTR, { qpState: RTS, sqPsn: 0 }, "EINVAL", "timeout, retryCnt, rnrRetry, maxRdAtomic"],
    [UD, RTS, { qkey: 1 }, "EINVAL", undefined],
    [UD, RTS, { qkey: 1 }, "EPERM", undefined],
    [UD, RTS, { qkey: 0x8000_0000 }, "EPERM", "use a smaller one"],
  ];
  for (const [type, from, attr, code, expected] of cases) {
    using parts = record(type);
    const { pd, cq } = parts;
    recorder.setField("qp", "state", BigInt(from));
    const qp = new QueuePair(pd, { qpType: type, sendCq: cq, recvCq: cq, cap: CAP });
    recorder.fail("ibv_modify_qp", code, { times: 1 });
    const { hint } = assertThrows(() => qp.modify(attr), VerbsError);
    if (expected === undefined) assertEquals(hint, undefined, JSON.stringify(attr));
    else assertStringIncludes(hint!, expected);
  }
});

Deno.test("Transitions and their attributes are those of the InfiniBand specification", () => {
  const context = { queryDevice: () => ({}) } as unknown as Context;
  const next: [from: keyof typeof QpState, to: string][] = [
    ["RESET", "RESET INIT"],
    ["INIT", "RESET INIT RTR ERR"],
    ["RTR", "RESET RTS ERR"],
    ["RTS", "RESET RTS SQD ERR"],
    ["SQD", "RESET RTS SQD ERR"],
    ["SQE", "RESET RTS ERR"],
    ["ERR", "RESET ERR"],
  ];
  for (const [from, expected] of next) {
    const allowed = next.map(([to]) => to).filter((to) => {
      const change = { qpType: UD, from: QpState[from], given: { qpState: QpState[to] } };
      const hint = hintModify("EINVAL", { ...change, context });
      return !hint?.startsWith("A queue pair cannot go");
    });
    assertEquals(allowed.join(" "), expected, from);
  }
  const connected = "pkeyIndex portNum qpAccessFlags";
  const path = "ahAttr pathMtu destQpNum rqPsn";
  const responder = `${path} maxDestRdAtomic minRnrTimer`;
  const requester = "sqPsn timeout retryCnt rnrRetry maxRdAtomic";
  const needs: [QpType, init: string, rtr: string, rts: string][] = [
    [UD, "pkeyIndex portNum qkey", "", "sqPsn"],
    [QpType.UC, connected, path, "sqPsn"],
    [RC, connected, responder, requester],
    [QpType.XRC_SEND, connected, path, requester],
    [QpType.XRC_RECV, connected, responder, "sqPsn timeout"],
    [QpType.RAW_PACKET, "portNum", "", ""],
  ];
  for (const [type, ...expected] of needs) {
    assertEquals([INIT, RTR, RTS].map((to) => requiredFor(type, to).join(" ")), expected);
  }
});

onUd.test("new QueuePair() names a limit of the device only if it is exceeded", ({ pd, cq }) => {
  recorder.answer("ibv_query_device", { max_qp_wr: 100, max_sge: 8, max_qp: 5 });
  recorder.fail("ibv_create_qp", "EINVAL");
  const init = { qpType: UD, sendCq: cq, recvCq: cq };
  const hintOf = (cap: Partial<typeof CAP> & Record<string, number>): string | undefined =>
    assertThrows(() => new QueuePair(pd, { ...init, cap: { ...CAP, ...cap } }), VerbsError).hint;
  const above = "is too large: the device allows up to";
  assertEquals(hintOf({ maxSendWr: 101 }), `cap.maxSendWr 101 ${above} 100`);
  assertEquals(hintOf({ maxRecvSge: 9 }), `cap.maxRecvSge 9 ${above} 8`);
  assertEquals(hintOf({ maxSendWr: 100, maxRecvSge: 8 }), undefined);
});

onUd.test("new QueuePair() names the right of raw packets, and what RSS needs", ({ pd, cq }) => {
  type Code = Parameters<typeof recorder.fail>[1];
  const hintOf = (verb: string, code: Code, more: object): string | undefined => {
    recorder.fail(verb, code);
    const init = { qpType: QpType.RAW_PACKET, sendCq: cq, recvCq: cq, cap: CAP, ...more };
    return assertThrows(() => new QueuePair(pd, init), VerbsError).hint;
  };
  const right = "Raw packet queue pairs need the capability CAP_NET_RAW";
  const rxHashConf = new RxHash({ rxHashKey: new Uint8Array(40), rxHashFieldsMask: 0 });
  assertEquals(hintOf("ibv_create_qp", "EPERM", {}), right);
  assertEquals(hintOf("ibv_create_qp", "EPERM", { qpType: UD }), undefined);
  assertEquals(hintOf("ibv_create_qp_ex", "EPERM", { rxHashConf }), right);
  const wq = new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq });
  const rwqIndTbl = new RwqIndirectionTable(pd.context, [wq]);
  for (const code of ["EINVAL", "EOPNOTSUPP"] as const) {
    for (
      const more of [{ rxHashConf }, { rwqIndTbl, recvCq: undefined, cap: {} }]
    ) {
      const hint = hintOf("ibv_create_qp_ex", code, more);
      assertStringIncludes(hint!, "needs qpType RAW_PACKET, both rwqIndTbl and rxHashConf, a key");
    }
  }
  assertEquals(hintOf("ibv_create_qp_ex", "EBUSY", { rxHashConf }), undefined);
});

onUd.test("QueuePair.close() leaves the multicast groups first", ({ qp }) => {
  qp.attachMcast(GROUP, 0);
  qp.attachMcast(GROUP, 3);
  qp.attachMcast(Gid.parse("ff0e::9"));
  qp.detachMcast(Gid.parse("ff0e::9"), 0);
  recorder.take();
  qp.close();
  const calls = recorder.takeOf("ibv_detach_mcast", "ibv_destroy_qp");
  assertEquals(calls.map(({ verb, args }) => [verb, args.lid]), [
    ["ibv_detach_mcast", 0],
    ["ibv_detach_mcast", 3],
    ["ibv_destroy_qp", undefined],
  ]);
  assertEquals(recorder.live("qp"), 0);
});

onUd.test("QueuePair.detachMcast() works after a close() that failed, and close() then succeeds", (parts) => {
  const { qp, context } = parts;
  qp.attachMcast(GROUP, 0);
  recorder.fail("ibv_detach_mcast", "EIO", { times: 1 });
  const error = assertThrows(() => qp.close(), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_destroy_qp", "EBUSY"]);
  assertStringIncludes(error.hint!, "still in a multicast group");
  assertEquals(recorder.violations(), ["qp0 ends while 1 others use it"]);
  assertThrows(() => qp.attachMcast(GROUP, 0), TypeError, "it is disposed");
  qp.detachMcast(GROUP, 0);
  qp.close();
  assertThrows(() => qp.detachMcast(GROUP, 0), TypeError, "it is disposed");
  context.close();
  assertEquals([recorder.live(), recorder.violations()], [0, []]);
});

onUd.test("new QueuePair() with a table leaves out the send queue that is not asked for", (parts) => {
  const { pd, cq, context } = parts;
  const wq = new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq });
  const rwqIndTbl = new RwqIndirectionTable(context, [wq]);
  const rxHashConf = new RxHash({ rxHashKey: new Uint8Array(40), rxHashFieldsMask: 3 });
  const init = { qpType: QpType.RAW_PACKET, rwqIndTbl, rxHashConf, sendCq: cq };
  recorder.take();
  const receiver = new QueuePair(pd, init);
  const both = new QueuePair(pd, { ...init, cap: { maxSendWr: 2 } });
  const attrs = recorder.takeOf("ibv_create_qp_ex").map(({ args }) =>
    (args.attr as RecordedStruct).fields
  );
  assertEquals(attrs.map((attr) => attr.send_cq), [null, "cq0"]);
  assertEquals(attrs.map((attr) => attr["cap.max_send_sge"]), [0, 1]);
  assertEquals(attrs.map((attr) => attr["cap.max_recv_sge"]), [0, 0]);
  assertThrows(() => receiver.postSend({}), TypeError, "the queue pair has no send queue");
  assertThrows(() => both.postRecv({}), TypeError, "no receive queue of its own");
  both.postSend({});
  const builders = new QueuePairEx(pd, { ...init, sendOpsFlags: 0 });
  assertThrows(() => builders.wrStart(), TypeError, "the queue pair has no send queue");
  const hintOf = (code: "EINVAL" | "EOPNOTSUPP" | "EBUSY"): string | undefined => {
    recorder.fail("ibv_create_qp_ex", code, { times: 1 });
    return assertThrows(() => new QueuePair(pd, init), VerbsError).hint;
  };
  assertEquals(hintOf("EBUSY"), undefined);
  for (const code of ["EINVAL", "EOPNOTSUPP"] as const) {
    assertStringIncludes(hintOf(code)!, "RSS, where the device has it");
  }
});

/** Posts a signaled send to a handle of its own. */
function send({ qp, pd }: Recorded): AddressHandle {
  const ah = handle(pd);
  qp.postSend({ ah, remoteQpn: 1, remoteQkey: QKEY });
  return ah;
}

for (
  const [name, from, attr] of [
    ["a reset", RTS, { qpState: RESET }],
    ["the recovery from SQE", SQE, { qpState: RTS }],
    ["the recovery from an assumed SQE", RTS, { qpState: RTS, curQpState: SQE }],
  ] as const
) {
  onUd.test(`Completions of before ${name} do not count for later sends`, (parts) => {
    const { qp, cq } = parts;
    send(parts).close();
    send(parts).close();
    for (const wr_id of [1n, 2n]) recorder.complete("cq0", { wr_id, qp_num: qp.qpNum });
    recorder.overwrite("qp0", "state", BigInt(from));
    assertEquals(recorder.live("ah"), 2);
    qp.modify(attr);
    assertEquals(recorder.live("ah"), 0);
    send(parts).close();
    // The completions are still there for the program, and none of them is of the last send.
    assertEquals(cq.poll().map(({ wrId }) => wrId), [1n, 2n]);
    assertEquals(recorder.live("ah"), 1);
    recorder.complete("cq0", { wr_id: 3n, qp_num: qp.qpNum });
    assertEquals(cq.poll().map(({ wrId }) => wrId), [3n]);
    assertEquals(recorder.live("ah"), 0);
    assertEquals(recorder.violations(), []);
  });
}

onUd.test("Completions of a closed queue pair do not count for a later one of the same number", (parts) => {
  const { qp, pd, cq } = parts;
  const { qpNum } = qp;
  send(parts).close();
  recorder.complete("cq0", { wr_id: 1n, qp_num: qpNum });
  qp.close();
  assertEquals(recorder.live("ah"), 0);
  recorder.setField("qp", "qp_num", BigInt(qpNum));
  const next = new QueuePair(pd, { qpType: UD, sendCq: cq, recvCq: cq, cap: CAP });
  next.activateUd({ portNum: 1, qkey: QKEY });
  assertEquals(next.qpNum, qpNum);
  send({ ...parts, qp: next }).close();
  assertEquals(cq.poll().map(({ wrId }) => wrId), [1n]);
  assertEquals(recorder.live("ah"), 1);
});

onUd.test("Changes of a queue pair that is up leave its sends under way", (parts) => {
  const { qp } = parts;
  send(parts).close();
  qp.modify({ qpState: RTS, qkey: 5 });
  qp.modify({ qpState: ERR });
  assertEquals(recorder.live("ah"), 1);
});

onUd.test("QueuePair.query() reads what the device reports", (parts) => {
  recorder.answer("ibv_query_qp", {
    sq_draining: 1,
    path_mtu: 3,
    alt_timeout: 7,
    qkey: 0xffff_ffff,
  });
  const { attr, sqSigAll } = parts.qp.query(QpAttrMask.QKEY);
  assertEquals([attr.sqDraining, attr.pathMtu, attr.altTimeout, attr.qkey], [1, 3, 7, 0xffff_ffff]);
  assertEquals(sqSigAll, false);
  assertEquals(recorder.takeOne("ibv_query_qp").args.attr_mask, QpAttrMask.QKEY);
});

onRc.test("QueuePair.init() uses all 24 bits of the packet sequence number", ({ pd, cq }) => {
  const qp = new QueuePair(pd, { qpType: RC, sendCq: cq, recvCq: cq, cap: CAP });
  recorder.overwrite("qp1", "state", 0);
  {
    using _stub = stub(crypto, "getRandomValues", <T>(array: T): T => {
      (array as Uint32Array).fill(0xffff_ffff);
      return array;
    });
    qp.init({ portNum: 1, gidIndex: 0 });
  }
  assertEquals(qp.address.psn, 0xff_ffff);
});

onUd.test("An address handle that two queue pairs use lives until the sends of both are done", (parts) => {
  const { qp: one, pd, cq } = parts;
  const two = new QueuePair(pd, { qpType: UD, sendCq: cq, recvCq: cq, cap: CAP });
  recorder.overwrite("qp1", "state", 0);
  two.activateUd({ portNum: 1, qkey: QKEY });
  for (const order of [[one, two], [two, one]] as const) {
    const ah = handle(pd);
    for (const qp of [one, two]) qp.postSend({ ah, remoteQpn: 5, remoteQkey: QKEY });
    ah.close();
    for (const [i, qp] of order.entries()) {
      assertEquals([i, recorder.live("ah")], [i, 1]);
      recorder.complete("cq0", { qp_num: qp.qpNum });
      cq.poll();
    }
    assertEquals(recorder.live("ah"), 0);
  }
});
