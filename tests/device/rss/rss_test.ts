// Queue pairs by ibv_create_qp_ex: what reaches the kernel, what is refused, and what an RSS queue pair cannot do.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { hasExtendedOp } from "../../ffi/inlines.ts";
import {
  Context,
  microsoftRssKey,
  QpCreateFlags,
  type QpInitEx,
  QpState,
  QpType,
  RecvRequests,
  RxHash,
  RxHashFields,
  RxHashFunction,
  SendOpsFlags,
  SendRequests,
} from "../../mod.ts";
import { outputOf } from "../subprocess.ts";
import { openRxe, QKEY } from "./setup.ts";
import {
  ALL_FIELDS,
  assertFails,
  assertLastCall,
  type Bench,
  calls,
  ETHERNET_PORT,
  hashOverAll,
  hashOverIpv4,
  IB_PORT,
  makeRss,
  openBench,
  STUB,
  stubTest,
} from "./stub.ts";

const { RAW_PACKET, UD } = QpType;

/** What an RSS queue pair over all work queues takes. */
function rssInit({ context, workQueues }: Bench): QpInitEx {
  const rwqIndTbl = context.createRwqIndirectionTable({ workQueues });
  return { type: RAW_PACKET, rwqIndTbl, rxHashConf: hashOverAll() };
}

stubTest("ProtectionDomain.createQpEx() sends the hash and the table to the kernel", () => {
  using bench = openBench();
  const key = microsoftRssKey().map((byte, i) => byte ^ i);
  const { SRC_IPV6, DST_IPV6, SRC_PORT_UDP, DST_PORT_UDP } = RxHashFields;
  const rxHashFieldsMask = SRC_IPV6 | DST_IPV6 | SRC_PORT_UDP | DST_PORT_UDP;
  const rxHashConf = new RxHash({ rxHashKey: key, rxHashFieldsMask });
  const init = rssInit(bench);
  const qp = bench.pd.createQpEx({ ...init, rxHashConf });
  assertLastCall("create_qp", {
    ret: 0,
    qp_type: RAW_PACKET,
    pd: calls("alloc_pd")[0]!.pd,
    table: init.rwqIndTbl!.tableNumber,
    rx_hash_function: RxHashFunction.TOEPLITZ,
    rx_hash_fields_mask: rxHashFieldsMask,
    rx_hash_key: key.toHex(),
    send_cq: 0,
    recv_cq: 0,
    srq: 0,
    max_send_wr: 0,
    max_recv_wr: 0,
    max_send_sge: 0,
    max_recv_sge: 0,
    qp: qp.qpNum,
  });
  assert(qp.rwqIndTbl === init.rwqIndTbl && qp.rxHashConf === rxHashConf);
});

stubTest("ProtectionDomain.createQpEx() sends the key as it was when the hash was made", () => {
  using bench = openBench();
  const key = microsoftRssKey();
  const rxHashConf = new RxHash({ rxHashKey: key, rxHashFieldsMask: ALL_FIELDS });
  key.fill(0);
  bench.pd.createQpEx({ ...rssInit(bench), rxHashConf });
  assertLastCall("create_qp", { rx_hash_key: microsoftRssKey().toHex() });
});

stubTest("ProtectionDomain.createQpEx() lets queue pairs share a table", () => {
  using bench = openBench();
  const init = rssInit(bench);
  const qps = [hashOverAll(), hashOverIpv4()].map((rxHashConf) =>
    bench.pd.createQpEx({ ...init, rxHashConf })
  );
  assertEquals(calls("create_qp").map((call) => call.rx_hash_fields_mask), [ALL_FIELDS, 3]);
  qps[0]!.close();
  assertEquals([qps[1]!.disposed, init.rwqIndTbl!.disposed], [false, false]);
});

stubTest("An RSS queue pair goes to RTR on its port and no further", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  assertEquals(qp.state, QpState.RTR);
  assertEquals(calls("modify_qp").map((call) => call.port_num), [ETHERNET_PORT, 0]);
  assertFails(() => qp.modify({ qpState: QpState.RTS }), "ibv_modify_qp", "EOPNOTSUPP");
});

stubTest("An RSS queue pair refuses to send and to receive before native code is reached", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  const noSend = "Cannot post send: the queue pair has no send queue";
  const noReceive = "Cannot post receive: the queue pair has no receive queue of its own";
  assertThrows(() => qp.postSend({}), TypeError, noSend);
  assertThrows(() => qp.postSends(new SendRequests({ capacity: 1 })), TypeError, noSend);
  assertThrows(() => qp.postRecv({}), TypeError, noReceive);
  assertThrows(() => qp.postRecvs(new RecvRequests({ capacity: 1 })), TypeError, noReceive);
});

