/** The addresses that the ibv_*_pingpong tools send each other: 52 bytes of text each, with a final NUL. */

import { quote } from "../shell/text.ts";
import { type AhAttrInit, type Context, Gid, LinkLayer, type QueuePair } from "@rdma/ibverbs";
import { UsageError } from "../shell/command.ts";
import { hex } from "../shell/text.ts";
import type { Options } from "./options.ts";

/** The address of a queue pair. */
export interface Address {
  /** LID of the port. It is 0 on RoCE. */
  readonly lid: number;
  /** Queue pair number, 24 bits. */
  readonly qpn: number;
  /** First packet sequence number, 24 bits. */
  readonly psn: number;
  /** GID of the port. It is all zero if no GID index was given. */
  readonly gid: Gid;
}

export const ADDRESS_SIZE = 52;

/** The largest number of routers on the way to the peer. */
const HOP_LIMIT = 64;

const PATTERN = /^([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{32})\0$/i;

export function encodeAddress({ lid, qpn, psn, gid }: Address): Uint8Array<ArrayBuffer> {
  const numbers = [hex(lid, 4), hex(qpn, 6), hex(psn, 6)].join(":").replaceAll("0x", "");
  return new TextEncoder().encode(`${numbers}:${gid.bytes.toHex()}\0`);
}

export function decodeAddress(bytes: Uint8Array): Address {
  const text = new TextDecoder().decode(bytes);
  const match = PATTERN.exec(text);
  if (bytes.length !== ADDRESS_SIZE || match === null) {
    throw new SyntaxError(
      `Cannot read address: ${quote(text)} is not LID:QPN:PSN:GID in ${ADDRESS_SIZE} bytes`,
    );
  }
  const [lid, qpn, psn] = match.slice(1, 4).map((digits) => parseInt(digits, 16));
  return { lid: lid!, qpn: qpn!, psn: psn!, gid: new Gid(Uint8Array.fromHex(match[4]!)) };
}

/** The address as the tools print it. ibv_ud_pingpong puts a colon before its own GID, all others a comma. */
export function formatAddress({ lid, qpn, psn, gid }: Address, separator: ":" | ","): string {
  return `LID ${hex(lid, 4)}, QPN ${hex(qpn, 6)}, PSN ${hex(psn, 6)}${separator} GID ${gid}`;
}

/**
 * The GID to send from: the chosen one. Without a choice it is the recommended one on RoCE, where each packet has a GID, and
 * none on InfiniBand.
 */
export function chosenGid(context: Context, { gidIdx, ibPort }: Options): number | undefined {
  const isRoce = context.queryPort(ibPort).linkLayer === LinkLayer.ETHERNET;
  return gidIdx ?? (isRoce ? context.recommendGid(ibPort).gidIndex : undefined);
}

/** The address of a queue pair of this side. Its first packet sequence number is random. */
export function addressOf({ context, qpNum }: QueuePair, { gidIdx, ibPort }: Options): Address {
  return {
    lid: context.queryPort(ibPort).lid,
    qpn: qpNum,
    psn: Math.floor(Math.random() * 0x100_0000),
    gid: gidIdx === undefined
      ? new Gid(new Uint8Array(16))
      : context.queryGidEx(ibPort, gidIdx).gid,
  };
}

/** The address of a peer. If it has a GID, this side needs a GID index. */
export function addressTo({ lid, gid }: Address, { gidIdx, ibPort, sl }: Options): AhAttrInit {
  const isGlobal = gid.interfaceId !== 0n;
  if (isGlobal && gidIdx === undefined) {
    throw new UsageError("The peer was started with a GID index, so --gid-idx is needed here too");
  }
  const grh = { dgid: gid, sgidIndex: gidIdx ?? 0, hopLimit: HOP_LIMIT };
  return { portNum: ibPort, dlid: lid, sl, ...isGlobal && { grh } };
}
