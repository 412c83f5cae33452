/** The headers before the transport headers: each names the one that follows, so that tunnels need no code of their own. */

import { Grh } from "@rdma/ibverbs";
import { hex } from "../shell/text.ts";
import { type Field, fieldRows, type Form, withWords } from "./fields.ts";
import { grhSection } from "./grh_section.ts";
import { hexRow, type Row, row, type Section } from "./section.ts";

/** A header that is known. */
export type Layer =
  | "null"
  | "ppi"
  | "erf"
  | "cooked"
  | "cooked2"
  | "ethernet"
  | "ipoib"
  | "ipoibLink"
  | "arp"
  | "rawIp"
  | "ipv4"
  | "ipv6"
  | "option"
  | "fragment"
  | "authentication"
  | "icmp"
  | "icmpv6"
  | "udp"
  | "gre"
  | "erspan"
  | "mpls"
  | "vxlan"
  | "vxlanGpe"
  | "nsh"
  | "metadata"
  | "geneve"
  | "lrh"
  | "grh"
  | "bth";

/** What the headers before the transport headers say. */
export interface Below {
  readonly sections: Section[];
  /** The header that names the sender and the receiver; local packets of InfiniBand have none. */
  grh?: Grh;
  /** Who sends to whom, as text. */
  addresses?: readonly [from: string, to: string];
  /** The priority in the VLAN tag, or that of the link header; 0 without either. */
  sl: number;
  /** How many bytes follow, as the last header says. */
  length: number;
  /** How many of the captured bytes describe the frame, and were not on the wire. */
  notOnWire: number;
}

type Bytes = Uint8Array<ArrayBuffer>;
type View = DataView<ArrayBuffer>;

/** What follows a header and how large the header is, or why there is no RoCE packet. */
type Step = readonly [next: Layer, size: number] | string;

/** A header: its name, its least size in bytes, and how it is read. */
type Reader = readonly [title: string, size: number, read: (view: View, below: Below) => Step];

/** The meaning of the numbers of one kind: a layer, or the name of something else. */
interface Numbers {
  readonly kind: string;
  readonly digits?: number;
  readonly layers: Readonly<Record<number, Layer>>;
  readonly others: Readonly<Record<number, string>>;
}

/** See www.tcpdump.org/linktypes.html. */
const LINK_TYPES: Numbers = {
  kind: "unknown link type",
  layers: {
    ...{ 0: "null", 1: "ethernet", 12: "rawIp", 14: "rawIp", 101: "rawIp", 108: "null" },
    ...{ 113: "cooked", 192: "ppi", 197: "erf", 228: "ipv4", 229: "ipv6", 242: "ipoibLink" },
    ...{ 247: "lrh", 276: "cooked2" },
  },
  others: { 105: "wireless LAN", 127: "wireless LAN", 147: "private" },
};

const ETHERTYPES: Numbers = {
  kind: "ethertype",
  digits: 4,
  layers: {
    ...{ 0x0800: "ipv4", 0x86dd: "ipv6", 0x6558: "ethernet", 0x8847: "mpls", 0x8848: "mpls" },
    ...{ 0x88be: "erspan", 0x22eb: "erspan", 0x8909: "metadata", 0x894f: "nsh", 0x8915: "grh" },
    ...{ 0x0806: "arp" },
  },
  others: {
    ...{ 0x8035: "RARP", 0x8808: "flow control: pause or PFC", 0x8809: "LACP" },
    ...{ 0x8864: "PPPoE", 0x888e: "802.1X", 0x88cc: "LLDP", 0x88e5: "MACsec: it is encrypted" },
    ...{ 0x88f7: "PTP", 0x8906: "FCoE" },
  },
};
const VLAN: readonly number[] = [0x8100, 0x88a8, 0x9100];
/** A smaller number is a length: the frame is one of IEEE 802.3. */
const LEAST_ETHERTYPE = 0x600;

