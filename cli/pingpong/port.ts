/**
 * What the ping-pong examples ask of the device's port.
 *
 * @module
 */

import { type AhAttrInit, Gid, LinkLayer, Mtu, mtuBytes, type QueuePair } from "../../mod.ts";
import { UsageError } from "../command.ts";
import type { Address } from "./address.ts";
import type { Options } from "./options.ts";

/** The largest number of routers on the way to the peer. */
const HOP_LIMIT = 64;

/**
 * The address of a queue pair of this side. Its first packet sequence number is random.
 *
 * @throws {UsageError} If the port is RoCE and no GID index is given.
 */
export function addressOf({ context, qpNum }: QueuePair, { gidIdx, ibPort }: Options): Address {
  const { lid, linkLayer } = context.queryPort(ibPort);
  if (gidIdx === undefined && linkLayer === LinkLayer.ETHERNET) {
    const { gid, gidIndex, reason } = context.recommendGid(ibPort);
    throw new UsageError(
      `Port ${ibPort} of "${context.device.name}" is RoCE, which needs --gid-idx. ` +
        `--gid-idx=${gidIndex} is ${gid} (${reason})`,
    );
  }
  return {
    lid,
    qpn: qpNum,
    psn: Math.floor(Math.random() * 0x100_0000),
    gid: gidIdx === undefined
      ? new Gid(new Uint8Array(16))
      : context.queryGidEx(ibPort, gidIdx).gid,
  };
}

/**
 * The address of a peer.
 *
 * @throws {UsageError} If the peer has a GID and no GID index is given here.
 */
export function addressTo({ lid, gid }: Address, { gidIdx, ibPort, sl }: Options): AhAttrInit {
  const isGlobal = gid.interfaceId !== 0n;
  if (isGlobal && gidIdx === undefined) {
    throw new UsageError("The peer was started with a GID index, so --gid-idx is needed here too");
  }
  const grh = { dgid: gid, sgidIndex: gidIdx ?? 0, hopLimit: HOP_LIMIT };
  return { portNum: ibPort, dlid: lid, sl, ...isGlobal && { grh } };
}

/** The path MTU that `--mtu` names. It is undefined if there is none of that size. */
export function pathMtu({ mtu }: Options): Mtu | undefined {
  return Object.values(Mtu).find((value) => mtuBytes(value) === mtu);
}
