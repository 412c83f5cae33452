/** The transitions of a queue pair from RESET to RTS, with a choice for every attribute. */

import { integer, snapshot, uint24, uint32 } from "../../internal/checks.ts";
import type { Complete } from "../../internal/optional.ts";
import { needsGrh } from "../../internal/ports.ts";
import { ahAttrCodec, type AhAttrInit } from "../address/ah_attr.ts";
import { nameOf } from "../core/enums.ts";
import { checkPort, type Context } from "../device/context.ts";
import { Mtu, mtuBytes, type PortAttr } from "../device/port.ts";
import { type Peer, type QpAddress, readPeer } from "./qp_address.ts";
import type { QpModifyAttr } from "./qp_attr.ts";
import { QpState, QpType } from "./qp_enums.ts";

/**
 * What `QueuePair.init` needs.
 *
 * @category Queue pairs
 */
export interface InitOptions {
  /** The port to use, from 1. */
  readonly portNum: number;
  /**
   * Index of the GID to send from, in the table of the port, 0 to 255. On RoCE, RC and UC need it. On UD each address
   * handle has its own: here it only appears in `QueuePair.address`. If it is left out, the queue pair uses LIDs only.
   * `Context.recommendGid` helps to choose.
   */
  readonly gidIndex?: number | undefined;
  /** Index into the P_Key table of the port. The default is 0, usually the default partition. */
  readonly pkeyIndex?: number | undefined;
  /** RC, UC, XRC: operations that peers may do, `AccessFlags` combined with `|`. The default is none. */
  readonly qpAccessFlags?: number | undefined;
  /** Packet sequence number of the first packet to send, 24 bits. The default is a random number. */
  readonly psn?: number | undefined;
  /** RC: number of RDMA reads and atomics to serve at the same time. The default is what the device allows. */
  readonly maxDestRdAtomic?: number | undefined;
  /** UD: the qkey that received datagrams must carry. UD needs it. */
  readonly qkey?: number | undefined;
}

/**
 * What `QueuePair.activateUd` needs.
 *
 * @category Queue pairs
 */
export interface UdActivation extends Pick<InitOptions, "portNum" | "gidIndex" | "pkeyIndex"> {
  /** The key that received datagrams must carry. */
  readonly qkey: number;
  /** Packet sequence number of the first packet to send, 24 bits. The default is 0. */
  readonly sqPsn?: number | undefined;
}

/**
 * The choices of `QueuePair.ahAttr`: how packets reach the peer.
 *
 * @category Queue pairs
 */
export interface PathChoices {
  /** Service level, 0 to 15. The default is 0. */
  readonly sl?: number | undefined;
  /** Hop limit. The default is 64. On RoCE the kernel may replace it by the limit of the route. */
  readonly hopLimit?: number | undefined;
  /** Traffic class (IPv6) or TOS (IPv4). The default is 0. */
  readonly trafficClass?: number | undefined;
  /** Flow label, 20 bits. The default is 0. */
  readonly flowLabel?: number | undefined;
}

/**
 * The choices of `QueuePair.activateUc`.
 *
 * @category Queue pairs
 */
export interface UcActivation extends PathChoices {
  /** MTU of the path. The default is the smaller one of the active MTUs of both ports. */
  readonly pathMtu?: Mtu | undefined;
}

/**
 * The choices of `QueuePair.activateRc`.
 *
 * @category Queue pairs
 */
export interface RcActivation extends UcActivation {
  /**
   * Time to wait for an acknowledgement, as an exponent 0 to 31: 4.096 us * 2^timeout; 0 is infinite. The default is 14, that is
   * 67 ms.
   */
  readonly timeout?: number | undefined;
  /**
   * Number of retries after that time, 0 to 7. The default is 6. **Soft-RoCE treats 7 as infinite**: a send to a peer
   * that is gone then never completes.
   */
  readonly retryCnt?: number | undefined;
  /**
   * Number of retries after the peer had no receive, 0 to 7. **The default is 7, which is infinite**: a peer may be
   * slow. A send to a peer that posts no receive completes only when the peer ends; with 6 or less it fails.
   */
  readonly rnrRetry?: number | undefined;
  /** Time that the peer waits after it found no receive, as a code 0 to 31. The default is 12, that is 0.64 ms. */
  readonly minRnrTimer?: number | undefined;
  /**
   * Number of RDMA reads and atomics to have outstanding. The default is the smaller one of what the device allows and
   * what the peer serves.
   */
  readonly maxRdAtomic?: number | undefined;
}

