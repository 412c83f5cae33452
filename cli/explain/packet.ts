/** RoCE packets: from the Ethernet frame, or from the IP header, to the transport headers. */

import { Grh } from "@rdma/ibverbs";
import { CommandError } from "../shell/command.ts";
import { needBytes, readTransport, type Transport } from "./headers.ts";
import { grhSection } from "./grh_section.ts";
import { hexRow, row, type Section } from "./section.ts";

const ETHERTYPE = {
  ipv4: 0x0800,
  vlan: 0x8100,
  ipv6: 0x86dd,
  qinq: 0x88a8,
  roceV1: 0x8915,
} as const;
const ETHERNET_SIZE = 14;
const VLAN_SIZE = 4;
const IPV4_SIZE = 20;
const IPV6_SIZE = 40;
const ICMP_SIZE = 8;
const UDP_SIZE = 8;
const UDP = 17;
const ICMP = 1;
const ICMPV6 = 58;
const HOP_BY_HOP = 0;
/** What a network says to a sender whose packets it does not deliver, and how neighbours are looked for. */
const ICMP_TYPES: Readonly<Record<number, string>> = {
  0: "echo reply",
  3: "destination unreachable",
  5: "redirect",
  8: "echo request",
  11: "time exceeded",
};
const ICMPV6_TYPES: Readonly<Record<number, string>> = {
  1: "destination unreachable",
  2: "packet too big",
  3: "time exceeded",
  128: "echo request",
  129: "echo reply",
  135: "neighbour solicitation",
  136: "neighbour advertisement",
  143: "multicast listener report",
};
/** The UDP port of RoCE v2. */
const ROCE_PORT = 4791;

/** A packet, from which a reply path is made. */
export interface Packet extends Transport {
  /** The header that names the sender and the receiver. */
  readonly grh: Grh;
  /** The priority in the VLAN tag, which becomes the service level; 0 without a tag. */
  readonly sl: number;
}

/** Where the network header is. */
interface Start {
  readonly sections: readonly Section[];
  readonly ethertype: number;
  readonly at: number;
  readonly sl: number;
}

/**
 * Reads a RoCE packet. It is undefined if the bytes are something else.
 *
 * @throws {CommandError} If the packet ends within a header.
 */
export function readPacket(bytes: Uint8Array<ArrayBuffer>): Packet | undefined {
  for (const start of [startOfFrame(bytes), startOfIp(bytes)]) {
    const packet = start && readNetwork(bytes, start);
    if (packet !== undefined) return packet;
  }
}

/** What a captured frame is: a packet, or the headers of something else. */
export interface Frame {
  readonly sections: readonly Section[];
  /** It is undefined if the frame is no RoCE packet. */
  readonly packet: Packet | undefined;
}

/**
 * Reads a frame of a capture.
 *
 * @throws {CommandError} If a packet ends within a header, or the link type is unknown.
 */
export function readFrame(bytes: Uint8Array<ArrayBuffer>, linkType: number): Frame {
  const start = startOfLink(bytes, linkType);
  if (start === undefined) return { sections: [], packet: undefined };
  const packet = readNetwork(bytes, start);
  return { sections: packet?.sections ?? otherSections(bytes.subarray(start.at), start), packet };
}

/** Link types: www.tcpdump.org/linktypes.html. */
const LINK_TYPE = { ethernet: 1, cooked: 113, cooked2: 276 } as const;
const RAW_IP: readonly number[] = [12, 14, 101, 228, 229];
/** Bytes of a header of Linux instead of that of the link, and where it names what follows. */
const COOKED: Readonly<Record<number, readonly [size: number, protocol: number]>> = {
  [LINK_TYPE.cooked]: [16, 14],
  [LINK_TYPE.cooked2]: [20, 0],
};

function startOfLink(bytes: Uint8Array<ArrayBuffer>, linkType: number): Start | undefined {
  if (linkType === LINK_TYPE.ethernet) return startOfFrame(bytes);
  if (RAW_IP.includes(linkType)) return startOfIp(bytes);
  const cooked = COOKED[linkType];
  if (cooked === undefined) throw new CommandError(`frames of link type ${linkType} are unknown`);
  const [at, protocol] = cooked;
  if (bytes.length < at) return undefined;
  return { sections: [], ethertype: viewOf(bytes).getUint16(protocol), at, sl: 0 };
}

/** The headers of a frame that is no RoCE packet, as far as they are known. */
function otherSections(bytes: Uint8Array<ArrayBuffer>, { sections, ethertype }: Start): Section[] {
  const isIpv4 = ethertype === ETHERTYPE.ipv4 && bytes.length >= IPV4_SIZE;
  const isIpv6 = ethertype === ETHERTYPE.ipv6 && bytes.length >= IPV6_SIZE;
  if (!isIpv4 && !isIpv6) return [...sections];
  const grh = isIpv4 ? grhOfIpv4(bytes) : bytes;
  const [protocol, at] = isIpv4 ? [bytes[9], ipv4Size(bytes)] : behindIpv6(bytes);
  const icmp = bytes.subarray(at);
  const isIcmp = protocol === (isIpv4 ? ICMP : ICMPV6) && icmp.length >= ICMP_SIZE;
  return [...sections, grhSection(new Grh(grh)), ...isIcmp ? [icmpSection(icmp, isIpv4)] : []];
}

/** What follows an IPv6 header, and where: multicast reports have options for each router in between. */
function behindIpv6(bytes: Uint8Array): [protocol: number | undefined, at: number] {
  const [next, following, words = 0] = [bytes[6]!, bytes[IPV6_SIZE], bytes[IPV6_SIZE + 1]];
  return next === HOP_BY_HOP ? [following, IPV6_SIZE + 8 * (words + 1)] : [next, IPV6_SIZE];
}

