// Captures with a packet of each kind, as bytes.

import { hex } from "./packets.ts";

const ETHERNET = "020000000002020000000001";
const ICRC = "00000000";

/** A base transport header that goes to a queue pair, with padding. */
function bth(opcode: number, destQp = 0x11, padding = 0): string {
  return hex([opcode, 1], [0x80 | padding << 4, 1], [0xffff, 2], [destQp, 4]) + "80000123";
}

function overIpv4(protocol: number, payload: string): string {
  const length = 20 + payload.length / 2;
  const header = hex([0x4502, 2], [length, 2], [0x0001_4000, 4], [63, 1], [protocol, 1], [0, 2]);
  return `${ETHERNET}0800${header}0a0000010a000002${payload}`;
}

function overIpv6(next: number, payload: string): string {
  const length = payload.length / 2;
  const header = hex([0x6230_0456, 4], [length, 2], [next, 1], [64, 1]);
  return `${ETHERNET}86dd${header}fe80${"0".repeat(27)}1fe80${"0".repeat(27)}2${payload}`;
}

function udp(payload: string, port = 4791): string {
  return hex([0xc000, 2], [port, 2], [8 + payload.length / 2, 2], [0, 2]) + payload;
}

const DETH = hex([0x1111_1111, 4], [0, 1], [0x22, 3]);
const RETH = hex([0x7fff_f5da_d000n, 8], [0x1ae6, 4], [64, 4]);
const ATOMIC = hex([0x1000n, 8], [7, 4], [5n, 8], [6n, 8]);
const IMMEDIATE = "01020304";
const DATA = "ab".repeat(8);

function aeth(syndrome: number): string {
  return hex([syndrome, 1], [9, 3]);
}

/** What follows the base header, by the lower 5 bits of the opcode. */
const RC: Readonly<Record<number, string>> = {
  ...{ 0: DATA, 1: DATA, 2: DATA, 3: IMMEDIATE + DATA, 4: DATA, 5: IMMEDIATE + DATA },
  ...{ 6: RETH + DATA, 7: DATA, 8: DATA, 9: IMMEDIATE + DATA, 10: RETH + DATA },
  ...{ 11: RETH + IMMEDIATE + DATA, 12: RETH, 13: aeth(0x1f) + DATA, 14: DATA },
  ...{ 15: aeth(0x1f) + DATA, 16: aeth(0x1f) + DATA, 17: aeth(0x1f) },
  ...{ 18: aeth(5) + DATA, 19: ATOMIC, 20: ATOMIC, 22: IMMEDIATE + DATA, 23: IMMEDIATE + DATA },
};

/** Syndromes and what they say. */
export const SYNDROMES: Readonly<Record<number, string>> = {
  0x1f: "ACK, no limit of credits",
  0x05: "ACK, credit code 5",
  0x20: "RNR NAK: no receive is posted, again after 655.36 ms",
  0x2c: "RNR NAK: no receive is posted, again after 0.64 ms",
  0x3f: "RNR NAK: no receive is posted, again after 491.52 ms",
  0x60: "NAK, PSN sequence error: a packet before this one is missing",
  0x61: "NAK, invalid request",
  0x62: "NAK, remote access error: wrong rkey, address or rights",
  0x63: "NAK, remote operational error",
  0x64: "NAK, invalid RD request",
  0x65: "NAK, unknown code 5",
  0x40: "reserved",
};

/** A message of a connection manager, by its attribute and what stands at some of its bytes. */
function cmFrame(attribute: number, bytes: Readonly<Record<number, string>> = {}): string {
  const message = new Uint8Array(232);
  for (const [at, text] of Object.entries(bytes)) message.set(Uint8Array.fromHex(text), Number(at));
  const header = hex([0x0107_0203, 4], [0, 4], [0x1234n, 8], [attribute, 2], [0, 2], [0, 4]);
  return overIpv4(17, udp(bth(0x64, 1) + DETH + header + message.toHex() + ICRC));
}

