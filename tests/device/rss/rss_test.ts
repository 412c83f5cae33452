// Queue pairs by ibv_create_qp_ex: what reaches the kernel, what is refused, and what an RSS queue pair cannot do.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AddressHandle,
  microsoftRssKey,
  type QpInitAttr,
  QpState,
  QpType,
  QueuePair,
  RxHash,
  RxHashFields,
  RxHashFunction,
} from "../../../mod.ts";
import { QKEY } from "../setup.ts";
import {
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
