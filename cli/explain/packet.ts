/** RoCE packets: from the Ethernet frame, or from the IP header, to the transport headers. */

import { Grh } from "../../mod.ts";
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
const IPV6_SIZE = 40;
const UDP_SIZE = 8;
const UDP = 17;
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
  if (bytes.length < 20 || bytes[0]! >> 4 !== 4 || bytes[9] !== UDP) return undefined;
  const size = 4 * (bytes[0]! & 0xf);
  // A device writes the IPv4 header to the second half of the GRH.
  const grh = new Uint8Array(Grh.SIZE);
  grh.set(bytes.subarray(0, 20), 20);
  return readUdp(bytes.subarray(size), grh, start);
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
  return assemble(start, new Grh(header), [section], rest, length - UDP_SIZE);
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
