import { isEfa } from "../../internal/efa.ts";
import { needsGrh } from "../../internal/ports.ts";
import { type AhAttr, ahAttrCodec } from "../address/ah_attr.ts";
import type { Gid } from "../address/gid.ts";
import type { Grh } from "../address/grh.ts";
import { WcFlags } from "../completion/work_completion.ts";
import { failure } from "../core/errors.ts";
import type { Context } from "../device/context.ts";
import { LinkLayer, type PortAttr } from "../device/port.ts";
import type { Packet } from "./packet.ts";

export function addressError(
  verb: string,
  action: string,
  errno: number,
  context: Context,
  { buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>,
): Error {
  const attr = ahAttrCodec.read(new DataView(buffer, byteOffset, byteLength));
  return failure(verb, action, errno, {
    detail: () => describeAh(attr),
    hint: (code) => hintAh(code, context, attr),
  });
}

function describeAh({ portNum, isGlobal, grh, dlid }: AhAttr): string {
  const to = isGlobal ? `GID index ${grh.sgidIndex} to ${grh.dgid}` : `LID ${dlid}`;
  return `port ${portNum}, ${to}`;
}

function hintAh(code: string, context: Context, attr: AhAttr): string | undefined {
  const { sgidIndex, dgid } = attr.grh;
  switch (code) {
    case "EINVAL":
    // libmlx4 and libmlx5 refuse an address without an errno.
    case "unknown":
      return hintInvalid(context, attr);
    case "ENODATA":
      return `Slot ${sgidIndex} of the GID table is empty: context.gidTable() lists the used slots`;
    case "ETIMEDOUT":
      return "The peer's link address was not resolved in time: is the peer up, and on this network?" +
        (dgid.isLinkLocal ? " A link-local GID reaches only the same link" : "");
    case "ENETUNREACH":
    case "EHOSTUNREACH":
      return `There is no route from GID index ${sgidIndex} to ${dgid}`;
    case "EOPNOTSUPP":
      return "The device's provider has no address handles";
  }
}

function hintInvalid(context: Context, { portNum, grh, isGlobal }: AhAttr): string | undefined {
  const port = context.queryPort(portNum);
  if (!isGlobal) {
    if (isEfa(context.device)) return EFA_SENDERS;
    const need = needOfGrh(portNum, port);
    return need && `${need}: give grh`;
  }
  if (grh.sgidIndex >= port.gidTblLen) {
    return `GID index ${grh.sgidIndex} is beyond the port's table of ${port.gidTblLen}`;
  }
  return hintFamily(context.queryGid(portNum, grh.sgidIndex), grh.dgid);
}

const EFA_SENDERS = "An Elastic Fabric Adapter has no GRH, and reaches peers by their GIDs: " +
  "ReplyPath finds the handle of a sender, and an EfaCompletionQueue tells the GID of an unknown one";

/** Why every address of a port needs a GRH; undefined if it does not. */
function needOfGrh(portNum: number, port: PortAttr): string | undefined {
  if (!needsGrh(port)) return undefined;
  return port.linkLayer === LinkLayer.ETHERNET
    ? `Port ${portNum} is Ethernet (RoCE), where every address needs a GRH`
    : `Port ${portNum} needs a GRH in every address (IBV_QPF_GRH_REQUIRED)`;
}

function hintFamily(sgid: Gid, dgid: Gid): string | undefined {
  if (sgid.isIpv4Mapped === dgid.isIpv4Mapped || dgid.isMulticast) return undefined;
  return `The GIDs are of different families: ${sgid} cannot reach ${dgid}`;
}

export function createFromWcError(errno: number, context: Context, packet: Packet): Error {
  return failure("ibv_create_ah_from_wc", "create address handle from completion", errno, {
    detail: () => describePacket(packet),
    hint: (code) => hintFromWc(code, context, packet),
  });
}

/** The error of `ibv_init_ah_from_wc`. It fails only if the completion has a GRH. */
export function initError(errno: number, packet: Pick<Packet, "port" | "grh">): Error {
  return failure("ibv_init_ah_from_wc", "derive address from completion", errno, {
    detail: () => describePacket(packet),
    hint: (code) => hintInit(code, packet.grh),
  });
}

function describePacket({ port, grh }: Pick<Packet, "port" | "grh">): string {
  return `port ${port}, GRH from ${grh?.sgid ?? "none"} to ${grh?.dgid ?? "none"}`;
}

function hintFromWc(
  code: string,
  context: Context,
  { port, wcFlags, grh }: Packet,
): string | undefined {
  if (code === "ETIMEDOUT") return "The sender's link address was not resolved in time";
  if (wcFlags & WcFlags.GRH) return hintInit(code, grh);
  if (code !== "EINVAL" && code !== "unknown") return undefined;
  if (isEfa(context.device)) return EFA_SENDERS;
  const need = needOfGrh(port, context.queryPort(port));
  return need && `The completion has no GRH. ${need}`;
}

function hintInit(code: string, grh: Grh | undefined): string | undefined {
  if (grh === undefined) {
    return "The completion has a GRH (WcFlags.GRH), and grh was left out: give mr.grhAt(offset)";
  }
  if (code === "EPROTONOSUPPORT") {
    return grh.ipVersion === undefined
      ? "The GRH is neither an IPv6 nor an IPv4 header: is it the first 40 bytes of the receive's buffer?"
      : `The next header ${grh.nextHdr} of the GRH is neither UDP (17) nor the InfiniBand BTH (27)`;
  }
  if (code !== "EINVAL" && code !== "ENOENT") return undefined;
  return grh.dgid.isMulticast
    ? "The packet was sent to a multicast group, and a group cannot send the reply: give the address yourself"
    : "The GID that the packet was sent to is not in the port's GID table";
}