const COMM_IDS = { 0: "00000011", 4: "00000022" };
/** LIDs and GIDs of a path: one of IPv4, and one of IPv6. */
const PATH = "ffff" + "fffe" + "0".repeat(20) + "ffff0a000001" + "fe80" + "0".repeat(27) + "2";

/** A message of connection managers of each kind, a request with an alternate path, and a datagram of another class. */
export const MESSAGES: readonly string[] = [
  cmFrame(0x10, {
    ...{ 0: "00000011", 8: "000000000106bde2", 16: "0102030405060708", 28: "11111111" },
    ...{ 32: "00002b10", 36: "0000030f", 40: "0000049b", 44: "cee23ea7", 48: "fffe3ff9" },
    ...{ 52: PATH, 88: "504340100840289b", 140: "0040a76e", 156: "0a000001", 172: "0a000002" },
    176: "616263",
  }),
  cmFrame(0x11, { ...COMM_IDS, 8: "40a0" }),
  cmFrame(0x12, { ...COMM_IDS, 8: "4008001c", 84: "6e6f" }),
  cmFrame(0x13, {
    ...{ ...COMM_IDS, 8: "11111111", 12: "00002b00", 16: "00000300", 20: "cee23e00" },
    ...{ 24: "100fa5f0", 28: "0102030405060708", 36: "79" },
  }),
  cmFrame(0x14, COMM_IDS),
  cmFrame(0x15, { ...COMM_IDS, 8: "00002b00" }),
  cmFrame(0x16, COMM_IDS),
  cmFrame(0x17, {
    ...{ 0: "00000033", 4: "ffff", 8: "000000000111bde2", 16: "0060a76e", 35: "01", 51: "02" },
  }),
  cmFrame(0x18, {
    ...{ 0: "00000033", 4: "0103", 8: "00002b00", 12: "0000000000000007", 20: "01234567" },
  }),
  cmFrame(0x19, COMM_IDS),
  cmFrame(0x1a, COMM_IDS),
  cmFrame(0x10, { 96: PATH }),
  cmFrame(0x10).replace("01070203", "01040103"),
];

/** A frame of each kind: UD, RC, UC, atomics, CM, ICMP, and others. */
export const FRAMES: readonly string[] = [
  overIpv4(17, udp(bth(0x64) + DETH + DATA + ICRC)),
  overIpv6(17, udp(bth(0x65, 0x11, 3) + DETH + IMMEDIATE + DATA + ICRC)),
  ...Object.entries(RC).map(([code, rest]) => overIpv4(17, udp(bth(Number(code)) + rest + ICRC))),
  ...[0x20, 0x24, 0x2a].map((code) =>
    overIpv6(17, udp(bth(code) + (code === 0x2a ? RETH : "") + DATA + ICRC))
  ),
  ...Object.keys(SYNDROMES).map((code) => overIpv4(17, udp(bth(17) + aeth(Number(code)) + ICRC))),
  cmFrame(0x10),
  overIpv4(1, `0301fcfe00000000${"00".repeat(28)}`),
  overIpv6(58, `8700000000000000fe80${"0".repeat(27)}2`),
  overIpv6(0, `3a00050200000000${hex([0x8f00_0000, 4], [0, 4])}`),
  overIpv4(6, "00".repeat(20)),
  `${ETHERNET}0806${"00".repeat(28)}`,
];

/** Operations that tshark 4.0 does not know: FLUSH, and ATOMIC WRITE. */
export const NEW_OPERATIONS: readonly string[] = [
  overIpv4(17, udp(bth(28) + hex([0x12, 4]) + RETH + ICRC)),
  overIpv4(17, udp(bth(29) + RETH + DATA + ICRC)),
];

const DATAGRAM = FRAMES[0]!;
/** What the datagram has behind its Ethernet header, and behind its IPv4 header. */
const [IP, UDP] = [DATAGRAM.slice(28), DATAGRAM.slice(68)];
const RELIABLE = bth(0x64) + DETH + DATA + ICRC;

