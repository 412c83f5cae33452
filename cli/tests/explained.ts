/** What explain shows of a capture beside what tshark shows of it. */

import { run } from "../run.ts";
import { recorder } from "./pure/terminal.ts";
import { rowsOf } from "../../tools/hosts/packets.ts";

/** The field of tshark, and the header and the field of explain. */
const FIELDS: readonly (readonly [theirs: string, header: string, ours: string])[] = [
  ...fields("ip.", "grh", {
    ...{ dsfield: "tos", len: "totalLength", id: "identification", ttl: "ttl", proto: "protocol" },
    ...{ src: "saddr", dst: "daddr" },
  }),
  ...fields("ipv6.", "grh", {
    ...{ tclass: "trafficClass", flow: "flowLabel", plen: "paylen", nxt: "nextHdr" },
    ...{ hlim: "hopLimit", src: "sgid", dst: "dgid" },
  }),
  ...fields("vlan.", "ethernet", { id: "vlan" }),
  ...fields("infiniband.lrh.", "lrh", {
    ...{ vl: "vl", sl: "sl", lnh: "lnh", dlid: "dlid", slid: "slid" },
  }),
  ...fields("infiniband.grh.", "grh", {
    ...{ tclass: "trafficClass", flowlabel: "flowLabel", paylen: "paylen", nxthdr: "nextHdr" },
    ...{ hoplmt: "hopLimit", sgid: "sgid", dgid: "dgid" },
  }),
  ...fields("infiniband.rdeth.", "rdeth", { eecnxt: "eeContext" }),
  ...fields("udp.", "udp", { srcport: "sourcePort", length: "length" }),
  ...fields("infiniband.bth.", "bth", {
    ...{ se: "solicitedEvent", padcnt: "padCount", p_key: "pkey", destqp: "destQp" },
    ...{ a: "ackRequested", psn: "psn" },
  }),
  ...fields("infiniband.deth.", "deth", { q_key: "qkey", srcqp: "srcQp" }),
  ...fields("infiniband.aeth.", "aeth", { syndrome: "syndrome", msn: "msn" }),
  ...fields("infiniband.atomiceth.", "atomicEth", { swapdt: "swapOrAdd", cmpdt: "compare" }),
  ...fields("infiniband.atomicacketh.", "atomicAckEth", { origremdt: "original" }),
  ...fields("infiniband.mad.", "mad", {
    ...{ mgmtclass: "mgmtClass", classversion: "classVersion", method: "method" },
    ...{ status: "status", transactionid: "transactionId", attributeid: "attributeId" },
    ...{ attributemodifier: "attributeModifier" },
  }),
  ...fields("infiniband.cm.", "req", { req: "localCommId" }),
  // Without the flow label and the packet rate: tshark 4.0 reads three of their four bytes.
  ...fields("infiniband.cm.req.", "req", {
    ...{ "serviceid.dport": "port", localcaguid: "localCaGuid", localqkey: "localQkey" },
    ...{ localqpn: "localQpn", responderres: "responderResources", localeecn: "localEecn" },
    ...{ initdepth: "initiatorDepth", remoteeecn: "remoteEecn", retrcount: "retryCount" },
    ...{ remoteresptout: "remoteCmResponseTimeout", transpsvctype: "transportServiceType" },
    ...{ e2eflowctrl: "flowControl", startpsn: "startingPsn", pkey: "pkey", pppmtu: "pathMtu" },
    ...{ localresptout: "localCmResponseTimeout", rdcexist: "rdcExists", srq: "srq" },
    ...{ rnrretrcount: "rnrRetryCount", maxcmretr: "maxCmRetries" },
    ...{ ext_transport: "extendedTransport", prim_locallid: "primaryLocalLid" },
    ...{ prim_remotelid: "primaryRemoteLid" },
    ...{ prim_tfcclass: "primaryTrafficClass" },
    ...{ prim_hoplim: "primaryHopLimit", prim_sl: "primarySl" },
    ...{ prim_subnetlocal: "primarySubnetLocal", prim_localacktout: "primaryLocalAckTimeout" },
    ...{ "ip_cm.sport": "srcPort", "ip_cm.private": "privateData", private: "privateData" },
  }),
  ...fields("infiniband.cm.", "rep", { rep: "localCommId" }),
  ...fields("infiniband.cm.rep.", "rep", {
    ...{ remotecommid: "remoteCommId", localqkey: "localQkey", localqpn: "localQpn" },
    ...{ localeecn: "localEecn", startpsn: "startingPsn", respres: "responderResources" },
    ...{ initdepth: "initiatorDepth", tgtackdelay: "targetAckDelay", srq: "srq" },
    ...{ failoveracc: "failoverAccepted", e2eflowctrl: "flowControl" },
    ...{ rnrretrcount: "rnrRetryCount", localcaguid: "localCaGuid", private: "privateData" },
  }),
  ...fields("infiniband.cm.rej.", "rej", {
    ...{ msgrej: "message", rejinfolen: "infoLength", reason: "reason" },
    ...{ localcommid: "localCommId", remotecommid: "remoteCommId", private: "privateData" },
  }),
  ...[["rtu", "rtu"], ["dreq", "dreq"], ["drsp", "drep"]].flatMap(([theirs, ours]) =>
    fields(`infiniband.cm.${theirs}.`, ours!, {
      ...{ localcommid: "localCommId", remotecommid: "remoteCommId", private: "privateData" },
    })
  ),
  // tshark gives the field of a DREQ the name of one of a REQ.
  ...fields("infiniband.cm.req.", "dreq", { remoteqpneecn: "remoteQpn" }),
  ...fields("infiniband.rwh.", "ipoib", { etype: "ethertype" }),
  ...fields("ipoib.", "ipoib", { type: "ethertype" }),
  ...fields("arp.", "arp", {
    ...{ opcode: "operation", "src.proto_ipv4": "senderIp", "dst.proto_ipv4": "targetIp" },
  }),
  ...fields("icmp.", "icmp", { type: "type", code: "code", checksum: "checksum" }),
  ...fields("icmpv6.", "icmp", { type: "type", code: "code", checksum: "checksum" }),
];