const PROTOCOLS: Numbers = {
  kind: "IP protocol",
  layers: {
    ...{ 0: "option", 1: "icmp", 4: "ipv4", 17: "udp", 41: "ipv6", 43: "option", 44: "fragment" },
    ...{ 47: "gre", 51: "authentication", 58: "icmpv6", 60: "option", 135: "option" },
    ...{ 137: "mpls" },
  },
  others: {
    ...{ 2: "IGMP", 6: "TCP", 50: "ESP: it is encrypted", 59: "nothing follows", 89: "OSPF" },
    ...{ 103: "PIM", 112: "VRRP", 132: "SCTP" },
  },
};

const PORTS: Numbers = {
  kind: "UDP port",
  layers: {
    ...{ 4754: "gre", 4789: "vxlan", 4790: "vxlanGpe", 4791: "bth", 6081: "geneve", 6635: "mpls" },
    ...{ 8472: "vxlan" },
  },
  others: {
    ...{ 53: "DNS", 67: "DHCP", 68: "DHCP", 123: "NTP", 319: "PTP", 320: "PTP", 5353: "mDNS" },
  },
};
const PORT_NAMES: Readonly<Record<number, string>> = {
  ...{ 4754: "GRE", 4789: "VXLAN", 4790: "VXLAN GPE", 4791: "RoCE v2", 6081: "Geneve" },
  ...{ 6635: "MPLS", 8472: "VXLAN" },
};

/** What VXLAN GPE and a network service header carry. */
const CARRIED: Numbers = {
  kind: "next protocol",
  layers: { 1: "ipv4", 2: "ipv6", 3: "ethernet", 4: "nsh", 5: "mpls" },
  others: {},
};

/** What ERSPAN of type III carries. */
const MIRRORED: Numbers = {
  kind: "ERSPAN frame type",
  layers: { 0: "ethernet", 2: "rawIp" },
  others: {},
};

const FAMILIES: Numbers = {
  kind: "address family",
  layers: { 2: "ipv4", 10: "ipv6", 24: "ipv6", 28: "ipv6", 30: "ipv6" },
  others: {},
};

/** The types of records of ERF, see www.endace.com/erf-extensible-record-format-types.pdf. */
const RECORDS: Numbers = {
  kind: "unknown ERF type",
  layers: { 2: "ethernet", 11: "ethernet", 16: "ethernet", 21: "lrh" },
  others: { 25: "link packets of InfiniBand" },
};
/** What ERF puts before an Ethernet header. */
const ERF_PADDING = 2;
const ERF_EXTENSION = 8;

/** What follows a local route header of InfiniBand. */
const LINK_NEXT: Numbers = {
  kind: "InfiniBand packet without a BTH, kind",
  layers: { 2: "bth", 3: "grh" },
  others: { 0: "raw", 1: "raw IPv6" },
};

/** How a network notifies a sender whose packets it does not deliver, and how neighbours are found. */
const ICMP_TYPES = optionalWords({
  0: "echo reply",
  3: "destination unreachable",
  5: "redirect",
  8: "echo request",
  11: "time exceeded",
});
const ICMPV6_TYPES = optionalWords({
  1: "destination unreachable",
  2: "packet too big",
  3: "time exceeded",
  128: "echo request",
  129: "echo reply",
  135: "neighbour solicitation",
  136: "neighbour advertisement",
  143: "multicast listener report",
});

const CHECKSUM: Field = ["checksum", 2, 0, 16];
const IPOIB: readonly Field[] = [["ethertype", 0, 0, 16]];
const VNI: readonly Field[] = [["vni", 4, 0, 24, "count"]];
const ERSPAN: readonly Field[] = [["vlan", 0, 4, 12, "count"], ["session", 2, 6, 10, "count"]];
const UDP: readonly Field[] = [
  ["sourcePort", 0, 0, 16, "count"],
  ["destinationPort", 2, 0, 16, optionalWords(PORT_NAMES)],
  ["length", 4, 0, 16, "bytes"],
];
/** The fields of a local route header before its length. */
const LRH: readonly Field[] = [
  ["vl", 0, 0, 4, "count"],
  ["sl", 1, 0, 4, "count"],
  ["lnh", 1, 6, 2, "count"],
  ["dlid", 2, 0, 16],
];

/** A form that shows a number, and its meaning if that is known. */
function optionalWords(words: Readonly<Record<number, string>>): Form {
  return (value) => words[value] === undefined ? `${value}` : `${value} (${words[value]})`;
}

