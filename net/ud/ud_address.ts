import { integer, show } from "../../internal/checks.ts";
import { needsGrh } from "../../internal/ports.ts";
import { type AhAttrInit, type Context, Gid, type GidEntry } from "../../mod.ts";
import { type FabricSettings, onFabric } from "../shared/fabric_options.ts";
import { type UdProvider, udProviders } from "./endpoint.ts";

/**
 * The address of a datagram peer: everything that another process needs to send to it. It is plain data, so it can be
 * sent to the other process as JSON.
 *
 * @category Datagrams
 */
export interface UdAddress {
  /** The transport: `"UD"`, or that of reliable datagrams of a provider. Both ends have the same one. */
  readonly transport: string;
  /** The GID of the peer as text, such as `"::ffff:10.0.0.1"`. `"::"` means none. */
  readonly gid: string;
  /** The LID of the peer; 0 where addresses have none, as on RoCE. */
  readonly lid: number;
  /** The queue pair of the peer, 24 bits. */
  readonly qpNum: number;
  /** The qkey that the peer accepts, 32 bits. */
  readonly qkey: number;
  /**
   * The longest message in bytes that the peer accepts: its `UdConn.maxMessage`. It differs from that of this end where
   * the MTUs differ. The addresses of senders and of groups do not have it.
   */
  readonly maxMessage?: number | undefined;
}

/** The local port that datagrams are sent from. */
export interface LocalPort {
  readonly port: number;
  /** The GID to send from, and its index. */
  readonly gid: Gid;
  readonly gidIndex: number;
  /** Index of the network interface of the GID, 0 if it has none. */
  readonly ndevIfindex: number;
  readonly reason: string;
  readonly lid: number;
  readonly needsGrh: boolean;
  /** What the provider of the device does differently; undefined if that is nothing. */
  readonly provider: UdProvider | undefined;
}

/** Looks up what addresses need on a port. It recommends a GID if the caller has not chosen one. */
export function localPort(
  context: Context,
  port: number,
  chosen: GidEntry | undefined,
): LocalPort {
  const attr = context.queryPort(port);
  const { gid, gidIndex, ndevIfindex, reason } = chosen === undefined
    ? context.recommendGid(port)
    : { ...chosen, reason: "the caller chose it" };
  const kind = { needsGrh: needsGrh(attr), provider: udProviders.of(context.device) };
  return { port, gid, gidIndex, ndevIfindex, reason, lid: attr.lid, ...kind };
}

const IS_NONE = "it is not an object with transport, gid, lid, qpNum and qkey, which receive() " +
  "gives with each message, and addr of the peer's socket is";

/**
 * Reads an address that comes from elsewhere, each property once. The text of the GID is not parsed yet.
 *
 * @throws {TypeError} If a property has the wrong type.
 * @throws {RangeError} If a number is out of range.
 */
export function readUdAddress(
  address: UdAddress,
  own: UdAddress["transport"] = "UD",
): UdAddress {
  if (typeof address !== "object" || address === null) {
    throw new TypeError(`Cannot use address ${show(address)}: ${IS_NONE}`);
  }
  const { transport, gid, lid, qpNum, qkey, maxMessage } = address;
  if (transport !== own) {
    const hint = "hostname" in address ? "; lookup({ hostname, port }) finds it" : "";
    throw new TypeError(`Cannot use address: its transport is not "${own}"${hint}`);
  }
  if (typeof gid !== "string") throw new TypeError("Cannot use address: its gid is not a string");
  integer(lid, "lid of address", 0, 0xffff);
  integer(qpNum, "qpNum of address", 0, 0xff_ffff);
  integer(qkey, "qkey of address", 0, 0xffff_ffff);
  const where = { transport, gid, lid, qpNum, qkey };
  if (maxMessage === undefined) return where;
  return { ...where, maxMessage: integer(maxMessage, "maxMessage of address", 1, 0xffff_ffff) };
}

/**
 * The attributes of the handle that reaches an address.
 *
 * @throws {RangeError} If the address is a group of the other family of IP addresses.
 */
export function attrOf(
  local: LocalPort,
  { gid, lid }: UdAddress,
  fabric: FabricSettings,
): AhAttrInit {
  const { port, gidIndex, needsGrh, provider } = local;
  const dgid = Gid.parse(gid);
  if (provider?.attrOf !== undefined) return provider.attrOf(port, dgid);
  if (needsGrh && dgid.isMulticast) checkFamily(dgid, local.gid);
  const path = { portNum: port, dlid: lid };
  if (!needsGrh && !dgid.isMulticast) return onFabric(path, fabric);
  return onFabric({ ...path, grh: { dgid, sgidIndex: gidIndex, hopLimit: 64 } }, fabric);
}

/** The system makes a handle for any group, and drops the datagrams to one of the other family. */
function checkFamily(group: Gid, own: Gid): void {
  if (group.isIpv4Mapped === own.isIpv4Mapped) return;
  const [family, other] = own.isIpv4Mapped ? ["IPv4", "IPv6"] : ["IPv6", "IPv4"];
  throw new RangeError(
    `Cannot send to group ${group}: it is of ${other}, and this socket sends from ${own}. ` +
      `Take a group of ${family}, or choose another gidIndex`,
  );
}
