import { FIRST_MULTICAST_LID } from "../../internal/ports.ts";
import { splitZone } from "../../internal/reach.ts";
import { Gid, type GidEntry, GidType } from "../../mod.ts";
import type { RcAddress } from "./rc_address.ts";

// A peer says in the handshake where its queue pair is; it could name a host that never asked for packets.

/** The addresses of the connection over which a peer states its address, as text. */
export interface PeerEnds {
  readonly local: string;
  /** With the connection manager it is what the request states. */
  readonly remote: string;
  readonly via: "tcp" | "cm";
}

/** The same, with the ports. */
export interface FoundEnds extends PeerEnds {
  readonly localPort: number;
  readonly remotePort: number;
}

export function endsOf({ localAddr, remoteAddr }: Deno.TcpConn): FoundEnds {
  const [local, localPort] = [localAddr.hostname, localAddr.port];
  const [remote, remotePort] = [remoteAddr.hostname, remoteAddr.port];
  return { local, localPort, remote, remotePort, via: "tcp" };
}

/** The GID that an address of TCP stands for. A link-local address can have the name of an interface behind it. */
export function gidOf(hostname: string): Gid {
  return Gid.parse(splitZone(hostname)[0]);
}

function isLocal({ local, remote }: PeerEnds): boolean {
  const gid = gidOf(remote);
  return gid.reach === "host" || gid.equals(gidOf(local));
}

/**
 * Checks what a peer states as its address, by whatever means. Nothing is sent there before.
 *
 * @param permitted Which GIDs a peer may name, as the option `peerGid` says.
 * @returns Whether `checkOwn` still has to check that the address is one of this host. @throws
 * {Deno.errors.InvalidData} If it is not that of a single port, or the peer connects from another host.
 */
export function checkStated(
  peer: RcAddress,
  ends: PeerEnds,
  permitted: "tcp" | "any" = "tcp",
): boolean {
  checkUnicast(peer);
  // Only a port of this host can have a loopback address.
  if (Gid.parse(peer.gid).reach === "host") {
    if (!isLocal(ends)) throw foreign(peer, ends);
    return true;
  }
  // InfiniBand by the connection manager: the address of a port is not the IP address that stands for it.
  if (permitted === "any" || ends.via === "cm" && peer.lid > 0) return false;
  return checkSpeaker(peer, ends);
}

/**
 * Checks that an address is one of a single port: not of multicast, not broadcast, not empty.
 *
 * @throws {Deno.errors.InvalidData} If it is not.
 */
export function checkUnicast({ gid: text, lid }: RcAddress): void {
  if (lid >= FIRST_MULTICAST_LID) throw refused(`its LID ${lid} is not that of a port`);
  const gid = Gid.parse(text);
  // Ports of InfiniBand may have only a LID.
  if (gid.isZero && lid > 0) return;
  const [first, ...others] = gid.isIpv4Mapped ? gid.bytes.subarray(12) : gid.bytes;
  const is = (byte: number): boolean => first === byte && others.every((other) => other === byte);
  if (is(0)) throw refused(`its GID ${text} is that of no host`);
  if (gid.isMulticast || is(0xff)) throw refused(`its GID ${text} is that of many hosts`);
}

/**
 * Checks that a peer connects from the address that it names. A peer on this host may name any address of this host.
 *
 * @returns Whether `checkOwn` still has to check that the address is one of this host. @throws
 * {Deno.errors.InvalidData} If it does not.
 */
function checkSpeaker(peer: RcAddress, ends: PeerEnds): boolean {
  const gid = Gid.parse(peer.gid);
  // A LID alone: there is no address to compare. It fails later on a port that needs GIDs.
  if (gid.isZero || gid.equals(gidOf(ends.remote))) return false;
  if (!isLocal(ends)) throw foreign(peer, ends);
  return true;
}

/**
 * Checks that a GID is one of a port of this host.
 *
 * @throws {Deno.errors.InvalidData} If it is not.
 */
export function checkOwn(peer: RcAddress, ends: PeerEnds, entries: readonly GidEntry[]): void {
  const gid = Gid.parse(peer.gid);
  if (!entries.some((entry) => entry.gid.equals(gid))) throw foreign(peer, ends);
}

function foreign({ gid }: RcAddress, { remote, via }: PeerEnds): Error {
  const remedy = via === "tcp" ? ' (peerGid: "any" permits other GIDs)' : "";
  return refused(`it connects from ${remote}, and its GID is ${gid}${remedy}`);
}

function refused(reason: string): Error {
  return new Deno.errors.InvalidData(
    `Cannot connect: the address of the peer is not permitted: ${reason}`,
  );
}

/** The GID of a port by which peers know this host from TCP; `undefined` if the port does not have it. */
export function gidOfTcp(
  entries: readonly GidEntry[],
  port: number,
  { local }: PeerEnds,
): GidEntry | undefined {
  const gid = gidOf(local);
  return entries.find((entry) =>
    entry.portNum === port && entry.gidType === GidType.ROCE_V2 && entry.gid.equals(gid)
  );
}
