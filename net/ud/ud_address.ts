/**
 * Addresses of datagram peers.
 *
 * @module
 */

import {
  type AddressHandle,
  type AhAttrInit,
  type Context,
  Gid,
  type GidEntry,
  LinkLayer,
  PortFlags,
} from "../../mod.ts";
import { integer } from "../shared/checks.ts";

/**
 * The address of a datagram peer: everything that another process needs to send to it. It is plain data, so it can be
 * sent to the other process as JSON.
 *
 * @category Datagrams
 */
export interface UdAddress {
  /** The transport: unreliable datagram. */
  readonly transport: "ud";
  /** The GID of the peer as text, such as `"::ffff:10.0.0.1"`. `"::"` means none. */
  readonly gid: string;
  /** The LID of the peer; 0 on RoCE. */
  readonly lid: number;
  /** The queue pair of the peer, 24 bits. */
  readonly qpn: number;
  /** The qkey that the peer accepts, 32 bits. */
  readonly qkey: number;
}

/** The local port that datagrams are sent from. */
export interface LocalPort {
  readonly port: number;
  /** The GID to send from, and its index. */
  readonly gid: Gid;
  readonly gidIndex: number;
  /** Why it is this GID. */
  readonly reason: string;
  readonly lid: number;
  /** Whether every address needs a GRH: RoCE, and InfiniBand ports that say so. */
  readonly needsGrh: boolean;
}

/** Looks up what addresses need on a port. It recommends a GID if the caller has not chosen one. */
export function localPort(
  context: Context,
  port: number,
  chosen: GidEntry | undefined,
): LocalPort {
  const { linkLayer, flags, lid } = context.queryPort(port);
  const needsGrh = linkLayer === LinkLayer.ETHERNET || (flags & PortFlags.GRH_REQUIRED) !== 0;
  const { gid, gidIndex, reason } = chosen === undefined
    ? context.recommendGid(port)
    : { ...chosen, reason: "the caller chose it" };
  return { port, gid, gidIndex, reason, lid, needsGrh };
}

/** An address whose numbers were checked. */
export interface CheckedAddress extends UdAddress {
  /** The handle that was used last. */
  ah: AddressHandle | undefined;
}

/**
 * Reads an address that comes from elsewhere, each property once. The text of the GID is not parsed yet. If it equals the
 * recent one, the result is that.
 *
 * @throws {TypeError} If a property has the wrong type.
 * @throws {RangeError} If a number is out of range.
 */
export function readUdAddress(
  address: UdAddress,
  recent: CheckedAddress | undefined,
): CheckedAddress {
  if (typeof address !== "object" || address === null) {
    throw new TypeError("Cannot use address: it is not an object");
  }
  const { transport, gid, lid, qpn, qkey } = address;
  if (
    recent !== undefined && recent.qpn === qpn && recent.gid === gid && recent.lid === lid &&
    recent.qkey === qkey && recent.transport === transport
  ) return recent;
  if (transport !== "ud") throw new TypeError('Cannot use address: its transport is not "ud"');
  if (typeof gid !== "string") throw new TypeError("Cannot use address: its gid is not a string");
  integer(lid, "lid of address", 0, 0xffff);
  integer(qpn, "qpn of address", 0, 0xff_ffff);
  integer(qkey, "qkey of address", 0, 0xffff_ffff);
  return { transport, gid, lid, qpn, qkey, ah: undefined };
}

/** The attributes of the address handle that reaches a peer. */
export function attrOf(local: LocalPort, { gid, lid }: UdAddress): AhAttrInit {
  const { port, gidIndex, needsGrh } = local;
  const dgid = Gid.parse(gid);
  if (!needsGrh && !dgid.isMulticast) return { portNum: port, dlid: lid };
  const grh = { dgid, sgidIndex: gidIndex, hopLimit: 64 };
  return { portNum: port, dlid: lid, grh };
}
