import { isEfa } from "../../internal/efa.ts";
import { type AhAttr, ahAttrCodec } from "../address/ah_attr.ts";
import { type Grh, IPV4_AT } from "../address/grh.ts";
import { WcFlags } from "../completion/work_completion.ts";
import { failure } from "../core/errors.ts";
import { EFA_SENDERS, hintAddress, needOfGrh } from "../device/address_hints.ts";
import type { Context } from "../device/context.ts";
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
    hint: (code) =>
      code === "EOPNOTSUPP"
        ? "The device's provider has no address handles"
        : hintAddress(code, context, { ...attr, grh: attr.isGlobal ? attr.grh : undefined }),
  });
}

function describeAh({ portNum, isGlobal, grh, dlid }: AhAttr): string {
  const to = isGlobal ? `GID index ${grh.sgidIndex} to ${grh.dgid}` : `LID ${dlid}`;
  return `port ${portNum}, ${to}`;
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

/** What `ibv_init_ah_from_wc` gives for a packet that it cannot use. */
const REFUSED: ReadonlySet<string> = new Set(["EPROTONOSUPPORT", "EINVAL", "ENOENT"]);

function hintInit(code: string, grh: Grh | undefined): string | undefined {
  if (grh === undefined) {
    return "The completion has a GRH (WcFlags.GRH), and grh was left out: give mr.grhAt(offset)";
  }
  if (!REFUSED.has(code)) return undefined;
  if (looksLikeIpv6(grh)) {
    return "The packet may have an IPv4 header at byte 20, without a checksum, and the first byte of the buffer looks like " +
      "IPv6: it is of an earlier packet. Clear the first byte of a buffer before each post of its receive";
  }
  if (code === "EPROTONOSUPPORT") {
    return grh.ipVersion === undefined
      ? "The GRH is neither an IPv6 nor an IPv4 header: is it the first 40 bytes of the receive's buffer?"
      : `The next header ${grh.nextHdr} of the GRH is neither UDP (17) nor the InfiniBand BTH (27)`;
  }
  return grh.dgid.isMulticast
    ? "The packet was sent to a multicast group, and a group cannot send the reply: give the address yourself"
    : "The GID that the packet was sent to is not in the port's GID table";
}

/** Whether an IPv4 header without a checksum may be taken for the second half of an IPv6 header. */
function looksLikeIpv6({ ipVersion, bytes, ipv4 }: Grh): boolean {
  return ipVersion === 6 && bytes[IPV4_AT] === 0x45 && ipv4.checksum === 0;
}
