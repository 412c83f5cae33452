// A valid call of everything in the public API. The generator makes bad calls of them.

import {
  AccessFlags,
  AdviseMrAdvice,
  AdviseMrFlags,
  CompCntrType,
  type CompletionQueue,
  CounterDescription,
  CreateCqAttrFlags,
  CreateCqWcFlags,
  EventType,
  FlowAttrType,
  FlowFlags,
  FlowSpecType,
  Gid,
  Mtu,
  MwType,
  NodeType,
  OpsFlags,
  OpsWrOpcode,
  PlacementType,
  PortState,
  QpAttachCompCntrOp,
  QpCreateFlags,
  QpState,
  QpType,
  Rate,
  type RcActivation,
  ReadCountersFlags,
  RxHashFunction,
  SelectivityLevel,
  SendOpsFlags,
  SrqType,
  TphMemType,
  type UcActivation,
  VerbsError,
  WqFlags,
  WqState,
  WrOpcode,
} from "../../../mod.ts";
import { enums } from "../../../ffi/mod.ts";
import { complete, DEVICE, sendPortEvent, takeQueryPort } from "./recorder_device.ts";
import { CM_RECEIVERS, CM_RECIPES } from "./cm_recipes.ts";
import { EFA_RECEIVERS, EFA_RECIPES } from "./efa_recipes.ts";
import { OTHER_RECEIVERS, OTHER_RECIPES } from "./other_recipes.ts";
import {
  bindInfo,
  CAP,
  flowSpecs,
  headers,
  packet,
  qpAttr,
  type Receiver,
  type Recipe,
  REQUEST_RECEIVERS,
  REQUEST_RECIPES,
  route,
} from "./parts.ts";
import { ESP, type ObjectSet, QKEY, RSS } from "./object_set.ts";

const WC = { wcFlags: 0, slid: 7, sl: 1, dlidPathBits: 0 };
const KEY = new Uint8Array(40).fill(7);

const PEER = {
  transport: "RC",
  qpNum: 0x123456,
  psn: 0xabcdef,
  lid: 7,
  gid: "fe80::1",
  mtu: 2048,
  rdAtomic: 4,
  qkey: null,
};

/** All choices of the way of an RC queue pair. */
function rcWay(): [typeof PEER, RcActivation] {
  const path = { pathMtu: Mtu[256], sl: 3, hopLimit: 1, trafficClass: 5, flowLabel: 6 };
  const retries = { timeout: 0, retryCnt: 1, rnrRetry: 2, minRnrTimer: 31, maxRdAtomic: 9 };
  return [{ ...PEER }, { ...path, ...retries }];
}

function openedWay(): [object, RcActivation] {
  const [peer, choices] = rcWay();
  return [{ ...peer, transport: "XRC_SEND" }, choices];
}

function ucWay(): [object, UcActivation] {
  const path = { pathMtu: Mtu[256], sl: 3, hopLimit: 1, trafficClass: 5, flowLabel: 6 };
  return [{ ...PEER, transport: "UC" }, path];
}

const signal = (): AbortSignal => new AbortController().signal;

/** The same attributes make both kinds, but for what the extended one needs. */
const QUEUE_PAIRS: Readonly<Record<string, (set: ObjectSet) => object>> = {
  datagram: ({ cq }) => ({
    qpType: QpType.UD,
    sendCq: cq,
    recvCq: cq,
    cap: { ...CAP },
    sqSigAll: true,
    createFlags: QpCreateFlags.BLOCK_SELF_MCAST_LB,
    maxTsoHeader: 54,
    sourceQpn: 77,
    sendOpsFlags: SendOpsFlags.SEND,
  }),
  srq: ({ cq, srq }) => ({
    qpType: QpType.RC,
    sendCq: cq,
    recvCq: cq,
    srq,
    cap: { maxSendWr: 4 },
    sendOpsFlags: SendOpsFlags.SEND,
  }),
  rss: ({ table, rxHash }) => ({
    qpType: QpType.RAW_PACKET,
    rwqIndTbl: table,
    rxHashConf: rxHash,
    sendOpsFlags: 0,
  }),
  xrc: ({ xrcd }) => ({ qpType: QpType.XRC_RECV, xrcd, sendOpsFlags: 0 }),
};