const ARP = 0x0806;
const ARP_FIELDS: readonly Field[] = [
  ["operation", 6, 0, 16, withWords({ 1: "request", 2: "reply" }, "unknown")],
];

const ETHERNET_SIZE = 14;
const IPOIB_SIZE = 4;
const COOKED_SIZE = 16;
const PPI_SIZE = 8;
const TAG_SIZE = 4;
const IPV4_SIZE = 20;
const UDP_SIZE = 8;
const LRH_SIZE = 8;
const BTH_NEXT = 27;
const LABEL_SIZE = 4;
const VXLAN_SIZE = 8;
const NSH_SIZE = 8;
const GRE = { checksum: 0x8000, key: 0x2000, sequence: 0x1000, version: 7 } as const;
const ERSPAN_I = 0x88be;

/** What IP over InfiniBand carries. */
const OVER_INFINIBAND: readonly number[] = [0x0800, ARP, 0x86dd];

/** Whether a message on InfiniBand begins as IP over InfiniBand does: there is no other sign of it. */
export function isIpoib(bytes: Bytes): boolean {
  if (bytes.length < IPOIB_SIZE) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return OVER_INFINIBAND.includes(view.getUint16(0)) && view.getUint16(2) === 0;
}

/** The layer that a captured frame begins with. */
export function firstLayer(linkType: number): Layer | string {
  return nextOf(LINK_TYPES, linkType);
}

/** The headers. The last one is read by `readTransport`. */
export const LAYERS: Readonly<Record<Layer, Reader>> = {
  null: ["address family", 4, (view) => {
    // Its order is that of the host that captured it.
    const little = view.getUint32(0, true);
    return after(FAMILIES, little < 0x10000 ? little : view.getUint32(0), 4);
  }],
  ppi: ["PPI header", PPI_SIZE, (view) => {
    const size = view.getUint16(2, true);
    return size < PPI_SIZE
      ? tooSmall("PPI header", size)
      : after(LINK_TYPES, view.getUint32(4, true), size);
  }],
  erf: ["ERF header", 16, readErf],
  cooked: ["Linux cooked header", COOKED_SIZE, (view, below) => {
    const { tags, step } = readTags(view, COOKED_SIZE);
    if (tags.length > 0) {
      below.sections.push(section("cooked", "Linux cooked header", ...tagRows(tags)));
    }
    below.sl = priorityOf(tags);
    return step;
  }],
  cooked2: ["Linux cooked header", 20, (view) => after(ETHERTYPES, view.getUint16(0), 20)],
  ethernet: ["Ethernet header", ETHERNET_SIZE, readEthernet],
  ipoib: ["IPoIB header", IPOIB_SIZE, (view, { sections }) => {
    sections.push(section("ipoib", "IPoIB header", ...fieldRows(view, 0, IPOIB)));
    return after(ETHERTYPES, view.getUint16(0), IPOIB_SIZE);
  }],
  // Linux captures on a network interface over InfiniBand a GRH, of which it fills in a part.
  ipoibLink: ["IPoIB link header", Grh.SIZE, () => ["ipoib", Grh.SIZE]],
  arp: ["ARP header", 8, readArp],
  rawIp: ["IP header", 1, (view) => [view.getUint8(0) >> 4 === 6 ? "ipv6" : "ipv4", 0]],
  ipv4: ["IPv4 header", IPV4_SIZE, readIpv4],
  ipv6: ["IPv6 header", Grh.SIZE, (view, below) => {
    if (view.getUint8(0) >> 4 !== 6) return notIp(view, 6);
    addGrh(below, new Grh(bytesOf(view)));
    return after(PROTOCOLS, view.getUint8(6), Grh.SIZE);
  }],
  option: [
    "IPv6 extension header",
    8,
    (view) => after(PROTOCOLS, view.getUint8(0), 8 * (view.getUint8(1) + 1)),
  ],
  fragment: [
    "IPv6 fragment header",
    8,
    (view) => view.getUint16(2) >> 3 === 0 ? after(PROTOCOLS, view.getUint8(0), 8) : LATER_FRAGMENT,
  ],
  authentication: [
    "authentication header",
    8,
    (view) => after(PROTOCOLS, view.getUint8(0), 4 * (view.getUint8(1) + 2)),
  ],
  icmp: ["ICMP header", 8, (view, below) => readIcmp(view, below, "ICMP", ICMP_TYPES)],
  icmpv6: ["ICMPv6 header", 8, (view, below) => readIcmp(view, below, "ICMPv6", ICMPV6_TYPES)],
  udp: ["UDP header", UDP_SIZE, readUdp],
  gre: ["GRE header", 4, readGre],
  erspan: ["ERSPAN header", 8, readErspan],
  mpls: ["MPLS label", LABEL_SIZE, readMpls],
  vxlan: ["VXLAN header", VXLAN_SIZE, (view, { sections }) => {
    sections.push(section("vxlan", "VXLAN header", ...fieldRows(view, 0, VNI)));
    return ["ethernet", VXLAN_SIZE];
  }],
  vxlanGpe: ["VXLAN GPE header", VXLAN_SIZE, (view, { sections }) => {
    sections.push(section("vxlan", "VXLAN GPE header", ...fieldRows(view, 0, VNI)));
    return after(CARRIED, view.getUint8(3), VXLAN_SIZE);
  }],
  nsh: ["network service header", NSH_SIZE, (view) => {
    const size = 4 * (view.getUint8(1) & 0x3f);
    return size < NSH_SIZE
      ? tooSmall("network service header", size)
      : after(CARRIED, view.getUint8(3), size);
  }],
  metadata: ["Cisco metadata", 4, (view) => {
    const size = 4 + 4 * view.getUint8(1);
    return view.byteLength < size
      ? cut("Cisco metadata", view, size)
      : after(ETHERTYPES, view.getUint16(size - 2), size);
  }],
  geneve: ["Geneve header", 8, (view, { sections }) => {
    sections.push(section("geneve", "Geneve header", ...fieldRows(view, 0, VNI)));
    return after(ETHERTYPES, view.getUint16(2), 8 + 4 * (view.getUint8(0) & 0x3f));
  }],
  lrh: ["LRH", LRH_SIZE, readLrh],
  grh: ["GRH", Grh.SIZE, (view, below) => {
    const grh = new Grh(bytesOf(view));
    addGrh(below, grh);
    below.length = grh.paylen;
    const isBth = grh.nextHdr === BTH_NEXT;
    return isBth ? ["bth", Grh.SIZE] : `GRH with next header ${grh.nextHdr}, which is no BTH`;
  }],
  bth: ["BTH", 12, () => "the transport headers follow"],
};

