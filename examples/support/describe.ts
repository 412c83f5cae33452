/** Structs of verbs as text, one field a line. */

import {
  type AhAttr,
  Grh,
  nameOf,
  namesOf,
  WcFlags,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
} from "@rdma/ibverbs";

type Fields = readonly (readonly [name: string, value: unknown])[];

/** A heading and the fields below it, aligned. */
export function section(heading: string, fields: Fields): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  const lines = fields.map(([name, value]) => `    ${name.padEnd(width)}  ${value}`);
  return [`  ${heading}`, ...lines].join("\n");
}

/** The header that the device writes in front of a received datagram. */
export function describeGrh(grh: Grh): string {
  return grh.ipVersion === 4 ? describeIpv4(grh) : describeIpv6(grh);
}

function describeIpv4({ ipv4, ipVersion }: Grh): string {
  return section("GRH: an IPv4 header at byte 20 of the buffer (struct ibv_grh, second half)", [
    ["version", ipVersion],
    ["ihl", `${ipv4.ihl} words`],
    ["tos", ipv4.tos],
    ["totalLength", `${ipv4.totalLength} bytes`],
    ["identification", hex(ipv4.identification, 4)],
    ["ttl", ipv4.ttl],
    ["protocol", ipv4.protocol],
    ["checksum", hex(ipv4.checksum, 4)],
    ["saddr", ipv4.saddr],
    ["daddr", ipv4.daddr],
  ]);
}

function describeIpv6(grh: Grh): string {
  return section("GRH: an IPv6 header at byte 0 of the buffer (struct ibv_grh)", [
    ["version", grh.ipVersion ?? "neither 4 nor 6"],
    ["trafficClass", grh.trafficClass],
    ["flowLabel", hex(grh.flowLabel, 5)],
    ["paylen", `${grh.paylen} bytes`],
    ["nextHdr", grh.nextHdr],
    ["hopLimit", grh.hopLimit],
    ["sgid", grh.sgid],
    ["dgid", grh.dgid],
  ]);
}

/** The completion of a receive. */
export function describeWc(wc: WorkCompletion): string {
  return section("work completion (struct ibv_wc)", [
    ["wrId", wc.wrId],
    ["status", named(WcStatus, wc.status)],
    ["opcode", named(WcOpcode, wc.opcode)],
    ["vendorErr", wc.vendorErr],
    ["byteLen", `${wc.byteLen} bytes: ${Grh.SIZE} of GRH, ${wc.byteLen - Grh.SIZE} of message`],
    ["immData", wc.wcFlags & WcFlags.WITH_IMM ? hex(wc.immData, 8) : "none"],
    ["qpNum", hex(wc.qpNum, 6)],
    ["srcQp", hex(wc.srcQp, 6)],
    ["wcFlags", flagNames(WcFlags, wc.wcFlags)],
    ["pkeyIndex", wc.pkeyIndex],
    ["slid", hex(wc.slid, 4)],
    ["sl", wc.sl],
    ["dlidPathBits", wc.dlidPathBits],
  ]);
}

/** The address for a reply. */
export function describeAhAttr(attr: AhAttr): string {
  return section("address of the sender (struct ibv_ah_attr)", [
    ["isGlobal", attr.isGlobal],
    ["grh.dgid", attr.grh.dgid],
    ["grh.flowLabel", hex(attr.grh.flowLabel, 5)],
    ["grh.sgidIndex", attr.grh.sgidIndex],
    ["grh.hopLimit", attr.grh.hopLimit],
    ["grh.trafficClass", attr.grh.trafficClass],
    ["dlid", hex(attr.dlid, 4)],
    ["sl", attr.sl],
    ["srcPathBits", attr.srcPathBits],
    ["staticRate", attr.staticRate],
    ["portNum", attr.portNum],
  ]);
}

/** A hexadecimal number with at least `digits` digits. */
export function hex(value: number, digits: number): string {
  return `0x${value.toString(16).padStart(digits, "0")}`;
}

/** The name and number of an enum value. */
export function named(members: Readonly<Record<string, number>>, value: number): string {
  const name = nameOf(members, value);
  return name === String(value) ? name : `${name} (${value})`;
}

/** The names and number of a set of flags. */
export function flagNames(members: Readonly<Record<string, number>>, value: number): string {
  return `${value === 0 ? "none" : namesOf(members, value).replaceAll("|", " | ")} (${value})`;
}