const ofBothQueuePairs: Readonly<Record<string, Recipe>> = Object.fromEntries(
  ["QueuePair", "QueuePairEx"].flatMap((type) =>
    Object.entries(QUEUE_PAIRS).map(([name, init]): [string, Recipe] => [
      `new ${type} (${name})`,
      (set) => [set.pd, init(set)],
    ])
  ),
);

/** Several valid calls of one callable have names with a comment after the id. */
export const RECIPES: Readonly<Record<string, Recipe>> = {
  ...CM_RECIPES,
  ...EFA_RECIPES,
  ...OTHER_RECIPES,
  "new Gid": () => [new Uint8Array(16)],
  "Gid.parse": () => ["fe80::1"],
  "Gid#equals": ({ gid }) => [gid],
  "new Grh": () => [new Uint8Array(40)],
  formatAddress: () => [new Uint8Array(4)],
  parseAddress: () => ["10.0.0.1"],
  "new AddressHandle": ({ pd }) => [pd, route()],
  "AddressHandle.createAsync": ({ pd }) => [pd, route(), { signal: signal(), untrusted: true }],
  "AddressHandle.fromWc": ({ pd, grh }) => [pd, 1, { ...WC }, grh],
  "AddressHandle.fromWcAsync": (
    { pd, grh },
  ) => [pd, 1, { ...WC }, { grh, signal: signal() }],
  initAhFromWc: ({ context, grh }) => [context, 1, { ...WC }, grh],
  initAhFromWcAsync: ({ context, grh }) => [context, 1, { ...WC }, { grh, signal: signal() }],
  resolveEthL2FromGid: ({ context }) => [context, route()],
  resolveEthL2FromGidAsync: ({ context }) => [context, route(), { signal: signal() }],
  "new CompletionChannel": ({ context }) => [context],
  "CompletionChannel#getCqEvent": ({ cq }) => {
    cq.reqNotify();
    complete(cq);
    return [{ signal: signal() }];
  },
  "CompletionChannel#getCqEventSync": ({ cq }) => {
    cq.reqNotify();
    complete(cq);
    return [{ timeout: 1 }];
  },
  "CompletionChannel#ref": () => [],
  "CompletionChannel#unref": () => [],
  "new CompletionQueue": ({ context, channel }) => [context, { cqe: 4, channel, compVector: 2 }],
  "CompletionQueue#ref": () => [],
  "CompletionQueue#unref": () => [],
  "CompletionQueue#poll": () => [4],
  "CompletionQueue#pollInto": ({ batch }) => [batch],
  "CompletionQueue#reqNotify": () => [true],
  "CompletionQueue#reqNotify (any)": () => [],
  "CompletionQueue#resize": () => [100],
  "CompletionQueue#modify": () => [{ moderate: { cqCount: 16, cqPeriod: 100 } }],
  "CompletionQueue#waitSync": ({ cq }) => waitSync(cq),
  "CompletionQueue#waitSync (extended)": ({ cqEx }) => waitSync(cqEx),
  "CompletionQueue#completions": ({ cq }) => completions(cq),
  "new CompletionQueueEx": ({ context, channel, parentDomain }) => [
    context,
    {
      cqe: 4,
      channel,
      compVector: 1,
      wcFlags: CreateCqWcFlags.BYTE_LEN | CreateCqWcFlags.COMPLETION_TIMESTAMP,
      flags: CreateCqAttrFlags.SINGLE_THREADED,
      parentDomain,
    },
  ],
  "CompletionQueue#poll (extended)": () => [4],
  "CompletionQueue#completions (extended)": ({ cqEx }) => completions(cqEx),
  wcStatusStr: () => [1],
  wrOpcodeStr: () => [WrOpcode.RDMA_WRITE],
  "new CompletionCounter": ({ context }) => [context, CompCntrType.BYTES],
  "CompletionCounter#set": () => [5],
  "CompletionCounter#setErr": () => [5n],
  "CompletionCounter#inc": () => [5n],
  "CompletionCounter#incErr": () => [5],
  "new WorkCompletionError": ({ completion }) => [completion],
  "new WorkCompletionList": () => [4],
  "new WorkCompletionListEx": () => [4],
  nameOf: () => [QpType, 2],
  namesOf: () => [AccessFlags, 3],
  "Context.open": () => [DEVICE],
  "Context.import": () => [0],
  "Context#events": ({ context }) => {
    sendPortEvent(context, EventType.PORT_ACTIVE);
    return [{ signal: signal() }];
  },
  "Context#eventsSync": ({ context }) => {
    sendPortEvent(context, EventType.PORT_ACTIVE);
    return [{ timeout: 1 }];
  },
  "Context#ref": () => [],
  "Context#unref": () => [],
  "Context#queryPort": () => [1],
  "Context#queryPort (old)": ({ context }) => {
    takeQueryPort(context);
    return [1];
  },
  "Context#queryPortSpeed": () => [1],
  "Context#queryGid": () => [1, 0],
  "Context#queryGidEx": () => [1, 0],
  "Context#queryGidTable": () => [1],
  "Context#recommendGid": () => [1],
  "Context#queryPkey": () => [1, 0],
  "Context#getPkeyIndex": () => [1, 0xffff],
  mtuBytes: () => [Mtu[1024]],
  isQptSupported: () => [1 << QpType.UD, QpType.UD],
  mbpsToRate: () => [2500],
  multToRate: () => [1],
  rateToMbps: () => [Rate["2_5_GBPS"]],
  rateToMult: () => [Rate["2_5_GBPS"]],
  eventTypeStr: () => [EventType.CQ_ERR],
  nodeTypeStr: () => [NodeType.CA],
  portStateStr: () => [PortState.ACTIVE],
  flowLabelToUdpSport: () => [1],
  "new Counters": ({ context }) => [context],
  "Counters#attach": ({ flow }) => [{ counterDesc: CounterDescription.BYTES, index: 3 }, flow],
  "Counters#read": () => [2, ReadCountersFlags.PREFER_CACHED],
  "new Flow": (set) => [
    set.raw,
    {
      type: FlowAttrType.NORMAL,
      priority: 7,
      port: 1,
      flags: FlowFlags.DONT_TRAP,
      specs: flowSpecs(set),
    },
  ],
  "new Flow (drop)": ({ raw }) => [raw, { port: 1, specs: [{ type: FlowSpecType.ACTION_DROP }] }],
  "new Flow (sniffer)": ({ raw }) => [raw, { type: FlowAttrType.SNIFFER, port: 1, specs: [] }],
  "new FlowActionEsp": ({ context }) => [context, structuredClone(ESP)],
  "new FlowActionEsp (encap)": ({ context }) => [
    context,
    { ...structuredClone(ESP), espEncap: headers() },
  ],
  "FlowActionEsp#modify": () => [
    {
      esn: 6,
      espEncap: headers([FlowSpecType.IPV4, FlowSpecType.UDP]),
    },
  ],
  "FlowActionEsp#modify (all)": () => [{ ...structuredClone(ESP), espEncap: headers() }],
  "new MemoryRegion": ({ pd }) => [pd, 4096, AccessFlags.LOCAL_WRITE, { iova: 0x1000n }],
  "new MemoryRegion (buffer)": ({ pd }) => [pd, new Uint8Array(64), AccessFlags.REMOTE_READ],
  "new MemoryRegion (relaxed)": ({ pd }) => [
    pd,
    64,
    AccessFlags.LOCAL_WRITE | AccessFlags.RELAXED_ORDERING,
  ],
  "MemoryRegion.createAsync": (
    { pd },
  ) => [pd, 4096, AccessFlags.LOCAL_WRITE, { iova: 4096, signal: signal() }],
  "MemoryRegion#sge": () => [0, 64],
  "MemoryRegion#grhAt": () => [64],
  "new MemorySlice": ({ mr }) => [mr, 0, 64],
  "new ProtectionDomain": ({ context }) => [context],
  adviseMr: ({ pd, mr }) => [
    pd,
    AdviseMrAdvice.PREFETCH,
    AdviseMrFlags.FLUSH,
    [mr.sge(0, 1024), mr.sge(2048, 512)],
  ],
  "new DeviceMemory": ({ context }) => [context, { length: 64, logAlignReq: 3 }],
  "DeviceMemory.import": ({ context, dm }) => [context, dm.handle, 64],
  "DeviceMemory#memcpyTo": () => [4, Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7)],
  "DeviceMemory#memcpyFrom": () => [4, 8],
  "new DeviceMemoryRegion": (
    { pd, dm },
  ) => [pd, dm, { dmOffset: 4, length: 8, access: AccessFlags.ZERO_BASED }],
  "new DmaBufMemoryRegion": ({ pd }) => [
    pd,
    { fd: 5, offset: 4096, length: 8192, iova: 0x10000, access: AccessFlags.LOCAL_WRITE },
  ],
  "new AllocatedBuffer": ({ pd }) => [pd, 4096],
  "new AllocatedBufferRegion": ({ buf }) => [buf, AccessFlags.LOCAL_WRITE, 64, 128],
  "new DmaHandle": ({ context }) => [context, { cpuId: 3, ph: 2, tphMemType: TphMemType.PM }],
  "new MemoryRegionEx": ({ pd, dmah }) => [
    pd,
    { access: AccessFlags.LOCAL_WRITE, source: 64, iova: 0x1000, dmah },
  ],
  "new MemoryRegionEx (buf)": ({ pd, buf }) => [
    pd,
    { access: AccessFlags.REMOTE_READ, buf, offset: 64, length: 128 },
  ],
  "new MemoryRegionEx (fd)": ({ pd }) => [
    pd,
    { access: AccessFlags.LOCAL_WRITE, fd: 5, offset: 4096, length: 8192 },
  ],
  "new ImplicitMemoryRegion": ({ pd }) => [pd, AccessFlags.ON_DEMAND],
  "ImplicitMemoryRegion#allocate": () => [64],
  "MemoryRegion.import": ({ pd, mr }) => [pd, mr.handle, 0x1000n],
  "ProtectionDomain.import": ({ context, pd }) => [context, pd.handle],
  incRkey: () => [1],
  "new MemoryWindow": ({ pd }) => [pd, MwType.TYPE_2],
  "new NullMemoryRegion": ({ pd }) => [pd],
  "new ParentDomain": ({ pd, td }) => [pd, { td, pdContext: 5 }],
  reregMr: ({ pd, mr }) => [mr, { pd, source: 4096, access: AccessFlags.REMOTE_READ }],
  "new ParentDomain (unprotected)": ({ pd }) => [pd, { allowCcUnprotectedAlloc: true }],
  "new ParentDomain (alignment)": ({ pd }) => [pd, { alignment: 64 }],
  "new ThreadDomain": ({ context }) => [context],
  "new OpenedQueuePair": ({ xrcd }) => [{ xrcd, qpNum: 5, qpType: QpType.XRC_RECV }],
  ...ofBothQueuePairs,
  "new QueuePair (plain)": ({ pd, cq }) => {
    const cap = { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 2, maxRecvSge: 2, maxInlineData: 64 };
    return [pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap }];
  },
  "QueuePair#postRecv": ({ mr }) => [{ wrId: 1, sge: mr.sge(0, 64) }],
  "QueuePair#postRecv (list)": ({ mr }) => [
    [{ wrId: 1, sge: [mr.sge(0, 16), mr.sge(64, 32)] }, { wrId: 2n ** 64n - 1n }],
  ],
  "QueuePair#postRecv (prepared)": ({ recvs }) => [recvs, 1, 2],
  ...REQUEST_RECIPES,
  "QueuePair#postSend (list)": ({ mr, ah }) => [
    [
      {
        wrId: 2n ** 64n - 1n,
        sge: [mr.sge(0, 32), mr.sge(32, 8)],
        ah,
        remoteQpn: 1,
        remoteQkey: QKEY,
      },
      { sge: mr.sge(64, 8), ah, remoteQpn: 1, remoteQkey: QKEY },
    ],
  ],
  "QueuePair#postSend (prepared)": ({ sends }) => [sends, 1, 2],
  "QueuePair#attachMcast": ({ gid }) => [gid, 0xc001],
  "QueuePair#detachMcast": ({ gid, ud }) => {
    ud.attachMcast(gid, 0xc001);
    return [gid, 0xc001];
  },
  "QueuePair#attachCompCntr": ({ counter }) => [
    counter,
    QpAttachCompCntrOp.SEND | QpAttachCompCntrOp.RECV,
  ],
  "QueuePair#bindMw": ({ mw1, bindable }) => [
    mw1,
    {
      wrId: 1,
      signaled: true,
      bindInfo: bindInfo(bindable),
    },
  ],
  "QueuePair#modifyRateLimit": () => [{ rateLimit: 100_000, maxBurstSz: 4096, typicalPktSz: 512 }],
  "QueuePair#setEce": () => [{ vendorId: 0x2c9, options: 0x1000_0001 }],
  "QueuePair#queryDataInOrder": () => [WrOpcode.RDMA_WRITE, 0],
  "WrBuilder#sendImm": () => [5],
  "WrBuilder#sendInv": () => [5],
  "WrBuilder#sendTso": () => [new Uint8Array(14), 1400],
  "WrBuilder#rdmaWrite": () => [1, 8n],
  "WrBuilder#rdmaWriteImm": () => [1, 8n, 5],
  "WrBuilder#rdmaRead": () => [1, 8],
  "WrBuilder#atomicCmpSwp": () => [1, 8, 1, 2n],
  "WrBuilder#atomicFetchAdd": () => [1, 8, 1],
  "WrBuilder#atomicWrite": () => [1, 8, new Uint8Array(8)],
  "WrBuilder#localInv": () => [1],
  "WrBuilder#bindMw": ({ mw, bindable }) => [
    mw,
    5,
    { mr: bindable, addr: bindable.addr, length: 8, mwAccessFlags: 0 },
  ],
  "WrBuilder#flush": () => [1, 8, 8, PlacementType.GLOBAL, SelectivityLevel.RANGE],
  "WrBuilder#setUdAddr": ({ ah, udBuilder }) => {
    udBuilder.send();
    return [ah, 1, QKEY];
  },
  "WrBuilder#setXrcSrqn": () => [5],
  "WrBuilder#setSge": ({ mr, builder }) => {
    builder.send();
    return [mr.sge(0, 8)];
  },
  "WrBuilder#setSgeList": ({ mr, builder }) => {
    builder.send();
    return [[mr.sge(0, 8), mr.sge(8, 8)]];
  },
  "WrBuilder#setInlineData": ({ builder }) => {
    builder.send();
    return [new Uint8Array(8)];
  },
  "WrBuilder#setInlineDataList": ({ builder }) => {
    builder.send();
    return [[new Uint8Array(8), new Uint8Array(4)]];
  },
  "QueuePair#modify": () => [qpAttr()],
  "QueuePair#modify (ud)": () => [
    { qpState: QpState.INIT, qkey: QKEY, pkeyIndex: 3, portNum: 1 },
  ],
  "QueuePair#init": () => [
    { portNum: 1, gidIndex: 0, pkeyIndex: 0, qpAccessFlags: 0, psn: 1, maxDestRdAtomic: 1 },
  ],
  "QueuePair#init (ud)": () => [{ portNum: 1, qkey: QKEY, psn: 1 }],
  "QueuePair#activateRc": () => rcWay(),
  "QueuePair#modifyAsync": () => [qpAttr(), { signal: signal(), untrusted: true }],
  "QueuePair#activateRcAsync": () => [...rcWay(), { signal: signal(), untrusted: true }],
  "QueuePair#activateUcAsync": () => [...ucWay(), { signal: signal(), untrusted: false }],
  "QueuePair#activateUc": () => ucWay(),
  "QueuePair#activateUd": () => [
    { portNum: 1, qkey: QKEY, gidIndex: 0, pkeyIndex: 0, sqPsn: 1 },
  ],
  "QueuePair#ahAttr": () => [
    { ...PEER, transport: "UD", qkey: QKEY },
    { sl: 3, hopLimit: 1, trafficClass: 5, flowLabel: 6 },
  ],
  "QueuePair#query": () => [1],
  "OpenedQueuePair#modify": () => [qpAttr()],
  "OpenedQueuePair#modifyAsync": () => [qpAttr(), { signal: signal(), untrusted: true }],
  "OpenedQueuePair#init": () => [{ portNum: 1, gidIndex: 0, psn: 1 }],
  "OpenedQueuePair#activateRc": () => openedWay(),
  "OpenedQueuePair#activateRcAsync": () => [...openedWay(), { signal: signal(), untrusted: true }],
  "OpenedQueuePair#query": () => [1],
  "new ReplyPath": ({ pd }) => [pd, { portNum: 1, maxPeers: 4, maxPending: 2 }],
  "ReplyPath#to": ({ grh }) => [{ ...WC, sgid: Gid.parse("fe80::7") }, grh],
  "ReplyPath#toAsync": (
    { grh },
  ) => [{ ...WC, sgid: Gid.parse("fe80::7") }, { grh, signal: signal() }],
  "ReplyPath#toAddress": () => [route()],
  "ReplyPath#toAddressAsync": () => [route(), { signal: signal() }],
  "ReplyPath#toAt": ({ batch, mr }) => [batch, 0, mr, 0],
  "ReplyPath#writeAttr": ({ batch, mr }) => [new DataView(new ArrayBuffer(64)), batch, 0, mr, 0],
  "ReplyPath#attr": ({ grh }) => [{ ...WC, sgid: Gid.parse("fe80::7") }, grh],
  rssInput: () => [packet(), RSS, { symmetric: false }],
  writeRssInput: () => [new Uint8Array(64), packet(), RSS, { symmetric: true }],
  "new RwqIndirectionTable": ({ context, wq }) => [context, [wq, wq]],
  "RwqIndirectionTable#workQueueFor": ({ rxHash }) => [packet(), rxHash, { symmetric: false }],
  "new RxHash": () => [
    { rxHashFunction: RxHashFunction.TOEPLITZ, rxHashKey: KEY.slice(), rxHashFieldsMask: RSS },
  ],
  "RxHash#hash": () => [packet(), { symmetric: true }],
  toeplitz: () => [KEY.slice(), new Uint8Array(8)],
  "new ToeplitzKey": () => [KEY.slice()],
  "ToeplitzKey#hash": () => [new Uint8Array(8), 4],
  "new WorkQueue": ({ pd, cq }) => [
    pd,
    {
      wqType: enums.ibv_wq_type.IBV_WQT_RQ,
      maxWr: 4,
      maxSge: 1,
      cq,
      createFlags: WqFlags.SCATTER_FCS,
    },
  ],
  "WorkQueue#modify": () => [
    {
      wqState: WqState.ERR,
      currWqState: WqState.RDY,
      flags: WqFlags.CVLAN_STRIPPING,
      flagsMask: WqFlags.CVLAN_STRIPPING | WqFlags.SCATTER_FCS,
    },
  ],
  "WorkQueue#postRecv": ({ mr }) => [{ wrId: 1, sge: mr.sge(0, 64) }],
  "WorkQueue#postRecv (prepared)": ({ recvs }) => [recvs, 1, 2],
  "new SharedReceiveQueue": ({ pd, cq }) => [
    pd,
    { maxWr: 4, maxSge: 1, srqType: SrqType.TM, cq, tmCap: { maxNumTags: 8, maxOps: 5 } },
  ],
  "new SharedReceiveQueue (xrc)": ({ pd, cq, xrcd }) => [
    pd,
    { maxWr: 4, srqType: SrqType.XRC, cq, xrcd },
  ],
  "new SharedReceiveQueue (basic)": ({ pd }) => [pd, { maxWr: 4 }],
  "SharedReceiveQueue#modify": () => [{ maxWr: 16, srqLimit: 2 }],
  "SharedReceiveQueue#postRecv": ({ mr }) => [{ wrId: 1, sge: mr.sge(0, 64) }],
  "SharedReceiveQueue#postRecv (list)": ({ mr }) => [
    [{ wrId: 1, sge: [mr.sge(0, 16), mr.sge(64, 32)] }, { wrId: 2, sge: mr.sge(128, 8) }],
  ],
  "SharedReceiveQueue#postRecv (prepared)": ({ recvs }) => [recvs, 1, 2],
  "SharedReceiveQueue#postOps": ({ mr }) => [
    {
      wrId: 1,
      opcode: OpsWrOpcode.TAG_ADD,
      flags: OpsFlags.SIGNALED | OpsFlags.TM_SYNC,
      unexpectedCnt: 3,
      recvWrId: 11,
      sge: mr.sge(0, 64),
      tag: 0x1234,
      mask: 0xffffn,
    },
  ],
  "SharedReceiveQueue#postOps (delete)": () => [{ opcode: OpsWrOpcode.TAG_DEL, handle: 7 }],
  "SharedReceiveQueue#postOps (sync)": () => [
    { opcode: OpsWrOpcode.TAG_SYNC, flags: OpsFlags.TM_SYNC, unexpectedCnt: 4 },
  ],
  "new XrcDomain": ({ context }) => [context, { fd: 5, oflags: 0o200 }],
  "new XrcDomain (private)": ({ context }) => [context],
  "new RecvRequestList": () => [{ capacity: 2, maxSge: 2 }],
  "RecvRequestList#set": ({ mr }) => [0, { wrId: 1, sge: [mr.sge(0, 64)] }],
  "RecvRequestList#set (addresses)": () => [0, { sge: [{ addr: 64n, length: 8, lkey: 1 }] }],
  "RequestList#setWrId": () => [0, 5],
  "RequestList#setSge": ({ mr }) => [0, mr.sge(0, 32)],
  "RequestList#setSge (addresses)": () => [0, [{ addr: 64n, length: 8, lkey: 1 }]],
  "RequestList#setLength": () => [0, 5],
  "new SendRequestList": () => [{ capacity: 2, maxSge: 2 }],
  "SendRequestList#set (addresses)": () => [
    0,
    {
      opcode: WrOpcode.RDMA_WRITE,
      sge: [{ addr: 64n, length: 8, lkey: 1 }, { addr: 128, length: 8, lkey: 1 }],
      remoteAddr: 64n,
      rkey: 5,
    },
  ],
  "SendRequestList#setSendFlags": () => [0, 2],
  "SendRequestList#setImmData": ({ sends }) => {
    sends.set(0, { opcode: WrOpcode.SEND_WITH_IMM });
    return [0, 5];
  },
  "SendRequestList#setInvalidateRkey": ({ sends }) => {
    sends.set(0, { opcode: WrOpcode.LOCAL_INV });
    return [0, 5];
  },
  "SendRequestList#setAh": ({ ah }) => [0, ah],
  "SendRequestList#setRemote": () => [0, 5, 6],
  "SendRequestList#setRdma": ({ sends }) => {
    sends.set(0, { opcode: WrOpcode.RDMA_WRITE });
    return [0, 5n, 6];
  },
  "SendRequestList#setAtomic": ({ sends }) => {
    sends.set(0, { opcode: WrOpcode.ATOMIC_CMP_AND_SWP });
    return [0, 8n, 6, 1n, 2n];
  },
  "SendRequestList#setBindMw": ({ sends, mw, bindable }) => {
    sends.set(0, { opcode: WrOpcode.BIND_MW });
    return [0, mw, 5, { mr: bindable, addr: bindable.addr, length: 8, mwAccessFlags: 0 }];
  },
  "SendRequestList#setRemoteSrqn": () => [0, 5],
};

