// Arguments that several valid calls have, with all their attributes.

import {
  AccessFlags,
  FlowSpecType,
  Gid,
  type MemoryRegion,
  MigState,
  Mtu,
  QpState,
  Rate,
  SendFlags,
  WrOpcode,
} from "../../../mod.ts";
import { type ObjectSet, QKEY } from "./object_set.ts";

/** The arguments of a valid call. */
export type Recipe = (set: ObjectSet) => unknown[] | Promise<unknown[]>;

/** The object of a valid call. */
export type Receiver = (set: ObjectSet) => unknown;

/** The attributes of an address handle. */
export function route(dgid = "ff0e::1"): object {
  return {
    portNum: 1,
    dlid: 0x1234,
    sl: 3,
    srcPathBits: 5,
    staticRate: Rate["10_GBPS"],
    isGlobal: true,
    grh: {
      dgid: Gid.parse(dgid),
      sgidIndex: 1,
      flowLabel: 0x12345,
      hopLimit: 64,
      trafficClass: 8,
    },
  };
}

/** Sizes of a queue pair. */
export const CAP = {
  maxSendWr: 8,
  maxRecvWr: 16,
  maxSendSge: 2,
  maxRecvSge: 3,
  maxInlineData: 32,
};

/** All attributes of a queue pair that can be changed. */
export function qpAttr(): object {
  return {
    qpState: QpState.RTR,
    curQpState: QpState.INIT,
    pathMtu: Mtu[1024],
    pathMigState: MigState.REARM,
    qkey: QKEY,
    rqPsn: 0x123456,
    sqPsn: 0x0abcde,
    destQpNum: 0x654321,
    qpAccessFlags: AccessFlags.REMOTE_WRITE,
    cap: { ...CAP },
    ahAttr: route(),
    altAhAttr: route("fe80::99"),
    pkeyIndex: 3,
    altPkeyIndex: 4,
    enSqdAsyncNotify: 1,
    maxRdAtomic: 8,
    maxDestRdAtomic: 9,
    minRnrTimer: 12,
    portNum: 1,
    timeout: 14,
    retryCnt: 7,
    rnrRetry: 6,
    altPortNum: 1,
    altTimeout: 15,
    rateLimit: 100_000,
  };
}

const ANY_MAC = { dstMac: "02:00:00:00:00:01", srcMac: "02:00:00:00:00:02" };
const ANY_IPV4 = { srcIp: "10.0.0.1", dstIp: "10.0.0.2" };
const ANY_IPV6 = { srcIp: "fe80::1", dstIp: "fe80::2" };

const IPV6 = { flowLabel: 0x12345, nextHdr: 50, trafficClass: 8, hopLimit: 64 };

const FILTERS: readonly (readonly [type: number, filter: object])[] = [
  [FlowSpecType.ETH, { ...ANY_MAC, etherType: 0x800, vlanTag: 5 }],
  [FlowSpecType.IPV4, ANY_IPV4],
  [FlowSpecType.IPV4_EXT, { ...ANY_IPV4, proto: 17, tos: 4, ttl: 64, flags: 2 }],
  [FlowSpecType.IPV6, { ...ANY_IPV6, ...IPV6 }],
  [FlowSpecType.ESP, { spi: 7, seq: 9 }],
  [FlowSpecType.TCP, { dstPort: 80, srcPort: 81 }],
  [FlowSpecType.UDP, { dstPort: 4791, srcPort: 4792 }],
  [FlowSpecType.VXLAN_TUNNEL, { tunnelId: 0x1234 }],
  [FlowSpecType.GRE, { cKsRes0Ver: 0x2000, protocol: 0x800, key: 3 }],
  [FlowSpecType.MPLS, { label: 0x12345000 }],
];

/** A condition of each kind, and an action of each kind. */
export function flowSpecs({ counters, action }: ObjectSet): object[] {
  return [
    ...FILTERS.map(([type, filter]) => {
      return { type, inner: type === FlowSpecType.IPV4, val: { ...filter }, mask: filter };
    }),
    { type: FlowSpecType.ACTION_TAG, tagId: 0x123456 },
    { type: FlowSpecType.ACTION_COUNT, counters },
    { type: FlowSpecType.ACTION_HANDLE, action },
  ].map((spec) => structuredCloneOf(spec));
}