const LATER_FRAGMENT = "a later IP fragment: only the first one has the headers";

/** The meaning of a number of the header. */
function nextOf({ kind, digits, layers, others }: Numbers, value: number): Layer | string {
  const known = layers[value];
  if (known !== undefined) return known;
  const number = `${kind} ${digits === undefined ? value : hex(value, digits)}`;
  const name = others[value];
  return name === undefined ? number : `${number} (${name})`;
}

function after(numbers: Numbers, value: number, size: number): Step {
  const next = nextOf(numbers, value);
  return isLayer(next) ? [next, size] : next;
}

/** Whether it is a layer, not a reason. */
export function isLayer(next: Layer | string): next is Layer {
  return next in LAYERS;
}

function readErf(view: View, below: Below): Step {
  const type = view.getUint8(8);
  let size = 16;
  for (let more = type >> 7; more === 1; size += ERF_EXTENSION) {
    if (view.byteLength < size + ERF_EXTENSION) {
      return cut("ERF header", view, size + ERF_EXTENSION);
    }
    more = view.getUint8(size) >> 7;
  }
  const step = after(RECORDS, type & 0x7f, size);
  if (step[0] === "ethernet") size += ERF_PADDING;
  below.notOnWire = size;
  return typeof step === "string" ? step : [step[0], size];
}