function icmpSection(bytes: Uint8Array<ArrayBuffer>, isIpv4: boolean): Section {
  const [type, code] = [bytes[0]!, bytes[1]!];
  const name = (isIpv4 ? ICMP_TYPES : ICMPV6_TYPES)[type];
  return {
    key: "icmp",
    title: isIpv4 ? "ICMP header" : "ICMPv6 header",
    rows: [
      row("type", type, name === undefined ? `${type}` : `${type} (${name})`),
      row("code", code),
      hexRow("checksum", viewOf(bytes).getUint16(2), 4),
    ],
  };
}

/** An Ethernet frame with up to two VLAN tags. */
function startOfFrame(bytes: Uint8Array<ArrayBuffer>): Start | undefined {
  if (bytes.length < ETHERNET_SIZE) return undefined;
  const view = viewOf(bytes);
  const tags: number[] = [];
  let at = ETHERNET_SIZE;
  let ethertype = view.getUint16(at - 2);
  while (ethertype === ETHERTYPE.vlan || ethertype === ETHERTYPE.qinq) {
    if (bytes.length < at + VLAN_SIZE || tags.length === 2) return undefined;
    tags.push(view.getUint16(at));
    at += VLAN_SIZE;
    ethertype = view.getUint16(at - 2);
  }
  const section = {
    key: "ethernet",
    title: "Ethernet header",
    rows: [
      row("destination", macText(bytes.subarray(0, 6))),
      row("source", macText(bytes.subarray(6, 12))),
      ...tags.map((tag) => row("vlan", tag & 0xfff, `${tag & 0xfff} (priority ${tag >> 13})`)),
      hexRow("ethertype", ethertype, 4),
    ],
  };
  return { sections: [section], ethertype, at, sl: tags.length === 0 ? 0 : tags.at(-1)! >> 13 };
}

function startOfIp(bytes: Uint8Array<ArrayBuffer>): Start | undefined {
  const version = bytes.length === 0 ? 0 : bytes[0]! >> 4;
  if (version !== 4 && version !== 6) return undefined;
  return { sections: [], ethertype: version === 4 ? ETHERTYPE.ipv4 : ETHERTYPE.ipv6, at: 0, sl: 0 };
}

function readNetwork(bytes: Uint8Array<ArrayBuffer>, start: Start): Packet | undefined {
  const rest = bytes.subarray(start.at);
  if (start.ethertype === ETHERTYPE.ipv4) return readIpv4(rest, start);
  if (start.ethertype === ETHERTYPE.ipv6) return readIpv6(rest, start);
  return start.ethertype === ETHERTYPE.roceV1 ? readRoceV1(rest, start) : undefined;
}

function readIpv4(bytes: Uint8Array<ArrayBuffer>, start: Start): Packet | undefined {
  if (bytes.length < IPV4_SIZE || bytes[0]! >> 4 !== 4 || bytes[9] !== UDP) return undefined;
  // Only the first fragment has the headers that follow.
  if ((viewOf(bytes).getUint16(6) & 0x1fff) !== 0) return undefined;
  return readUdp(bytes.subarray(ipv4Size(bytes)), grhOfIpv4(bytes), start);
}

function ipv4Size(bytes: Uint8Array): number {
  return 4 * (bytes[0]! & 0xf);
}

/** A device writes the IPv4 header to the second half of the GRH. */
function grhOfIpv4(bytes: Uint8Array): Uint8Array {
  const grh = new Uint8Array(Grh.SIZE);
  grh.set(bytes.subarray(0, IPV4_SIZE), 20);
  return grh;
}

function readIpv6(bytes: Uint8Array<ArrayBuffer>, start: Start): Packet | undefined {
  if (bytes.length < IPV6_SIZE || bytes[0]! >> 4 !== 6 || bytes[6] !== UDP) return undefined;
  return readUdp(bytes.subarray(IPV6_SIZE), bytes, start);
}

function readUdp(
  bytes: Uint8Array<ArrayBuffer>,
  header: Uint8Array,
  start: Start,
): Packet | undefined {
  if (bytes.length < UDP_SIZE) return undefined;
  const view = viewOf(bytes);
  if (view.getUint16(2) !== ROCE_PORT) return undefined;
  const length = view.getUint16(4);
  const section = {
    key: "udp",
    title: "UDP header",
    rows: [
      row("sourcePort", view.getUint16(0)),
      row("destinationPort", ROCE_PORT, `${ROCE_PORT} (RoCE v2)`),
      row("length", length, `${length} bytes`),
    ],
  };
  const rest = bytes.subarray(UDP_SIZE);
  return assemble(start, new Grh(header), [section], rest, Math.max(length - UDP_SIZE, 0));
}

function readRoceV1(bytes: Uint8Array<ArrayBuffer>, start: Start): Packet {
  needBytes(bytes, Grh.SIZE, "GRH");
  const grh = new Grh(bytes);
  return assemble(start, grh, [], bytes.subarray(Grh.SIZE), grh.paylen);
}

function assemble(
  { sections, sl }: Start,
  grh: Grh,
  below: readonly Section[],
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
): Packet {
  // A frame may be padded: the packet ends where its header says.
  const transport = readTransport(bytes.subarray(0, length), length);
  const all = [...sections, grhSection(grh), ...below, ...transport.sections];
  return { ...transport, sections: all, grh, sl };
}

function viewOf(bytes: Uint8Array<ArrayBuffer>): DataView<ArrayBuffer> {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function macText(bytes: Uint8Array): string {
  return bytes.toHex().match(/../g)!.join(":");
}