/** The objects that the members of a class are called on, and those of single calls. */
export const RECEIVERS: Readonly<Record<string, Receiver>> = {
  ...CM_RECEIVERS,
  ...EFA_RECEIVERS,
  ...OTHER_RECEIVERS,
  ...REQUEST_RECEIVERS,
  Gid: ({ gid }) => gid,
  Grh: ({ grh }) => grh,
  CompletionChannel: ({ channel }) => channel,
  CompletionQueue: ({ cq }) => cq,
  CompletionQueueEx: ({ cqEx }) => cqEx,
  "CompletionQueue#poll (extended)": ({ cqEx }) => cqEx,
  "CompletionQueue#completions (extended)": ({ cqEx }) => cqEx,
  "CompletionQueue#waitSync (extended)": ({ cqEx }) => cqEx,
  WorkCompletionList: ({ batch }) => batch,
  WorkCompletionListEx: ({ batchEx }) => batchEx,
  WorkCompletion: ({ completion }) => completion,
  Context: ({ context }) => context,
  DeviceMemory: ({ dm }) => dm,
  AllocatedBuffer: ({ buf }) => buf,
  CompletionCounter: ({ counter }) => counter,
  ImplicitMemoryRegion: ({ implicit }) => implicit,
  MemoryWindow: ({ mw }) => mw,
  QueuePairEx: ({ udEx }) => udEx,
  OpenedQueuePair: ({ opened }) => opened,
  WrBuilder: ({ builder }) => builder,
  Counters: ({ counters }) => counters,
  Flow: ({ flow }) => flow,
  FlowActionEsp: ({ action }) => action,
  MemoryRegion: ({ mr }) => mr,
  MemorySlice: ({ mr }) => mr.sge(0, 64),
  ProtectionDomain: ({ pd }) => pd,
  QueuePair: ({ ud }) => ud,
  ReplyPath: ({ path }) => path,
  RwqIndirectionTable: ({ table }) => table,
  RxHash: ({ rxHash }) => rxHash,
  ToeplitzKey: ({ toeplitz }) => toeplitz,
  WorkQueue: ({ wq }) => wq,
  SharedReceiveQueue: ({ srq }) => srq,
  RequestList: ({ recvs }) => recvs,
  RecvRequestList: ({ recvs }) => recvs,
  SendRequestList: ({ sends }) => sends,
  Resource: ({ ud }) => ud,
  NativeResource: ({ ud }) => ud,
  Completions: ({ cq }) => {
    complete(cq);
    return cq.completions();
  },
  VerbsError: () => new VerbsError("ibv_open_device", "open device", 22),
  WorkCompletionEx: ({ batchEx }) => batchEx.at(0),
  "QueuePair#bindMw": ({ ready }) => ready,
  "QueuePair#postRecv (list)": ({ ready }) => ready,
  "WrBuilder#setUdAddr": ({ udBuilder }) => udBuilder,
  "WrBuilder#complete": ({ readyEx }) => {
    readyEx.modify({ qpState: QpState.RESET });
    return readyEx.wrStart().send();
  },
  "WrBuilder#sendTso": ({ tso }) => tso.wrStart(),
  "WrBuilder#setXrcSrqn": ({ xrcEx }) => xrcEx.wrStart().send(),
  ...Object.fromEntries(
    ["address", "modify", "modifyAsync", "activateRc", "activateRcAsync", "query"]
      .map((name): [string, Receiver] => [`QueuePair#${name}`, ({ rc }) => rc]),
  ),
  "QueuePair#activateUc": ({ uc }) => uc,
  "QueuePair#activateUcAsync": ({ uc }) => uc,
  "QueuePair#activateUd": ({ reset }) => reset,
  "QueuePair#ahAttr": ({ reset }) => {
    reset.activateUd({ portNum: 1, gidIndex: 0, qkey: QKEY });
    return reset;
  },
  "QueuePair#init": ({ resetRc }) => resetRc,
  "QueuePair#init (ud)": ({ reset }) => reset,
  "QueuePair#modify (ud)": ({ reset }) => reset,
  "SharedReceiveQueue#postOps": ({ tagSrq }) => tagSrq,
  "SharedReceiveQueue#postOps (delete)": ({ tagSrq }) => tagSrq,
  "SharedReceiveQueue#postOps (sync)": ({ tagSrq }) => tagSrq,
  "RequestList#setSge": ({ sends }) => sends,
};

function waitSync(queue: CompletionQueue): unknown[] {
  complete(queue);
  return [{ timeout: 1, spinMicroseconds: 1 }];
}

function completions(queue: CompletionQueue): unknown[] {
  complete(queue);
  return [{ signal: signal(), batch: 2, spinMicroseconds: 1 }];
}