/** The VLAN tags before the ethertype at the end of a header, and what follows. */
function readTags(
  view: View,
  size: number,
): { readonly tags: readonly number[]; readonly ethertype: number; readonly step: Step } {
  const tags: number[] = [];
  let at = size;
  while (VLAN.includes(view.getUint16(at - 2))) {
    if (view.byteLength < at + TAG_SIZE) {
      const step = cut("VLAN tag", view, at + TAG_SIZE);
      return { tags, ethertype: view.getUint16(at - 2), step };
    }
    tags.push(view.getUint16(at));
    at += TAG_SIZE;
  }
  const ethertype = view.getUint16(at - 2);
  const step = ethertype < LEAST_ETHERTYPE
    ? "IEEE 802.3 frame, which has no ethertype"
    : after(ETHERTYPES, ethertype, at);
  return { tags, ethertype, step };
}

function readEthernet(view: View, below: Below): Step {
  const { tags, ethertype, step } = readTags(view, ETHERNET_SIZE);
  const bytes = bytesOf(view);
  const [to, from] = [macText(bytes.subarray(0, 6)), macText(bytes.subarray(6, 12))];
  const rows = [row("destination", to), row("source", from), ...tagRows(tags)];
  below.sections.push(
    section("ethernet", "Ethernet header", ...rows, hexRow("ethertype", ethertype, 4)),
  );
  below.addresses = [from, to];
  below.sl = priorityOf(tags);
  return step;
}

function readArp(view: View, below: Below): Step {
  const [hardware, protocol] = [view.getUint8(4), view.getUint8(5)];
  const size = 8 + 2 * (hardware + protocol);
  if (view.byteLength < size) return cut("ARP header", view, size);
  const address = (at: number): string => bytesOf(view).subarray(at, at + protocol).join(".");
  const [from, to] = [address(8 + hardware), address(8 + 2 * hardware + protocol)];
  const rows = [...fieldRows(view, 0, ARP_FIELDS), row("senderIp", from), row("targetIp", to)];
  below.sections.push(section("arp", "ARP header", ...rows));
  below.addresses ??= [from, to];
  return `ethertype ${hex(ARP, 4)} (ARP)`;
}

function tagRows(tags: readonly number[]): Row[] {
  return tags.map((tag, i) => {
    const name = i === tags.length - 1 ? "vlan" : "outerVlan";
    return row(name, tag & 0xfff, `${tag & 0xfff} (priority ${tag >> 13})`);
  });
}

/** The priority of the last tag; 0 without a tag. */
function priorityOf(tags: readonly number[]): number {
  return (tags.at(-1) ?? 0) >> 13;
}

function readIpv4(view: View, below: Below): Step {
  if (view.getUint8(0) >> 4 !== 4) return notIp(view, 4);
  addGrh(below, new Grh(grhOfIpv4(bytesOf(view))));
  if ((view.getUint16(6) & 0x1fff) !== 0) return LATER_FRAGMENT;
  const size = 4 * (view.getUint8(0) & 0xf);
  return size < IPV4_SIZE
    ? tooSmall("IPv4 header", size)
    : after(PROTOCOLS, view.getUint8(9), size);
}

/** The reason to refuse a header whose length is too small: it would be read forever. */
function tooSmall(title: string, size: number): string {
  return `the ${title} has ${size} bytes, as it says itself`;
}

function notIp(view: View, version: number): string {
  return `the header of IPv${version} says version ${view.getUint8(0) >> 4}`;
}

/** A device writes the IPv4 header to the second half of the GRH. */
function grhOfIpv4(bytes: Bytes): Bytes {
  const grh = new Uint8Array(Grh.SIZE);
  grh.set(bytes.subarray(0, IPV4_SIZE), 20);
  return grh;
}

function addGrh(below: Below, grh: Grh): void {
  below.grh = grh;
  below.sections.push(grhSection(grh));
  below.addresses = grh.ipVersion === 4
    ? [grh.ipv4.saddr, grh.ipv4.daddr]
    : [String(grh.sgid), String(grh.dgid)];
}

function readIcmp(view: View, { sections }: Below, protocol: string, words: Form): Step {
  const fields: Field[] = [["type", 0, 0, 8, words], ["code", 1, 0, 8, "count"], CHECKSUM];
  const rows = fieldRows(view, 0, fields);
  sections.push(section("icmp", `${protocol} header`, ...rows));
  return `${protocol} type ${rows[0]!.text}`;
}

function readUdp(view: View, below: Below): Step {
  below.sections.push(section("udp", "UDP header", ...fieldRows(view, 0, UDP)));
  below.length = Math.max(view.getUint16(4) - UDP_SIZE, 0);
  return after(PORTS, view.getUint16(2), UDP_SIZE);
}