stubTest("ProtectionDomain.createQpEx() refuses a receive side beside a table", () => {
  using bench = openBench();
  const init = rssInit(bench);
  const recvCq = bench.workQueues[0]!.cq;
  for (const wrong of [{ recvCq }, { cap: { maxRecvWr: 1 } }, { cap: { maxRecvSge: 1 } }]) {
    assertThrows(
      () => bench.pd.createQpEx({ ...init, ...wrong }),
      TypeError,
      "Cannot create queue pair: with an indirection table it has no receive queue of its own",
    );
  }
  assertEquals(calls("create_qp"), []);
});

stubTest("ProtectionDomain.createQpEx() refuses queues without a completion queue", () => {
  using bench = openBench();
  const cq = bench.workQueues[0]!.cq;
  const { pd } = bench;
  assertThrows(
    () => pd.createQpEx({ ...rssInit(bench), cap: { maxSendWr: 1 } }),
    TypeError,
    "Cannot create queue pair: its send queue takes sendCq",
  );
  assertThrows(() => pd.createQpEx({ type: UD, recvCq: cq }), TypeError, "it takes sendCq");
  assertThrows(() => pd.createQpEx({ type: UD, sendCq: cq }), TypeError, "it takes recvCq");
  const rxHashConf = hashOverAll();
  assertThrows(() => pd.createQpEx({ type: RAW_PACKET, rxHashConf }), TypeError, "it takes sendCq");
  assertEquals(calls("create_qp"), []);
});

stubTest("ProtectionDomain.createQpEx() refuses parts of another context", () => {
  using bench = openBench();
  using other = openBench();
  const { rwqIndTbl: foreign } = rssInit(other);
  const [cq, foreignCq] = [bench, other].map(({ workQueues }) => workQueues[0]!.cq);
  const belongs = "belongs to another context";
  const { pd } = bench;
  assertThrows(
    () => pd.createQpEx({ ...rssInit(bench), rwqIndTbl: foreign! }),
    TypeError,
    `Cannot create queue pair: rwqIndTbl ${belongs}`,
  );
  assertThrows(
    () => pd.createQpEx({ type: UD, sendCq: foreignCq!, recvCq: cq! }),
    TypeError,
    `Cannot create queue pair: sendCq ${belongs}`,
  );
  assertThrows(
    () => pd.createQpEx({ type: UD, sendCq: cq!, recvCq: foreignCq! }),
    TypeError,
    `Cannot create queue pair: recvCq ${belongs}`,
  );
  assertEquals(calls("create_qp"), []);
});

stubTest("ProtectionDomain.createQpEx() refuses numbers that do not fit", () => {
  using bench = openBench(1);
  const cq = bench.workQueues[0]!.cq;
  const good = { type: UD, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } };
  const wrong: [keyof QpInitEx, number][] = [
    ["createFlags", 2 ** 32],
    ["maxTsoHeader", 2 ** 16],
    ["sourceQpn", 2 ** 24],
    ["sendOpsFlags", 2 ** 32],
  ];
  for (const [name, value] of wrong) {
    for (const number of [value, -1]) {
      const body = (): unknown => bench.pd.createQpEx({ ...good, [name]: number });
      assertThrows(body, RangeError, `Cannot use ${name} ${number}`);
    }
  }
  assertEquals(calls("create_qp"), []);
});

for (const length of [0, 16, 39, 41, 255]) {
  stubTest(`ProtectionDomain.createQpEx() explains a key of ${length} bytes`, () => {
    using bench = openBench();
    const rxHashKey = new Uint8Array(length);
    const rxHashConf = new RxHash({ rxHashKey, rxHashFieldsMask: ALL_FIELDS });
    const error = assertFails(
      () => bench.pd.createQpEx({ ...rssInit(bench), rxHashConf }),
      "ibv_create_qp_ex",
      "EOPNOTSUPP",
    );
    assertStringIncludes(error.hint!, "a key of 40 bytes");
  });
}

stubTest("ProtectionDomain.createQpEx() explains what RSS takes when the device refuses", () => {
  using bench = openBench();
  const init = rssInit(bench);
  const { rwqIndTbl } = init;
  const cq = bench.workQueues[0]!.cq;
  const cap = { maxSendWr: 1 };
  const wrong: [string, QpInitEx][] = [
    ["EINVAL", { type: RAW_PACKET, rwqIndTbl: rwqIndTbl! }],
    ["EINVAL", { ...init, type: UD }],
    ["EOPNOTSUPP", { ...init, createFlags: QpCreateFlags.SCATTER_FCS }],
    ["EOPNOTSUPP", { ...init, sendCq: cq, cap }],
    ["EOPNOTSUPP", { ...init, rxHashConf: fieldsOf(RxHashFields.IPSEC_SPI) }],
    ["EOPNOTSUPP", { ...init, rxHashConf: fieldsOf(RxHashFields.INNER | ALL_FIELDS) }],
  ];
  for (const [code, wrongInit] of wrong) {
    const error = assertFails(() => bench.pd.createQpEx(wrongInit), "ibv_create_qp_ex", code);
    assertStringIncludes(error.hint!, "both rwqIndTbl and rxHashConf");
  }
});

