// Arguments that several valid calls have, with all their attributes.

import {
  AccessFlags,
  FlowSpecType,
  Gid,
  MigState,
  Mtu,
  QpState,
  SendFlags,
  WrOpcode,
} from "../../../mod.ts";
import { QKEY, type World } from "./world.ts";

/** The arguments of a valid call. */
export type Recipe = (world: World) => unknown[] | Promise<unknown[]>;

/** The object of a valid call. */
export type Receiver = (world: World) => unknown;

/** The attributes of an address handle. */
export function route(): object {
  return {
    portNum: 1,
    dlid: 1,
    sl: 1,
    srcPathBits: 1,
    staticRate: 0,
    isGlobal: true,
    grh: {
      dgid: Gid.parse("ff0e::1"),
      sgidIndex: 0,
      flowLabel: 1,
      hopLimit: 2,
      trafficClass: 3,
    },
  };
}

/** All attributes of a queue pair that can be changed. */
export function qpAttr(): object {
  return {
    qpState: QpState.RTR,
    curQpState: QpState.INIT,
    pathMtu: Mtu[1024],
    pathMigState: MigState.MIGRATED,
    qkey: QKEY,
    rqPsn: 1,
    sqPsn: 2,
    destQpNum: 5,
    qpAccessFlags: AccessFlags.REMOTE_WRITE,
    cap: { maxSendWr: 3, maxRecvWr: 3, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 8 },
    ahAttr: route(),
    altAhAttr: route(),
    pkeyIndex: 0,
    altPkeyIndex: 0,
    enSqdAsyncNotify: 1,
    maxRdAtomic: 1,
    maxDestRdAtomic: 1,
    minRnrTimer: 1,
    portNum: 1,
    timeout: 14,
    retryCnt: 7,
    rnrRetry: 7,
    altPortNum: 1,
    altTimeout: 14,
    rateLimit: 1,
  };
}

const ANY_MAC = { dstMac: "02:00:00:00:00:01", srcMac: "02:00:00:00:00:02" };
const ANY_IPV4 = { srcIp: "10.0.0.1", dstIp: "10.0.0.2" };
const ANY_IPV6 = { srcIp: "fe80::1", dstIp: "fe80::2" };

const FILTERS: readonly (readonly [type: number, filter: object])[] = [
  [FlowSpecType.ETH, { ...ANY_MAC, etherType: 0x800, vlanTag: 1 }],
  [FlowSpecType.IPV4_EXT, { ...ANY_IPV4, proto: 17, tos: 1, ttl: 2, flags: 1 }],
  [FlowSpecType.IPV6, { ...ANY_IPV6, flowLabel: 1, nextHdr: 17, trafficClass: 1, hopLimit: 1 }],
  [FlowSpecType.ESP, { spi: 1, seq: 2 }],
  [FlowSpecType.UDP, { dstPort: 4791, srcPort: 1 }],
  [FlowSpecType.VXLAN_TUNNEL, { tunnelId: 1 }],
  [FlowSpecType.GRE, { cKsRes0Ver: 1, protocol: 0x800, key: 1 }],
  [FlowSpecType.MPLS, { label: 1 }],
];

/** A condition of each kind, and an action of each kind. */
export function flowSpecs({ counters, action }: World): object[] {
  return [
    ...FILTERS.map(([type, filter]) => ({ type, inner: false, val: { ...filter }, mask: filter })),
    { type: FlowSpecType.ACTION_TAG, tagId: 1 },
    { type: FlowSpecType.ACTION_COUNT, counters },
    { type: FlowSpecType.ACTION_HANDLE, action },
  ].map((spec) => structuredCloneOf(spec));
}

/** The headers of packets that an action adds. */
export function headers(): object[] {
  return FILTERS.map(([type, val]) => ({ type, val: { ...val } }));
}

/** The misuses write into plain objects, and objects of a class stay the same. */
function structuredCloneOf(spec: object): object {
  return "mask" in spec ? structuredClone(spec) : spec;
}

/** A packet that has all of what `RSS` looks at. */
export function packet(): object {
  return {
    source: "10.0.0.1",
    destination: "10.0.0.2",
    protocol: "tcp",
    sourcePort: 1,
    destinationPort: 2,
  };
}

/** A send request. */
interface Request {
  /** The queue pair that can send it. */
  readonly on: Receiver;
  readonly make: (world: World) => object;
}

const ready: Receiver = (world) => world.ready;

/** Requests that have all attributes between them. */
const REQUESTS: Readonly<Record<string, Request>> = {
  datagram: {
    on: ({ ud }) => ud,
    make: ({ mr, ah }) => ({
      wrId: 1,
      opcode: WrOpcode.SEND_WITH_IMM,
      signaled: true,
      inline: true,
      fence: false,
      solicited: true,
      sge: mr.slice(0, 32),
      immData: 5,
      ah,
      remoteQpn: 1,
      remoteQkey: QKEY,
    }),
  },
  flags: { on: ready, make: ({ mr }) => ({ sendFlags: SendFlags.SIGNALED, sge: mr.slice(0, 8) }) },
  atomic: {
    on: ready,
    make: ({ mr }) => ({
      opcode: WrOpcode.ATOMIC_CMP_AND_SWP,
      sge: mr.slice(0, 8),
      remoteAddr: 8,
      rkey: 1,
      compareAdd: 1,
      swap: 2n,
    }),
  },
  invalidate: { on: ready, make: () => ({ opcode: WrOpcode.LOCAL_INV, invalidateRkey: 1 }) },
  bind: {
    on: ready,
    make: ({ mw, bindable: mr }) => ({
      opcode: WrOpcode.BIND_MW,
      rkey: 5,
      mw,
      bindInfo: { mr, addr: mr.addr, length: 8, mwAccessFlags: 0 },
    }),
  },
  xrc: { on: ({ xrcEx }) => xrcEx, make: ({ mr }) => ({ sge: mr.slice(0, 8), remoteSrqn: 5 }) },
};

/** Each request posted, and put into a list. */
export const REQUEST_RECIPES: Readonly<Record<string, Recipe>> = Object.fromEntries(
  Object.entries(REQUESTS).flatMap(([name, { make }]): [string, Recipe][] => [
    [`QueuePair#postSend (${name})`, (world) => [make(world)]],
    [`SendRequests#set (${name})`, (world) => [0, make(world)]],
  ]),
);

/** The queue pairs that post them. */
export const REQUEST_RECEIVERS: Readonly<Record<string, Receiver>> = Object.fromEntries(
  Object.entries(REQUESTS).map(([name, { on }]) => [`QueuePair#postSend (${name})`, on]),
);
