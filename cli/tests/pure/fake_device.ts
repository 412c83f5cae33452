// A device that no driver has. The expected texts of the tests are what ibv_devinfo 44 prints for the same numbers.

import {
  type DeviceAttr,
  type DeviceAttrEx,
  type DeviceInfo,
  Gid,
  type GidEntry,
  type PortAttr,
} from "../../../mod.ts";

/** The device in the list. */
export const INFO: DeviceInfo = {
  name: "fake0",
  devName: "uverbs0",
  guid: 0x0102_0304_0506_0708n,
  index: 0,
  nodeType: 1,
  transportType: 0,
};

const LIMITS = `maxQp maxQpWr maxSge maxSgeRd maxCq maxCqe maxMr maxPd maxQpRdAtom maxEeRdAtom
  maxResRdAtom maxQpInitRdAtom maxEeInitRdAtom maxEe maxRdd maxMw maxRawIpv6Qp maxRawEthyQp
  maxMcastGrp maxMcastQpAttach maxTotalMcastQpAttach maxAh maxFmr maxMapPerFmr maxSrq maxSrqWr
  maxSrqSge maxPkeys localCaAckDelay`.split(/\s+/);

/** Its basic capabilities: the limits are 1, 2, 3 and so on. */
export const ATTR: DeviceAttr = {
  ...Object.fromEntries(LIMITS.map((name, i) => [name, i + 1])) as unknown as DeviceAttr,
  fwVer: "1.2.3",
  nodeGuid: 0x0102_0304_0506_0708n,
  sysImageGuid: 0x0102_0304_0506_0718n,
  maxMrSize: 0x1234_5678_9abcn,
  pageSizeCap: 0xf000n,
  vendorId: 0x2c9,
  vendorPartId: 77,
  hwVer: 0xab,
  deviceCapFlags: 0,
  atomicCap: 0,
  physPortCnt: 1,
};

/** All its capabilities: it has no extensions. */
export const ATTR_EX: DeviceAttrEx = {
  origAttr: ATTR,
  compMask: 0,
  odpCaps: { generalCaps: 0n, perTransportCaps: { rcOdpCaps: 0, ucOdpCaps: 0, udOdpCaps: 0 } },
  completionTimestampMask: 0n,
  hcaCoreClock: 0n,
  deviceCapFlagsEx: 0n,
  tsoCaps: { maxTso: 0, supportedQpts: 0 },
  rssCaps: {
    supportedQpts: 0,
    maxRwqIndirectionTables: 0,
    maxRwqIndirectionTableSize: 0,
    rxHashFieldsMask: 0n,
    rxHashFunction: 0,
  },
  maxWqTypeRq: 0,
  packetPacingCaps: { qpRateLimitMin: 0, qpRateLimitMax: 0, supportedQpts: 0 },
  rawPacketCaps: 0,
  tmCaps: { maxRndvHdrSize: 0, maxNumTags: 0, flags: 0, maxOps: 0, maxSge: 0 },
  cqModCaps: { maxCqCount: 0, maxCqPeriod: 0 },
  maxDmSize: 0n,
  pciAtomicCaps: { fetchAdd: 0, swap: 0, compareSwap: 0 },
  xrcOdpCaps: 0,
  physPortCntEx: 1,
};

/** Its port. */
export const PORT_ATTR: PortAttr = {
  state: 4,
  maxMtu: 5,
  activeMtu: 3,
  gidTblLen: 3,
  portCapFlags: 0,
  maxMsgSz: 0x4000_0000,
  badPkeyCntr: 0,
  qkeyViolCntr: 0,
  pkeyTblLen: 128,
  lid: 18,
  smLid: 1,
  lmc: 0,
  maxVlNum: 1,
  smSl: 3,
  subnetTimeout: 18,
  initTypeReply: 1,
  activeWidth: 1,
  activeSpeed: 1,
  activeSpeedEx: 0,
  physState: 5,
  linkLayer: 1,
  flags: 0,
  portCapFlags2: 0,
};

/** Its GIDs: types 0, 1 and 0. */
export const GIDS: readonly GidEntry[] = ["fe80::1", "10.0.0.0", "fe80::3"].map((text, i) => ({
  gid: Gid.parse(text),
  gidIndex: i,
  portNum: 1,
  gidType: i % 2 === 1 ? 2 : 0,
  ndevIfindex: 0,
}));