function ethernet(...tags: readonly string[]): string {
  return ETHERNET + tags.join("");
}

/** The same datagram inside of other headers, by their names. */
export const TUNNELS: Readonly<Record<string, string>> = {
  "GRE": overIpv4(47, `00000800${IP}`),
  "GRE with a checksum, a key and a number": overIpv4(47, `b0006558${"0".repeat(24)}${DATAGRAM}`),
  "ERSPAN I": overIpv4(47, `000088be${DATAGRAM}`),
  "ERSPAN II": overIpv4(47, `100088be000000011064000500000000${DATAGRAM}`),
  "ERSPAN III": overIpv4(47, `100022eb00000001206400050000000000000000${DATAGRAM}`),
  "ERSPAN III with a platform": overIpv4(
    47,
    `100022eb0000000120640005000000000000000130${"0".repeat(14)}${DATAGRAM}`,
  ),
  "ERSPAN III of IP": overIpv4(47, `100022eb0000000120640005000000000000${"0800"}${IP}`),
  "GRE in UDP": overIpv4(17, udp(`00006558${DATAGRAM}`, 4754)),
  "VXLAN": overIpv4(17, udp(`0800000000007b00${DATAGRAM}`, 4789)),
  "VXLAN of Linux": overIpv6(17, udp(`0800000000007b00${DATAGRAM}`, 8472)),
  "VXLAN GPE": overIpv4(17, udp(`0c00000300007b00${DATAGRAM}`, 4790)),
  "VXLAN GPE of IP": overIpv4(17, udp(`0c00000100007b00${IP}`, 4790)),
  "a network service header": overIpv4(
    17,
    udp(`0c00000400007b000fc60103000001ff${"0".repeat(32)}${DATAGRAM}`, 4790),
  ),
  "Cisco metadata": `${ethernet("89090101000100070800")}${IP}`,
  "Geneve": overIpv4(17, udp(`0100655800007b00${"0".repeat(8)}${DATAGRAM}`, 6081)),
  "two MPLS labels": `${ethernet()}88470001004000020140${IP}`,
  "MPLS of Ethernet": `${ethernet()}884700010140${DATAGRAM}`,
  "MPLS of Ethernet with a control word": `${ethernet()}88470001014000000000${DATAGRAM}`,
  "two VLAN tags": `${ethernet("88a82007", "8100a064")}0800${IP}`,
  "three VLAN tags": `${ethernet("91000001", "88a82007", "8100a064")}0800${IP}`,
  "IPv6 options": overIpv6(0, `2b00050200000000${`1100${"0".repeat(12)}`}${UDP}`),
  "a first IPv6 fragment": overIpv6(44, `1100000100000001${UDP}`),
  "an authentication header": overIpv4(51, `1104000000000001${"0".repeat(32)}${UDP}`),
  "IPv4 in IPv4": overIpv4(4, IP),
  "IPv4 in IPv6": overIpv6(4, IP),
};

/**
 * Those that tshark 4.0 does not see through, or whose outer header it shows beside the inner one, because one is of IPv4
 * and the other one of IPv6.
 */
export const UNJUDGED: readonly string[] = [
  ...["VXLAN of Linux", "IPv4 in IPv6", "a first IPv6 fragment", "ERSPAN III of IP"],
  ...["MPLS of Ethernet", "MPLS of Ethernet with a control word"],
];

/** The same datagram as other links have it, by the number of the link type. */
export const LINKS: readonly (readonly [linkType: number, frame: string])[] = [
  ...[[0, `02000000${IP}`], [0, `00000002${IP}`], [108, `00000002${IP}`]] as const,
  ...[[12, IP], [101, IP], [228, IP], [1, DATAGRAM]] as const,
  [113, `${"00".repeat(14)}0800${IP}`],
  [113, `${"00".repeat(14)}810000640800${IP}`],
  [276, `0800${"00".repeat(18)}${IP}`],
  [192, `0000080001000000${DATAGRAM}`],
  [
    197,
    `${"00".repeat(8)}0204${
      hex([18 + DATAGRAM.length / 2, 2], [0, 2], [DATAGRAM.length / 2, 2])
    }0000${DATAGRAM}`,
  ],
];

