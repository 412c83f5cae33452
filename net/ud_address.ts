/**
 * Addresses of datagram peers.
 *
 * @module
 */

import { type AhAttrInit, type Context, Gid, LinkLayer, PortFlags } from "../mod.ts";

/**
 * The address of a datagram peer: everything that another process needs to send to it. It is plain data, so it can be
 * sent to the other process as JSON.
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
  /** The qkey that the peer accepts. */
  readonly qkey: number;
}

/** The local port that datagrams are sent from. */
export interface LocalPort {
  readonly context: Context;
  readonly port: number;
  /** The index of the GID to send from. */
  readonly gidIndex: number;
  /** Whether every address needs a GRH: RoCE, and InfiniBand ports that say so. */
  readonly needsGrh: boolean;
}

/** Looks up what an address needs on a port. */
export function localPort(context: Context, port: number, gidIndex: number): LocalPort {
  const { linkLayer, flags } = context.queryPort(port);
  const needsGrh = linkLayer === LinkLayer.ETHERNET || (flags & PortFlags.GRH_REQUIRED) !== 0;
  return { context, port, gidIndex, needsGrh };
}

/**
 * Checks an address that comes from elsewhere, property by property.
 *
 * @throws {TypeError} If a property has the wrong type.
 * @throws {RangeError} If a number is out of range.
 */
export function checkUdAddress(address: UdAddress): UdAddress {
  if (typeof address !== "object" || address === null) {
    throw new TypeError("Cannot use address: it is not an object");
  }
  const { transport, gid, lid, qpn, qkey } = address;
  if (transport !== "ud") throw new TypeError('Cannot use address: its transport is not "ud"');
  Gid.parse(gid);
  inRange(lid, "lid", 0xffff);
  inRange(qpn, "qpn", 0xff_ffff);
  inRange(qkey, "qkey", 0xffff_ffff);
  return { transport, gid, lid, qpn, qkey };
}

function inRange(value: number, name: string, max: number): void {
  if (!Number.isInteger(value)) {
    throw new TypeError(`Cannot use address: its ${name} is not an integer`);
  }
  if (value < 0 || value > max) {
    throw new RangeError(`Cannot use address: its ${name} ${value} is not within 0 to ${max}`);
  }
}

/** The attributes of the address handle that reaches a peer. */
export function attrOf(local: LocalPort, { gid, lid }: UdAddress): AhAttrInit {
  const { port, gidIndex, needsGrh } = local;
  const dgid = Gid.parse(gid);
  if (!needsGrh && !dgid.isMulticast) return { portNum: port, dlid: lid };
  const grh = { dgid, sgidIndex: gidIndex, hopLimit: 64 };
  return { portNum: port, dlid: lid, grh };
}
