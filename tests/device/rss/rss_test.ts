// Queue pairs by ibv_create_qp_ex: what reaches the kernel, what is refused, and what an RSS queue pair cannot do.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AddressHandle,
  microsoftRssKey,
  QpCreateFlags,
  type QpInitAttr,
  QpState,
  QpType,
  QueuePair,
  RxHash,
  RxHashFields,
  RxHashFunction,
  WorkQueue,
} from "../../../mod.ts";
import { outputOf } from "../../subprocess.ts";
import { QKEY, rxe } from "../setup.ts";
import {
  ALL_FIELDS,
  assertFails,
  assertLastCall,
  type Bench,
  calls,
  ETHERNET_PORT,
  hashOverAll,
  IB_PORT,
  makeRss,
  openBench,
  openStub,
  STUB,
  stubTest,
} from "../stub.ts";

const { RAW_PACKET, UD } = QpType;

/** What an RSS queue pair over all work queues takes. */
function rssInit(bench: Bench): QpInitAttr {
  return { type: RAW_PACKET, rwqIndTbl: bench.newTable(), rxHashConf: hashOverAll() };
}

stubTest("new QueuePair() sends the hash and the table to the kernel", () => {
  using bench = openBench();
  const key = microsoftRssKey().map((byte, i) => byte ^ i);
  const { SRC_IPV6, DST_IPV6, SRC_PORT_UDP, DST_PORT_UDP } = RxHashFields;
  const rxHashFieldsMask = SRC_IPV6 | DST_IPV6 | SRC_PORT_UDP | DST_PORT_UDP;
  const rxHashConf = new RxHash({ rxHashKey: key, rxHashFieldsMask });
  const init = rssInit(bench);
  const qp = new QueuePair(bench.pd, { ...init, rxHashConf });
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

stubTest("An RSS queue pair goes to RTR on its port and no further", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  assertEquals(qp.state, QpState.RTR);
  assertEquals(calls("modify_qp").map((call) => call.port_num), [ETHERNET_PORT, 0]);
  assertFails(() => qp.modify({ qpState: QpState.RTS }), "ibv_modify_qp", "EOPNOTSUPP");
});

stubTest("new QueuePair() explains what RSS takes when the device refuses", () => {
  using bench = openBench();
  const init = rssInit(bench);
  const { rwqIndTbl } = init;
  const cq = bench.workQueues[0]!.cq;
  const cap = { maxSendWr: 1 };
  const wrong: [string, QpInitAttr][] = [
    ["EINVAL", { type: RAW_PACKET, rwqIndTbl: rwqIndTbl! }],
    ["EINVAL", { ...init, type: UD }],
    ["EOPNOTSUPP", { ...init, createFlags: QpCreateFlags.SCATTER_FCS }],
    ["EOPNOTSUPP", { ...init, sendCq: cq, cap }],
    ["EOPNOTSUPP", { ...init, rxHashConf: fieldsOf(RxHashFields.IPSEC_SPI) }],
    ["EOPNOTSUPP", { ...init, rxHashConf: fieldsOf(RxHashFields.INNER | ALL_FIELDS) }],
    ...[0, 16, 39, 41, 255].map((length): [string, QpInitAttr] => {
      const rxHashKey = new Uint8Array(length);
      return ["EOPNOTSUPP", {
        ...init,
        rxHashConf: new RxHash({ rxHashKey, rxHashFieldsMask: ALL_FIELDS }),
      }];
    }),
  ];
  for (const [code, wrongInit] of wrong) {
    const error = assertFails(() => new QueuePair(bench.pd, wrongInit), "ibv_create_qp_ex", code);
    assertStringIncludes(error.hint!, "both rwqIndTbl and rxHashConf");
    assertStringIncludes(error.hint!, "a key of 40 bytes");
  }
});

function fieldsOf(rxHashFieldsMask: number): RxHash {
  return new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask });
}

stubTest("new QueuePair() makes the same queue pair by ibv_create_qp and ibv_create_qp_ex", () => {
  using stub = openStub();
  const cap = { maxSendWr: 4, maxRecvWr: 8, maxSendSge: 2, maxRecvSge: 3, maxInlineData: 16 };
  const [plain, extended] = [{}, { createFlags: 0 }].map((more) =>
    stub.newQp(UD, { cap, sqSigAll: true, ...more })
  ) as [QueuePair, QueuePair];
  const strip = ({ seq: _, qp: _qp, ...call }: Record<string, unknown>): unknown => call;
  const [first, second] = calls("create_qp").map(strip);
  assertEquals(second, first);
  assertEquals(extended.cap, plain.cap);
  extended.activateUd({ port: IB_PORT, qkey: QKEY });
  assertThrows(() => extended.postRecv({}), RangeError, "on UD the GRH alone takes 40");
  const ah = new AddressHandle(stub.pd, { portNum: IB_PORT, dlid: 1 });
  extended.postSend({ ah, remoteQpn: 1, remoteQkey: QKEY });
});

stubTest("Work queues and hashes are not supported on rxe", () => {
  using device = rxe();
  const init = { maxWr: 1, maxSge: 1, cq: device.cq };
  const error = assertFails(() => new WorkQueue(device.pd, init), "ibv_create_wq", "EOPNOTSUPP");
  assertStringIncludes(error.hint!, "The device has no work queues");
  const make = (): unknown => device.newQp(UD, { rxHashConf: hashOverAll() });
  assert(assertFails(make, "ibv_create_qp_ex", "EOPNOTSUPP").notSupported);
});

/** Makes raw packet queue pairs, and prints the errors. */
const MAKE_RAW = `
  import { CompletionQueue, Context, microsoftRssKey, ProtectionDomain, QpType, QueuePair, RwqIndirectionTable, RxHash, WorkQueue } from MOD;
  using context = Context.open("${STUB}");
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 1 });
  const workQueues = [new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq })];
  const rwqIndTbl = new RwqIndirectionTable(context, workQueues);
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
  const outcomes = [outcome(() => new QueuePair(pd, init)), outcome(() => new QueuePair(pd, plain))];
  console.log(JSON.stringify(outcomes));
`;

stubTest("new QueuePair() names CAP_NET_RAW where that is missing", async () => {
  const prefix = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"];
  const hint = "Raw packet queue pairs take the capability CAP_NET_RAW";
  assertEquals(JSON.parse(await outputOf(MAKE_RAW, { prefix })), [
    ["ibv_create_qp_ex", "EPERM", hint],
    ["ibv_create_qp", "EPERM", hint],
  ]);
});
