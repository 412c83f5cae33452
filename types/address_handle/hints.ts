import type { AhAttrInit } from "../address/ah_attr.ts";
import type { Context } from "../device/context.ts";
import type { Gid } from "../address/gid.ts";
import { LinkLayer } from "../device/port.ts";

/** An address in an error message. */
export function describeAh({ portNum, grh, dlid }: AhAttrInit): string {
  const to = grh === undefined ? `LID ${dlid ?? 0}` : `GID index ${grh.sgidIndex} to ${grh.dgid}`;
  return `port ${portNum}, ${to}`;
}

/** The likely cause of a failed `ibv_create_ah`: EINVAL alone has half a dozen. */
export function hintAh(code: string, context: Context, attr: AhAttrInit): string | undefined {
  switch (code) {
    case "EINVAL":
    // libmlx4 and libmlx5 refuse an address without leaving an errno
    case "unknown":
      return hintInvalid(context, attr);
    case "ENODATA":
      return `Slot ${attr.grh?.sgidIndex} of the GID table is empty: context.gidTable() lists those in use`;
    case "ETIMEDOUT":
      return "The peer's link address was not resolved in time: is it up and on this network?" +
        (attr.grh?.dgid.isLinkLocal ? " A link-local GID reaches only the same link" : "");
    case "ENETUNREACH":
    case "EHOSTUNREACH":
      return `There is no route from GID index ${attr.grh?.sgidIndex} to ${attr.grh?.dgid}`;
    case "EOPNOTSUPP":
      return "The device's provider has no address handles";
  }
}

function hintInvalid(context: Context, { portNum, grh, isGlobal }: AhAttrInit): string | undefined {
  const port = context.queryPort(portNum);
  if (!(isGlobal ?? grh !== undefined) || grh === undefined) {
    return port.linkLayer === LinkLayer.ETHERNET
      ? `Port ${portNum} is Ethernet (RoCE), where every address needs a GRH: give grh`
      : undefined;
  }
  if (grh.sgidIndex >= port.gidTblLen) {
    return `GID index ${grh.sgidIndex} is beyond the port's table of ${port.gidTblLen}`;
  }
  return hintFamily(context.queryGid(portNum, grh.sgidIndex), grh.dgid);
}

function hintFamily(sgid: Gid, dgid: Gid): string | undefined {
  if (sgid.isIpv4Mapped === dgid.isIpv4Mapped || dgid.isMulticast) return undefined;
  return `The GIDs are of different families: ${sgid} cannot reach ${dgid}`;
}