/** What a queue pair has chosen for itself. */
export interface Chosen extends Complete<Omit<InitOptions, "gidIndex" | "qkey">> {
  readonly gidIndex: number | undefined;
  readonly qkey: number | undefined;
}

const { RC, UC, UD, XRC_SEND, XRC_RECV } = QpType;

const NAMES = [
  "portNum",
  "gidIndex",
  "pkeyIndex",
  "qpAccessFlags",
  "psn",
  "maxDestRdAtomic",
  "qkey",
] as const;

/** Reads the choices of `QueuePair.init` and fills in the others. */
export function choose(
  type: QpType,
  context: Context,
  options: InitOptions,
): Chosen {
  const given = snapshot(options, "options", NAMES);
  const { portNum: port, gidIndex, pkeyIndex = 0, qpAccessFlags = 0, qkey } = given;
  if (port === undefined) throw new TypeError("Cannot use options: portNum is missing");
  checkPort(context, port);
  if (gidIndex !== undefined) integer(gidIndex, "gidIndex", 0, 255);
  if (type === UD) uint32(qkey as number, "qkey");
  else if (qkey !== undefined) {
    throw new TypeError(`Cannot use qkey: the type of the queue pair is ${nameOf(QpType, type)}`);
  }
  const psn = given.psn === undefined ? randomPsn() : uint24(given.psn, "psn");
  const reads = type === RC || type === XRC_RECV
    ? given.maxDestRdAtomic ?? Math.min(255, context.queryDevice().maxQpRdAtom)
    : 0;
  integer(reads, "maxDestRdAtomic", 0, 255);
  return { portNum: port, gidIndex, pkeyIndex, qpAccessFlags, psn, maxDestRdAtomic: reads, qkey };
}

function randomPsn(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! & 0xff_ffff;
}

export function qpAddressOf(
  type: QpType,
  qpNum: number,
  context: Context,
  { portNum: port, gidIndex, psn, maxDestRdAtomic, qkey }: Chosen,
): QpAddress {
  const portAttr = context.queryPort(port);
  const { lid, activeMtu } = portAttr;
  if (gidIndex === undefined) checkLids("give address of queue pair", port, portAttr);
  const gid = gidIndex === undefined ? null : context.queryGid(port, gidIndex);
  if (gid?.isZero) {
    throw new TypeError(
      `Cannot give address of queue pair: GID index ${gidIndex} of port ${port} is empty; ` +
        `context.recommendGid(${port}).gidIndex names one that is used`,
    );
  }
  return {
    transport: nameOf(QpType, type) as keyof typeof QpType,
    qpNum,
    psn,
    lid,
    gid: gid?.toString() ?? null,
    mtu: mtuBytes(activeMtu),
    rdAtomic: maxDestRdAtomic,
    qkey: qkey ?? null,
  };
}

/** Throws for a port whose addresses are not LIDs. */
function checkLids(action: string, portNum: number, port: PortAttr): void {
  if (!needsGrh(port)) return;
  throw new TypeError(
    `Cannot ${action}: gidIndex is missing, and every address of port ${portNum} needs a GID; ` +
      `context.recommendGid(${portNum}).gidIndex names one`,
  );
}

const PATH_CHOICES = ["sl", "hopLimit", "trafficClass", "flowLabel"] as const;
export const UC_CHOICES = ["pathMtu", ...PATH_CHOICES] as const;
export const RC_CHOICES = [
  ...UC_CHOICES,
  "timeout",
  "retryCnt",
  "rnrRetry",
  "minRnrTimer",
  "maxRdAtomic",
] as const;

/** The transport that a peer must have. */
const COUNTERPART: { readonly [type: number]: QpType } = {
  [RC]: RC,
  [UC]: UC,
  [XRC_SEND]: XRC_RECV,
  [XRC_RECV]: XRC_SEND,
};

/** All attributes on the way from INIT to RTS that connect a queue pair to a peer. */
export function connection(
  type: QpType,
  context: Context,
  chosen: Chosen,
  address: QpAddress,
  options: RcActivation,
): QpModifyAttr {
  const peer = readPeer(address, nameOf(QpType, COUNTERPART[type]!));
  const port = context.queryPort(chosen.portNum);
  const { timeout = 14, retryCnt = 6, rnrRetry = 7, minRnrTimer = 12 } = options;
  return {
    ahAttr: pathTo(chosen, port, peer, options),
    pathMtu: pathMtu(options.pathMtu, port, peer),
    destQpNum: peer.qpNum,
    rqPsn: peer.psn,
    maxDestRdAtomic: chosen.maxDestRdAtomic,
    minRnrTimer,
    sqPsn: chosen.psn,
    timeout,
    retryCnt,
    rnrRetry,
    maxRdAtomic: options.maxRdAtomic ??
      Math.min(context.queryDevice().maxQpInitRdAtom, peer.rdAtomic, 255),
  };
}

