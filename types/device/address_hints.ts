/** Why a device refuses an address: of an address handle, or of the peer of a queue pair. */

import { isEfa } from "../../internal/efa.ts";
import { needsGrh } from "../../internal/ports.ts";
import type { Gid } from "../address/gid.ts";
import type { Context } from "./context.ts";
import { LinkLayer, type PortAttr } from "./port.ts";

/** What decides whether an address can be used. */
export interface HintedAddress {
  readonly portNum: number;
  readonly grh?: { readonly sgidIndex: number; readonly dgid: Gid } | undefined;
}

/** The likely cause of an errno that an address was refused with. */
export function hintAddress(
  code: string,
  context: Context,
  address: HintedAddress,
): string | undefined {
  const { grh } = address;
  // libmlx4 and libmlx5 refuse an address without an errno.
  if (code === "EINVAL" || code === "unknown") return hintInvalid(context, address);
  if (grh === undefined) return undefined;
  switch (code) {
    case "ENODATA":
      return emptySlot(grh.sgidIndex);
    case "ETIMEDOUT":
      return "The peer's link address was not resolved in time: is the peer up, and on this network?" +
        (grh.dgid.isLinkLocal ? " A link-local GID reaches only the same link" : "");
    case "ENETUNREACH":
    case "EHOSTUNREACH":
      return `There is no route from GID index ${grh.sgidIndex} to ${grh.dgid}`;
  }
}

function emptySlot(index: number): string {
  return `Slot ${index} of the GID table is empty: context.gidTable() lists the used slots`;
}

function hintInvalid(context: Context, { portNum, grh }: HintedAddress): string | undefined {
  const port = context.queryPort(portNum);
  if (grh === undefined) {
    if (isEfa(context.device)) return EFA_SENDERS;
    const need = needOfGrh(portNum, port);
    return need && `${need}: give grh`;
  }
  if (grh.sgidIndex >= port.gidTblLen) {
    return `GID index ${grh.sgidIndex} is beyond the port's table of ${port.gidTblLen}`;
  }
  const sgid = context.queryGid(portNum, grh.sgidIndex);
  return sgid.isZero ? emptySlot(grh.sgidIndex) : hintFamily(sgid, grh.dgid);
}

/** What an Elastic Fabric Adapter has in place of a GRH. */
export const EFA_SENDERS =
  "An Elastic Fabric Adapter has no GRH, and reaches peers by their GIDs: " +
  "ReplyPath finds the handle of a sender, and an EfaCompletionQueue tells the GID of an unknown one";

/** Why every address of a port needs a GRH; undefined if it does not. */
export function needOfGrh(portNum: number, port: PortAttr): string | undefined {
  if (!needsGrh(port)) return undefined;
  return port.linkLayer === LinkLayer.ETHERNET
    ? `Port ${portNum} is Ethernet (RoCE), where every address needs a GRH`
    : `Port ${portNum} needs a GRH in every address (IBV_QPF_GRH_REQUIRED)`;
}

function hintFamily(sgid: Gid, dgid: Gid): string | undefined {
  if (sgid.isIpv4Mapped === dgid.isIpv4Mapped || dgid.isMulticast) return undefined;
  return `The GIDs are of different families: ${sgid} cannot reach ${dgid}`;
}