/** tshark has one name for the same field of two headers. */
const OF_TWO: readonly (readonly [theirs: string, ours: string])[] = [
  ["va", "remoteAddr"],
  ["r_key", "rkey"],
];

function fields(
  prefix: string,
  header: string,
  names: Readonly<Record<string, string>>,
): [string, string, string][] {
  return Object.entries(names).map(([theirs, ours]) => [prefix + theirs, header, ours]);
}

/** A number in decimal, whatever its form; an address as it is. */
function plain(value: unknown): string {
  const text = String(value ?? "");
  if (text === "True" || text === "true") return "1";
  if (text === "False" || text === "false") return "0";
  return /^(0x[\da-f]+|\d+)$/.test(text) ? String(BigInt(text)) : text;
}

/** One frame of explain, as `--json` writes it: headers by name, each with its fields. */
type Frame = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

const NAMES = [
  "frame.len",
  ...FIELDS.map(([name]) => name),
  ...OF_TWO.map(([name]) => `infiniband.reth.${name}`),
];

/** What explain shows of a frame, in the order of {@linkcode NAMES}. */
function shown(frame: Frame): string[] {
  // What IP over InfiniBand carries has the names of headers of Ethernet.
  const isIpoib = frame.innerIpoib !== undefined;
  const headerOf = (theirs: string, header: string): Frame[string] =>
    isIpoib && (header === "ipoib" || !theirs.startsWith("infiniband."))
      ? frame[`inner${header[0]!.toUpperCase()}${header.slice(1)}`]
      : frame[header];
  const isOverUdp = frame.bth === undefined || frame.udp !== undefined;
  // What explain has one name for, and tshark two, by what the frame is.
  const others = [
    // Between subnets of InfiniBand, and over Ethernet without UDP, the header is no IPv6 header.
    ...isIpoib ? ["ipoib."] : ["infiniband.rwh.", isOverUdp ? "infiniband.grh." : "ipv6."],
    headerOf("ip.", "grh")?.version === 4 ? "icmpv6." : "icmp.",
    `infiniband.cm.req.${frame.req?.port === undefined ? "ip_cm." : ""}private`,
  ];
  const fields = FIELDS.map(([theirs, header, name]) =>
    others.some((other) => theirs.startsWith(other)) ? "" : plain(headerOf(theirs, header)?.[name])
  );
  return [
    String(frame.length),
    ...fields,
    ...OF_TWO.map(([, name]) => plain((frame.reth ?? frame.atomicEth)?.[name])),
  ];
}

/** By itself tshark takes a packet of RoCE v2 for TFTP if its source port is 69. */
const WITHOUT_GUESSES = ["--disable-protocol", "tftp"];

/** How explain differs from tshark in the innermost headers of the frames of a file, and how many there are. */
export async function compareExplained(
  file: string,
): Promise<{ frames: number; differences: string[] }> {
  const kept = recorder();
  const status = await run(["explain", file, "--json"], kept.terminal);
  if (kept.out === "") return { frames: 0, differences: [`explain ends with status ${status}`] };
  const ours = kept.out.trim().split("\n").map((line) => shown(JSON.parse(line)));
  const theirs = (await rowsOf(file, NAMES, WITHOUT_GUESSES, "last")).map((row) => row.map(plain));
  const differences = ours.length === theirs.length
    ? []
    : [`explain shows ${ours.length} frames, tshark ${theirs.length}`];
  for (const [i, row] of theirs.entries()) {
    for (const [k, value] of row.entries()) {
      if (ours[i]?.[k] === value) continue;
      differences.push(`frame ${i + 1}: ${NAMES[k]} is ${value}, explain shows ${ours[i]?.[k]}`);
    }
  }
  return { frames: theirs.length, differences };
}