function fieldsOf(rxHashFieldsMask: number): RxHash {
  return new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask });
}

stubTest(
  "ProtectionDomain.createQpEx() needs no send queue for a table when none is asked for",
  () => {
    using bench = openBench();
    const sendCq = bench.workQueues[0]!.cq;
    const qp = bench.pd.createQpEx({ ...rssInit(bench), sendCq });
    assertLastCall("create_qp", { ret: 0, send_cq: 0 });
    assertThrows(() => qp.postSend({}), TypeError, "the queue pair has no send queue");
  },
);

stubTest("ProtectionDomain.createQpEx() makes ordinary queue pairs as ibv_create_qp does", () => {
  using context = Context.open(STUB);
  const pd = context.allocPd();
  const cq = context.createCq({ cqe: 63 });
  const cap = { maxSendWr: 4, maxRecvWr: 8, maxSendSge: 2, maxRecvSge: 3, maxInlineData: 16 };
  const init = { type: UD, sendCq: cq, recvCq: cq, cap, sqSigAll: true };
  const [plain, extended] = [pd.createQp(init), pd.createQpEx(init)];
  const strip = ({ seq: _, qp: _qp, ...call }: Record<string, unknown>): unknown => call;
  const [first, second] = calls("create_qp").map(strip);
  assertEquals(second, first);
  assertEquals(extended.cap, plain.cap);
  extended.activateUd({ port: IB_PORT, qkey: QKEY });
  assertThrows(() => extended.postRecv({}), RangeError, "on UD the GRH alone takes 40");
  extended.postSend({ ah: pd.createAh({ portNum: IB_PORT, dlid: 1 }) });
});

stubTest("ProtectionDomain.createQpEx() sends flags and numbers to the kernel", () => {
  using bench = openBench(1);
  const cq = bench.workQueues[0]!.cq;
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const init = { type: UD, sendCq: cq, recvCq: cq, cap };
  const { BLOCK_SELF_MCAST_LB, SOURCE_QPN } = QpCreateFlags;
  const given = { createFlags: BLOCK_SELF_MCAST_LB, sourceQpn: 0x123456 };
  // the stub has no such flags, and tells all the same
  assertFails(() => bench.pd.createQpEx({ ...init, ...given }), "ibv_create_qp_ex", "EOPNOTSUPP");
  assertLastCall("create_qp", {
    create_flags: BLOCK_SELF_MCAST_LB | SOURCE_QPN,
    source_qpn: 0x123456,
  });
});

stubTest(
  "ProtectionDomain.createQpEx() passes send operations on to a provider that has them",
  () => {
    using context = openRxe();
    assert(hasExtendedOp(context.unsafeHandle, "create_qp_ex"));
    const pd = context.allocPd();
    const cq = context.createCq({ cqe: 7 });
    const init = { type: UD, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } };
    const { SEND, RDMA_WRITE } = SendOpsFlags;
    assertEquals(pd.createQpEx({ ...init, sendOpsFlags: SEND }).state, QpState.RESET);
    // UD has no RDMA, which only who reads the flags can know
    assertFails(
      () => pd.createQpEx({ ...init, sendOpsFlags: RDMA_WRITE }),
      "ibv_create_qp_ex",
      "EOPNOTSUPP",
    );
  },
);

/** Makes raw packet queue pairs, and prints the errors. */
const MAKE_RAW = `
  import { Context, microsoftRssKey, QpType, RxHash } from MOD;
  using context = Context.open("${STUB}");
  const pd = context.allocPd();
  const cq = context.createCq({ cqe: 1 });
  const workQueues = [pd.createWq({ maxWr: 1, maxSge: 1, cq })];
  const rwqIndTbl = context.createRwqIndirectionTable({ workQueues });
  const rxHashConf = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: 0 });
  const init = { type: QpType.RAW_PACKET, rwqIndTbl, rxHashConf };
  const plain = { type: QpType.RAW_PACKET, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } };
  function outcome(make) {
    try {
      return make();
    } catch ({ verb, code, hint }) {
      return [verb, code, hint];
    }
  }
  const outcomes = [outcome(() => pd.createQpEx(init)), outcome(() => pd.createQp(plain))];
  console.log(JSON.stringify(outcomes));
`;

stubTest("ProtectionDomain.createQpEx() names CAP_NET_RAW where that is missing", async () => {
  const prefix = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"];
  const hint = "Raw packet queue pairs take the capability CAP_NET_RAW";
  assertEquals(JSON.parse(await outputOf(MAKE_RAW, { prefix })), [
    ["ibv_create_qp_ex", "EPERM", hint],
    ["ibv_create_qp", "EPERM", hint],
  ]);
});