function readGre(view: View, { sections }: Below): Step {
  const [flags, protocol] = [view.getUint16(0), view.getUint16(2)];
  const version = flags & GRE.version;
  if (version !== 0) return `GRE version ${version}, which is not known`;
  const fields = [GRE.checksum, GRE.key, GRE.sequence].filter((flag) => (flags & flag) !== 0);
  const size = 4 + 4 * fields.length;
  sections.push(section("gre", "GRE header", hexRow("protocol", protocol, 4)));
  // Only version 2 and later ones have sequence numbers, and a header of their own.
  if (protocol === ERSPAN_I && (flags & GRE.sequence) === 0) return ["ethernet", size];
  return after(ETHERTYPES, protocol, size);
}

function readErspan(view: View, { sections }: Below): Step {
  const version = view.getUint8(0) >> 4;
  if (version !== 1 && version !== 2) return `ERSPAN version ${version}, which is not known`;
  const title = `ERSPAN header (type ${version === 1 ? "II" : "III"})`;
  sections.push(section("erspan", title, ...fieldRows(view, 0, ERSPAN)));
  if (version === 1) return ["ethernet", 8];
  if (view.byteLength < 12) return cut("ERSPAN header", view, 12);
  const hasPlatform = (view.getUint8(11) & 1) === 1;
  return after(MIRRORED, view.getUint8(10) >> 2 & 0x1f, hasPlatform ? 20 : 12);
}

function readMpls(view: View, { sections }: Below): Step {
  const labels: number[] = [];
  for (let at = 0; at + LABEL_SIZE < view.byteLength; at += LABEL_SIZE) {
    const word = view.getUint32(at);
    labels.push(word >>> 12);
    if ((word & 0x100) === 0) continue;
    sections.push(section("mpls", "MPLS labels", row("labels", labels, labels.join(", "))));
    return insideMpls(view, at + LABEL_SIZE);
  }
  return cut("MPLS labels", view, view.byteLength + LABEL_SIZE);
}

/** No label says what it carries: IP packets begin with their version, and a control word before a frame with 0. */
function insideMpls(view: View, at: number): Step {
  const version = view.getUint8(at) >> 4;
  if (isEthernet(view, at)) return ["ethernet", at];
  if (version === 4 || version === 6) return [version === 4 ? "ipv4" : "ipv6", at];
  const behindWord = at + 4;
  if (version === 0 && isEthernet(view, behindWord)) return ["ethernet", behindWord];
  return "MPLS labels before something that is neither IP nor Ethernet";
}

function isEthernet(view: View, at: number): boolean {
  if (view.byteLength < at + ETHERNET_SIZE) return false;
  const ethertype = view.getUint16(at + ETHERNET_SIZE - 2);
  return VLAN.includes(ethertype) || ETHERTYPES.layers[ethertype] !== undefined;
}

function readLrh(view: View, below: Below): Step {
  const [dlid, words, slid] = [2, 4, 6].map((at) => view.getUint16(at)) as [number, number, number];
  const length = 4 * (words & 0x7ff);
  below.sl = view.getUint8(1) >> 4;
  below.sections.push(section(
    "lrh",
    "Local route header (LRH)",
    ...fieldRows(view, 0, LRH),
    row("packetLength", length, `${length} bytes`),
    hexRow("slid", slid, 4),
  ));
  below.addresses = [`LID ${slid}`, `LID ${dlid}`];
  below.length = Math.max(length - LRH_SIZE, 0);
  return after(LINK_NEXT, view.getUint8(1) & 3, LRH_SIZE);
}

function section(key: string, title: string, ...rows: readonly Row[]): Section {
  return { key, title, rows };
}

/** The reason why a header cannot be read: a part of it is missing. */
export function cut(
  title: string,
  { byteLength }: { readonly byteLength: number },
  size: number,
): string {
  return `the packet ends within its ${title}: there are ${byteLength} of ${size} bytes`;
}

function bytesOf(view: View): Bytes {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function macText(bytes: Uint8Array): string {
  return bytes.toHex().match(/../g)!.join(":");
}
