import { integer, show, snapshot, uint16, uint24, uint32 } from "../../internal/checks.ts";
import { Gid } from "../address/gid.ts";
import type { QpType } from "./qp_enums.ts";

/**
 * What a peer must know of a queue pair to connect to it or to send to it. It consists of JSON values only:
 * `JSON.stringify(qp.address)` is what to send.
 *
 * @category Queue pairs
 */
export interface QpAddress {
  /** The name of the transport service: a name of `QpType`. */
  readonly transport: keyof typeof QpType;
  /** Number of the queue pair, 24 bits. */
  readonly qpNum: number;
  /** Packet sequence number of the first packet that the queue pair sends, 24 bits. */
  readonly psn: number;
  /** LID of the port. 0 on RoCE. */
  readonly lid: number;
  /** GID of the port as text; `null` if the queue pair uses LIDs only. */
  readonly gid: string | null;
  /** Active MTU of the port in bytes. */
  readonly mtu: number;
  /** Number of RDMA reads and atomics that the queue pair serves at the same time. */
  readonly rdAtomic: number;
  /** UD: the qkey that received datagrams must carry. `null` for other transports. */
  readonly qkey: number | null;
}

/** The address of a peer that was read and checked. */
export interface Peer extends Omit<QpAddress, "gid" | "transport" | "qkey"> {
  /** The GID of the peer, if it has one. */
  readonly gid: Gid | undefined;
}

const NAMES = ["transport", "qpNum", "psn", "lid", "gid", "mtu", "rdAtomic", "qkey"] as const;

/**
 * Reads the address of a peer.
 *
 * @param transport The transport that the peer must have.
 * @throws {TypeError} If an attribute is missing, is unknown or has the wrong type, or the transport is another one.
 * @throws {RangeError} If a number is out of range.
 */
export function readPeer(address: QpAddress, transport: string): Peer {
  const peer = snapshot(address, "address of the peer", NAMES);
  if (peer.transport !== transport) {
    throw new TypeError(
      `Cannot use address of the peer: the transport of the peer is ${
        show(peer.transport)
      }, and "${transport}" is needed`,
    );
  }
  if ((peer.qkey ?? null) !== null) uint32(peer.qkey as number, "qkey of the peer");
  return {
    qpNum: uint24(peer.qpNum, "qpNum of the peer"),
    psn: uint24(peer.psn, "psn of the peer"),
    lid: uint16(peer.lid, "lid of the peer"),
    gid: peer.gid === null || peer.gid === undefined ? undefined : Gid.parse(peer.gid),
    mtu: integer(peer.mtu, "mtu of the peer", 256, 4096),
    rdAtomic: integer(peer.rdAtomic, "rdAtomic of the peer", 0, 255),
  };
}
