// Objects that are made and changed: the structs that reach the provider, compared with those of C.
import {
  AccessFlags,
  AddressHandle,
  type AhAttrInit,
  CompletionChannel,
  CompletionQueue,
  Gid,
  MemoryRegion,
  MigState,
  Mtu,
  OpenedQueuePair,
  QpCreateFlags,
  QpState,
  QpType,
  QueuePair,
  QueuePairEx,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  SendOpsFlags,
  SharedReceiveQueue,
  WorkQueue,
  WqFlags,
  WqState,
  WrOpcode,
  XrcDomain,
} from "../../../mod.ts";
import { type Fixture, MEMORY, testRequests } from "../../provider/fixture.ts";

const RATE_10_GBPS = 3;

function path(dgid: string): AhAttrInit {
  const grh = {
    dgid: Gid.parse(dgid),
    flowLabel: 0xabcde,
    sgidIndex: 1,
    hopLimit: 64,
    trafficClass: 4,
  };
  return { grh, sl: 2, staticRate: RATE_10_GBPS, portNum: 1 };
}

function wq({ pd, cq }: Fixture): WorkQueue {
  return new WorkQueue(pd, { cq, maxWr: 64, maxSge: 2, createFlags: WqFlags.SCATTER_FCS });
}

const { LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, RELAXED_ORDERING } = AccessFlags;

testRequests({
  reg_mr: ({ pd }) => () => new MemoryRegion(pd, MEMORY, LOCAL_WRITE | REMOTE_READ),
  reg_mr_relaxed: ({ pd }) => () => new MemoryRegion(pd, MEMORY, LOCAL_WRITE | RELAXED_ORDERING),
  address_handle: ({ pd }) => () => {
    const grh = {
      dgid: Gid.parse("fe80::1:2"),
      flowLabel: 0x12345,
      sgidIndex: 1,
      hopLimit: 64,
      trafficClass: 8,
    };
    const others = { dlid: 0x1234, sl: 3, srcPathBits: 1, staticRate: RATE_10_GBPS };
    new AddressHandle(pd, { grh, ...others, portNum: 1 }).close();
  },
  create_cq: ({ context }) => () => {
    const channel = new CompletionChannel(context);
    const cq = new CompletionQueue(context, { cqe: 64, channel, compVector: 2 });
    cq.resize(128);
    cq.reqNotify(true);
    cq.reqNotify();
    cq.close();
    channel.close();
  },
  create_qp: (fixture) => () => fixture.qp(QpType.RC).close(),
  create_qp_ex_flags: ({ pd, cq }) => () =>
    new QueuePair(pd, {
      type: QpType.UD,
      sendCq: cq,
      recvCq: cq,
      cap: { maxSendWr: 8, maxRecvWr: 16, maxSendSge: 2, maxRecvSge: 3, maxInlineData: 32 },
      createFlags: QpCreateFlags.BLOCK_SELF_MCAST_LB,
      sourceQpn: 77,
      maxTsoHeader: 54,
    }),
  create_qp_ex_send_ops: ({ pd, cq }) => () =>
    new QueuePairEx(pd, {
      type: QpType.RC,
      sendCq: cq,
      recvCq: cq,
      cap: { maxSendWr: 8, maxRecvWr: 16, maxSendSge: 2, maxRecvSge: 3, maxInlineData: 32 },
      sendOpsFlags: SendOpsFlags.SEND | SendOpsFlags.RDMA_WRITE,
    }),
  create_qp_with_srq: ({ pd, cq }) => {
    const srq = new SharedReceiveQueue(pd, { maxWr: 32, maxSge: 2 });
    const cap = { maxSendWr: 4, maxSendSge: 1 };
    const init = { type: QpType.RC, sendCq: cq, recvCq: cq, srq, cap, sqSigAll: true };
    return () => new QueuePair(pd, init);
  },
  create_qp_xrc: ({ context, pd, cq }) => {
    const xrcd = new XrcDomain(context);
    const { XRC_RECV, XRC_SEND } = QpType;
    return () => {
      const { qpNum } = new QueuePair(pd, { type: XRC_RECV, xrcd });
      const cap = { maxSendWr: 8, maxSendSge: 1 };
      new QueuePair(pd, { type: XRC_SEND, sendCq: cq, cap });
      new OpenedQueuePair({ xrcd, qpNum });
    };
  },
  qp_settings: (fixture) => {
    const ud = fixture.qp(QpType.UD);
    const group = Gid.parse("ff0e::1234");
    return () => {
      ud.modifyRateLimit({ rateLimit: 100_000, maxBurstSz: 4096, typicalPktSz: 512 });
      ud.setEce({ vendorId: 0x2c9, options: 0x1000_0001 });
      ud.queryDataInOrder(WrOpcode.RDMA_WRITE);
      ud.attachMcast(group, 0xc001);
      ud.detachMcast(group, 0xc001);
    };
  },
  modify_rc: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    return () => {
      const qpAccessFlags = REMOTE_WRITE | REMOTE_ATOMIC;
      qp.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: 1, qpAccessFlags });
      qp.modify({
        qpState: QpState.RTR,
        pathMtu: Mtu[1024],
        rqPsn: 0x123456,
        destQpNum: 0x654321,
        ahAttr: path("::ffff:10.0.0.2"),
        maxDestRdAtomic: 4,
        minRnrTimer: 12,
      });
      qp.modify({
        qpState: QpState.RTS,
        sqPsn: 0x0abcde,
        maxRdAtomic: 8,
        timeout: 14,
        retryCnt: 7,
        rnrRetry: 6,
      });
    };
  },
  modify_alternate_path: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    return () =>
      qp.modify({
        altAhAttr: path("fe80::99"),
        altPkeyIndex: 1,
        altPortNum: 1,
        altTimeout: 15,
        pathMigState: MigState.REARM,
      });
  },
  modify_ud: (fixture) => {
    const qp = fixture.qp(QpType.UD);
    const attr = { qpState: QpState.INIT, qkey: 0x1111_1111, pkeyIndex: 3, portNum: 1 };
    return () => qp.modify(attr);
  },
  work_queue: (fixture) => {
    const { mr } = fixture;
    return () => {
      const queue = wq(fixture);
      queue.modify({ wqState: WqState.RDY, currWqState: WqState.RESET });
      queue.postRecv({ wrId: 5, sge: mr.slice(0, 64) });
      queue.close();
    };
  },
  indirection_table: (fixture) => {
    const queues = [wq(fixture), wq(fixture)] as const;
    return () => new RwqIndirectionTable(fixture.context, [...queues, ...queues]).close();
  },
  rss_qp: (fixture) => {
    const queues = Array.from({ length: 4 }, () => wq(fixture));
    const rwqIndTbl = new RwqIndirectionTable(fixture.context, queues);
    const rxHashConf = new RxHash({
      rxHashKey: Uint8Array.from({ length: 40 }, (_, i) => i),
      rxHashFieldsMask: RxHashFields.SRC_IPV4 | RxHashFields.DST_IPV4,
    });
    return () => new QueuePair(fixture.pd, { type: QpType.RAW_PACKET, rwqIndTbl, rxHashConf });
  },
});