/** As many as an action can add. */
const ENCAPSULATING = FILTERS.map(([type]) => type)
  .filter((type) => type !== FlowSpecType.IPV4 && type !== FlowSpecType.TCP);

/** The headers of packets that an action adds. */
export function headers(types: readonly number[] = ENCAPSULATING): object[] {
  return FILTERS.filter(([type]) => types.includes(type))
    .map(([type, val]) => ({ type, val: { ...val } }));
}

/** The misuses write into plain objects, and objects of a class stay the same. */
function structuredCloneOf(spec: object): object {
  return "mask" in spec ? structuredClone(spec) : spec;
}

/** A packet that has all of what `RSS` looks at. */
export function packet(): object {
  return {
    srcIp: "10.0.0.1",
    dstIp: "10.0.0.2",
    protocol: "tcp",
    srcPort: 1,
    dstPort: 2,
  };
}

/** A send request. */
interface Request {
  /** The queue pair that can send it. */
  readonly on: Receiver;
  readonly make: (set: ObjectSet) => object;
}

const REMOTE = 0x10000;
const RKEY = 0x4242;

const ready: Receiver = (set) => set.ready;

function rdma(opcode: number, attributes: object): Request {
  return { on: ready, make: ({ mr }) => ({ opcode, sge: mr.sge(0, 8), ...attributes }) };
}

/** What a window is bound to. */
export function bindInfo(mr: MemoryRegion): object {
  return { mr, addr: mr.addr + 128n, length: 256, mwAccessFlags: AccessFlags.REMOTE_READ };
}

/** Requests that have all attributes between them. */
const REQUESTS: Readonly<Record<string, Request>> = {
  datagram: {
    on: ({ ud }) => ud,
    make: ({ mr, ah }) => ({
      wrId: 3,
      opcode: WrOpcode.SEND_WITH_IMM,
      signaled: true,
      inline: true,
      fence: false,
      solicited: true,
      sge: mr.sge(5, 12),
      immData: 0x01020304,
      ah,
      remoteQpn: 0x123456,
      remoteQkey: QKEY,
    }),
  },
  flags: {
    on: ready,
    make: ({ mr }) => ({ sendFlags: SendFlags.SIGNALED | SendFlags.FENCE, sge: mr.sge(0, 8) }),
  },
  sendInv: rdma(WrOpcode.SEND_WITH_INV, { invalidateRkey: 0x5502 }),
  write: rdma(WrOpcode.RDMA_WRITE, { remoteAddr: REMOTE, rkey: RKEY }),
  writeImm: rdma(WrOpcode.RDMA_WRITE_WITH_IMM, { remoteAddr: REMOTE + 8, rkey: RKEY, immData: 5 }),
  read: rdma(WrOpcode.RDMA_READ, { remoteAddr: REMOTE + 16, rkey: RKEY }),
  atomic: rdma(WrOpcode.ATOMIC_CMP_AND_SWP, {
    remoteAddr: REMOTE,
    rkey: RKEY,
    compareAdd: 0x1122334455667788n,
    swap: 9,
  }),
  fetchAdd: rdma(WrOpcode.ATOMIC_FETCH_AND_ADD, {
    remoteAddr: REMOTE,
    rkey: RKEY,
    compareAdd: 3,
  }),
  invalidate: { on: ready, make: () => ({ opcode: WrOpcode.LOCAL_INV, invalidateRkey: 0x5501 }) },
  bind: {
    on: ready,
    make: ({ mw, bindable: mr }) => ({
      opcode: WrOpcode.BIND_MW,
      rkey: 5,
      mw,
      bindInfo: bindInfo(mr),
    }),
  },
  xrc: { on: ({ xrcEx }) => xrcEx, make: ({ mr }) => ({ sge: mr.sge(0, 8), remoteSrqn: 0x77 }) },
};

/** Each request posted, and put into a list. */
export const REQUEST_RECIPES: Readonly<Record<string, Recipe>> = Object.fromEntries(
  Object.entries(REQUESTS).flatMap(([name, { make }]): [string, Recipe][] => [
    [`QueuePair#postSend (${name})`, (set) => [make(set)]],
    [`SendRequestList#set (${name})`, (set) => [0, make(set)]],
  ]),
);

/** The queue pairs that post them. */
export const REQUEST_RECEIVERS: Readonly<Record<string, Receiver>> = Object.fromEntries(
  Object.entries(REQUESTS).map(([name, { on }]) => [`QueuePair#postSend (${name})`, on]),
);
