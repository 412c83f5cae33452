/**
 * Addresses of RC peers.
 *
 * @module
 */

import { Gid, type QpAddress } from "../../mod.ts";
import { integer, readObject } from "../shared/checks.ts";

/**
 * The address of one end of an RC connection: everything that the other end needs. It is plain data, so it can be sent
 * to the other process as JSON. Use it for one connection only.
 *
 * @category Connections
 */
export interface RcAddress {
  /** The transport: reliable connection. */
  readonly transport: "rc";
  /** The GID of the port as text, such as `"::ffff:10.0.0.1"`. `"::"` means none. */
  readonly gid: string;
  /** The LID of the port; 0 on RoCE. */
  readonly lid: number;
  /** The number of the queue pair, 24 bits. */
  readonly qpn: number;
  /** The packet sequence number of the first packet that this end sends, 24 bits. */
  readonly psn: number;
  /** The MTU of the port in bytes. */
  readonly mtu: number;
  /** The number of RDMA reads and atomics that this end serves at the same time. */
  readonly rdAtomic: number;
  /** The number of messages that this end has receives for. */
  readonly credits: number;
  /** The longest message in bytes that this end receives. */
  readonly maxMessage: number;
}

/** The largest number of credits: a message carries the number of new ones in 16 bits. */
export const MAX_CREDITS = 2 ** 15;
/** The longest message. */
export const MAX_MESSAGE = 2 ** 24;

/**
 * Reads the address of a peer, which nobody has checked. Whether packets may be sent there is another check.
 *
 * @throws {Deno.errors.InvalidData} If it is not an address.
 */
export function readRcAddress(value: unknown): RcAddress {
  try {
    return read(value as RcAddress);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Deno.errors.InvalidData(
      `Cannot connect: the address of the peer is not valid. ${reason}`,
      { cause: error },
    );
  }
}

function read(value: RcAddress): RcAddress {
  const { transport, gid, lid, qpn, psn, mtu, rdAtomic, credits, maxMessage } = readObject(
    value,
    "address",
    ["transport", "gid", "lid", "qpn", "psn", "mtu", "rdAtomic", "credits", "maxMessage"],
  );
  if (transport !== "rc") throw new TypeError('Its transport is not "rc"');
  if (typeof gid !== "string") throw new TypeError("Its gid is not a string");
  return {
    transport,
    gid: Gid.parse(gid).toString(),
    lid: integer(lid, "lid", 0, 0xffff),
    qpn: integer(qpn, "qpn", 0, 0xff_ffff),
    psn: integer(psn, "psn", 0, 0xff_ffff),
    mtu: integer(mtu, "mtu", 256, 4096),
    rdAtomic: integer(rdAtomic, "rdAtomic", 0, 255),
    credits: integer(credits, "credits", 1, MAX_CREDITS),
    maxMessage: integer(maxMessage, "maxMessage", 1, MAX_MESSAGE),
  };
}

/** The address as a queue pair takes it. */
export function toQpAddress({ gid, lid, qpn, psn, mtu, rdAtomic }: RcAddress): QpAddress {
  return { transport: "RC", qpn, psn, lid, gid, mtu, rdAtomic, qkey: null };
}
