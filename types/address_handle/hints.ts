import { type AhAttr, ahAttrCodec } from "../address/ah_attr.ts";
import { type Grh, IPV4_AT } from "../address/grh.ts";
import { WcFlags } from "../completion/work_completion.ts";
import { causeOf, type Causes, type Words } from "../core/causes.ts";
import { failure } from "../core/errors.ts";
import {
  addressCause,
  lacksGrh,
  LINK_DOWN,
  linkDown,
  NEEDS_GRH,
  PORT_CAUSES,
} from "../device/address_hints.ts";
import type { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import { providerCause } from "../device/provider_facts.ts";
import type { Packet } from "./packet.ts";

export const AH_CAUSES: Causes = [
  ["EOPNOTSUPP", "The device's provider has no address handles"],
];

/** A packet whose address is not found. */
interface Undecoded extends Pick<Packet, "portNum" | "grh"> {
  readonly context: Context;
}

/** Why no address is found for a packet whose completion has a GRH. */
export const INIT_CAUSES: Causes<Undecoded> = [
  [
    "any",
    "The completion has a GRH (WcFlags.GRH), and grh was left out: give mr.grhAt(offset)",
    ({ grh }) => grh === undefined,
  ],
  [
    "EINVAL, ENOENT, EPROTONOSUPPORT",
    "The packet may have an IPv4 header at byte 20, without a checksum, and the first byte of the buffer looks like " +
    "IPv6: it is of an earlier packet. Clear the first byte of a buffer before each post of its receive",
    ({ grh }) => looksLikeIpv6(grh!),
  ],
  [
    "EPROTONOSUPPORT",
    "The GRH is neither an IPv6 nor an IPv4 header: is it the first 40 bytes of the receive's buffer?",
    ({ grh }) => grh!.ipVersion === undefined,
  ],
  [
    "EPROTONOSUPPORT",
    "The next header {nextHdr} of the GRH is neither UDP (17) nor the InfiniBand BTH (27)",
    ({ grh }) => ({ nextHdr: grh!.nextHdr }),
  ],
  [
    "EINVAL, ENOENT",
    "The packet was sent to a multicast group, and a group cannot send the reply: give the address yourself",
    ({ grh }) => grh!.dgid.isMulticast,
  ],
  ["EINVAL, ENOENT", LINK_DOWN, ({ context, portNum }) => linkDown(context, portNum)],
  ["EINVAL, ENOENT", "The GID that the packet was sent to is not in the port's GID table"],
];

/** Why no handle is made for a packet. */
export const FROM_WC_CAUSES: Causes<Packet & { readonly context: Context }> = [
  ["ETIMEDOUT", "The sender's link address was not resolved in time"],
  [
    "EINVAL, unknown",
    `The completion has no GRH. ${NEEDS_GRH.ETHERNET}`,
    (packet) => wantsGrh(packet, true),
  ],
  [
    "EINVAL, unknown",
    `The completion has no GRH. ${NEEDS_GRH.OTHER}`,
    (packet) => wantsGrh(packet, false),
  ],
];

export function addressError(
  verb: string,
  action: string,
  errno: number,
  context: Context,
  { buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>,
): Error {
  const attr = ahAttrCodec.read(new DataView(buffer, byteOffset, byteLength));
  const address = { ...attr, context, grh: attr.isGlobal ? attr.grh : undefined };
  return failure(verb, action, errno, {
    detail: () => describeAh(attr),
    hint: (code) => causeOf(AH_CAUSES, code, {}) ?? addressCause(code, address),
    countOf: countsOf(context),
  });
}

function describeAh({ portNum, isGlobal, grh, dlid }: AhAttr): string {
  const to = isGlobal ? `GID index ${grh.sgidIndex} to ${grh.dgid}` : `LID ${dlid}`;
  return `port ${portNum}, ${to}`;
}

export function createFromWcError(errno: number, context: Context, packet: Packet): Error {
  return failure("ibv_create_ah_from_wc", "create address handle from completion", errno, {
    detail: () => describePacket(packet),
    hint: (code) =>
      causeOf(PORT_CAUSES, code, { context, portNum: packet.portNum }) ??
        fromWcCause(code, packet, context) ??
        (hasGrh(packet) ? causeOf(INIT_CAUSES, code, { ...packet, context }) : undefined),
    countOf: countsOf(context),
  });
}

function fromWcCause(code: string, packet: Packet, context: Context): string | undefined {
  const own = hasGrh(packet) ? undefined : providerCause(context.device, "addressWithoutGrh", code);
  return own ?? causeOf(FROM_WC_CAUSES, code, { ...packet, context });
}

/** The error of `ibv_init_ah_from_wc`. It fails only if the completion has a GRH. */
export function initError(errno: number, packet: Undecoded): Error {
  return failure("ibv_init_ah_from_wc", "derive address from completion", errno, {
    detail: () => describePacket(packet),
    hint: (code) => causeOf(INIT_CAUSES, code, packet),
  });
}

function describePacket({ portNum, grh }: Pick<Packet, "portNum" | "grh">): string {
  return `port ${portNum}, GRH from ${grh?.sgid ?? "none"} to ${grh?.dgid ?? "none"}`;
}

function wantsGrh(
  packet: Packet & { readonly context: Context },
  isEthernet: boolean,
): Words | undefined {
  const address = { context: packet.context, portNum: packet.portNum };
  return !hasGrh(packet) && lacksGrh(address, isEthernet) ? address : undefined;
}

function hasGrh({ wcFlags }: Packet): boolean {
  return (wcFlags & WcFlags.GRH) !== 0;
}

/** Whether an IPv4 header without a checksum may be taken for the second half of an IPv6 header. */
function looksLikeIpv6({ ipVersion, bytes, ipv4 }: Grh): boolean {
  return ipVersion === 6 && bytes[IPV4_AT] === 0x45 && ipv4.checksum === 0;
}