/** The same datagram on InfiniBand: in a subnet, and between subnets. */
export const INFINIBAND: readonly string[] = [
  `00020002000a0001${RELIABLE}0000`,
  `0003000200140001${hex([0x6000_0000, 4], [RELIABLE.length / 2, 2], [27, 1], [64, 1])}fe80${
    "0".repeat(27)
  }1fe80${"0".repeat(27)}2${RELIABLE}0000`,
];

/** What IP over InfiniBand carries: a ping in a connection, and a request for an address in a datagram. */
export const IPOIB: readonly string[] = [
  onInfiniBand(bth(4) + hex([0x0800_0000, 4]) + overIpv4(1, `0800f7ff${"0".repeat(8)}`).slice(28)),
  onInfiniBand(
    bth(0x64) + DETH + hex([0x0806_0000, 4], [0x0020_0800, 4], [0x1404_0001, 4]) +
      `${"80".repeat(20)}0a000001${"00".repeat(20)}0a000002`,
  ),
];

/** A packet in a subnet. */
function onInfiniBand(packet: string): string {
  const words = (packet.length + ICRC.length) / 8 + 2;
  return `00020002${hex([words, 2], [1, 2])}${packet}${ICRC}0000`;
}

/** Notifications of congestion: the mark of either direction. */
export const NOTIFICATIONS: readonly string[] = ["40", "80"].map((marks) =>
  overIpv4(17, udp(`8100ffff${marks}0000110000000${"0".repeat(33)}${ICRC}`))
);

/** A file of the format pcap. */
export function pcap(
  frames: readonly string[],
  { little = true, magic = 0xa1b2_c3d4, linkType = 1 } = {},
): Uint8Array<ArrayBuffer> {
  const header = words(little, magic, 0x0004_0002, 0, 0, 0xffff, linkType);
  const records = frames.map((frame, i) =>
    words(little, 1000 + i, 500, frame.length / 2, frame.length / 2) + frame
  );
  return Uint8Array.fromHex(header + records.join(""));
}

/** A file of the format pcapng, whose interface counts nanoseconds; the last frame is in a simple block. */
export function pcapng(frames: readonly string[], little = true): Uint8Array<ArrayBuffer> {
  const block = (type: number, body: string): string => {
    const padded = body.padEnd(Math.ceil(body.length / 8) * 8, "0");
    const size = words(little, 12 + padded.length / 2);
    return words(little, type) + size + padded + size;
  };
  const option = little ? "0900010009000000" : "0009000109000000";
  const link = little ? "01000000" : "00010000";
  const blocks = frames.map((frame, i) => {
    const length = frame.length / 2;
    if (i === frames.length - 1) return block(3, words(little, length) + frame);
    const time = BigInt(1000 + i) * 1_000_000_000n + 500_000n;
    const [high, low] = [Number(time >> 32n), Number(time & 0xffff_ffffn)];
    return block(6, words(little, 0, high, low, length, length) + frame);
  });
  const version = little ? "01000000" : "00010000";
  const section = block(0x0a0d_0d0a, words(little, 0x1a2b_3c4d) + version + "f".repeat(16));
  const others = block(1, link + words(little, 0) + option) + block(5, words(little, 0, 0, 0));
  return Uint8Array.fromHex(section + others + blocks.join(""));
}

function words(little: boolean, ...values: readonly number[]): string {
  const view = new DataView(new ArrayBuffer(4 * values.length));
  for (const [i, value] of values.entries()) view.setUint32(4 * i, value, little);
  return new Uint8Array(view.buffer).toHex();
}