/** Soft-RoCE accepts an MTU that the link does not carry, and then sends nothing, without an error. */
function pathMtu(given: Mtu | undefined, { activeMtu }: PortAttr, peer: Peer): Mtu {
  const codes = Object.values(Mtu);
  // A port that is down may not report one. Then the error of the device is the one to report: it names the link.
  const own = codes.includes(activeMtu) ? activeMtu : Mtu[4096];
  const common = Math.max(
    ...codes.filter((code) => code <= own && mtuBytes(code) <= peer.mtu),
  ) as Mtu;
  if (given === undefined || !codes.includes(given) || given <= common) return given ?? common;
  throw new RangeError(
    `Cannot use pathMtu ${given}: the ports of both ends allow 1 to ${common} (${
      mtuBytes(common)
    } bytes)`,
  );
}

function pathTo(
  chosen: Chosen,
  port: PortAttr,
  peer: Peer,
  options: UcActivation,
): AhAttrInit {
  const { sl = 0, hopLimit = 64, trafficClass = 0, flowLabel = 0 } = options;
  const path = { portNum: chosen.portNum, dlid: peer.lid, sl };
  const sgidIndex = chosen.gidIndex;
  if (sgidIndex === undefined) {
    checkLids("use address of the peer", chosen.portNum, port);
    return path;
  }
  if (peer.gid === undefined) {
    throw new TypeError(
      "Cannot use address of the peer: gidIndex is given, and the peer has no GID",
    );
  }
  return { ...path, grh: { dgid: peer.gid, sgidIndex, hopLimit, trafficClass, flowLabel } };
}

/** The path of the datagrams of a queue pair to a peer. */
export function datagramPath(
  context: Context,
  chosen: Chosen,
  address: QpAddress,
  options: PathChoices,
): AhAttrInit {
  const peer = readPeer(address, nameOf(QpType, QpType.UD));
  const port = context.queryPort(chosen.portNum);
  const path = pathTo(chosen, port, peer, snapshot(options, "path", PATH_CHOICES));
  return ahAttrCodec.write(path).given;
}

/** The attributes that a type of queue pair has on the way to a state, and the state itself. */
export function attrFor(type: QpType, qpState: QpState, attr: QpModifyAttr): QpModifyAttr {
  const names = requiredFor(type, qpState);
  return { ...Object.fromEntries(names.map((name) => [name, attr[name]])), qpState };
}

const { INIT, RTR, RTS } = QpState;
type Attributes = readonly (keyof QpModifyAttr)[];

const CONNECTED_INIT: Attributes = ["pkeyIndex", "portNum", "qpAccessFlags"];
const CONNECTED_RTR: Attributes = ["ahAttr", "pathMtu", "destQpNum", "rqPsn"];
const RESPONDER_RTR: Attributes = [...CONNECTED_RTR, "maxDestRdAtomic", "minRnrTimer"];
const REQUESTER_RTS: Attributes = ["sqPsn", "timeout", "retryCnt", "rnrRetry", "maxRdAtomic"];

/** The attributes that the InfiniBand specification requires on the way from RESET to RTS, by the state to move to. */
const REQUIRED: { readonly [type: number]: { readonly [to: number]: Attributes } | undefined } = {
  [QpType.UD]: { [INIT]: ["pkeyIndex", "portNum", "qkey"], [RTS]: ["sqPsn"] },
  [QpType.UC]: { [INIT]: CONNECTED_INIT, [RTR]: CONNECTED_RTR, [RTS]: ["sqPsn"] },
  [QpType.RC]: { [INIT]: CONNECTED_INIT, [RTR]: RESPONDER_RTR, [RTS]: REQUESTER_RTS },
  [QpType.XRC_SEND]: { [INIT]: CONNECTED_INIT, [RTR]: CONNECTED_RTR, [RTS]: REQUESTER_RTS },
  [QpType.XRC_RECV]: { [INIT]: CONNECTED_INIT, [RTR]: RESPONDER_RTR, [RTS]: ["sqPsn", "timeout"] },
  [QpType.RAW_PACKET]: { [INIT]: ["portNum"] },
};

export function requiredFor(type: QpType, to: QpState): Attributes {
  return REQUIRED[type]?.[to] ?? [];
}
