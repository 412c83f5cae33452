/** What the ping-pong examples ask of the device's port. */

import { type Context, Gid, LinkLayer } from "@rdma/ibverbs";
import { UsageError } from "../support/command_line.ts";
import type { Address } from "./address.ts";
import type { Options } from "./options.ts";

/**
 * The address of this side, without the queue pair.
 *
 * @throws {UsageError} If the port is RoCE and no GID index is given.
 */
export function addressOf(context: Context, { gidIdx, ibPort }: Options): Omit<Address, "qpn"> {
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
    psn: Math.floor(Math.random() * 0x100_0000),
    gid: gidIdx === undefined
      ? new Gid(new Uint8Array(16))
      : context.queryGidEx(ibPort, gidIdx).gid,
  };
}
