/** The messages of connection managers: communication management of the InfiniBand specification. */

import { REJECT_REASONS, SIDR_STATUSES } from "@rdma/ibverbs/cm";
import { bitsAt, bytesAt, type Field, fieldRows, withWords } from "./fields.ts";
import { type Row, row, type Section } from "./section.ts";

/** Bytes of a message. */
const SIZE = 232;

/** A message: its key in JSON, its name, its fields, and where its private data starts. */
type Message = readonly [key: string, title: string, fields: readonly Field[], privateData: number];

const LOCAL: Field = ["localCommId", 0, 0, 32];
const REMOTE: Field = ["remoteCommId", 4, 0, 32];

/** The messages that a message can refer to. */
const ABOUT = ["REQ", "REP", "another message", "no message"];

/** A service id, which ends with a port if the peers are programs that use IP addresses. */
function service(byte: number): Field[] {
  return [["serviceId", byte, 0, 64], ["port", byte + 6, 0, 16, "count"]];
}

/** The fields of a path. */
function path(prefix: string, start: number): Field[] {
  const fields: readonly Field[] = [
    ["LocalLid", 0, 0, 16],
    ["RemoteLid", 2, 0, 16],
    ["LocalGid", 4, 0, 128, "gid"],
    ["RemoteGid", 20, 0, 128, "gid"],
    ["FlowLabel", 36, 0, 20],
    ["PacketRate", 39, 2, 6, "count"],
    ["TrafficClass", 40, 0, 8],
    ["HopLimit", 41, 0, 8, "count"],
    ["Sl", 42, 0, 4, "count"],
    ["SubnetLocal", 42, 4, 1, "flag"],
    ["LocalAckTimeout", 43, 0, 5, "count"],
  ];
  return fields.map(([name, byte, ...rest]) => [prefix + name, start + byte, ...rest]);
}

const ALTERNATE = 96;

const REQ: readonly Field[] = [
  LOCAL,
  ...service(8),
  ["localCaGuid", 16, 0, 64],
  ["localQkey", 28, 0, 32],
  ["localQpn", 32, 0, 24],
  ["responderResources", 35, 0, 8, "count"],
  ["localEecn", 36, 0, 24],
  ["initiatorDepth", 39, 0, 8, "count"],
  ["remoteEecn", 40, 0, 24],
  ["remoteCmResponseTimeout", 43, 0, 5, "count"],
  ["transportServiceType", 43, 5, 2, "count"],
  ["flowControl", 43, 7, 1, "flag"],
  ["startingPsn", 44, 0, 24, "count"],
  ["localCmResponseTimeout", 47, 0, 5, "count"],
  ["retryCount", 47, 5, 3, "count"],
  ["pkey", 48, 0, 16],
  ["pathMtu", 50, 0, 4, "count"],
  ["rdcExists", 50, 4, 1, "flag"],
  ["rnrRetryCount", 50, 5, 3, "count"],
  ["maxCmRetries", 51, 0, 4, "count"],
  ["srq", 51, 4, 1, "flag"],
  ["extendedTransport", 51, 5, 3, "count"],
  ...path("primary", 52),
];

const REP: readonly Field[] = [
  LOCAL,
  REMOTE,
  ["localQkey", 8, 0, 32],
  ["localQpn", 12, 0, 24],
  ["localEecn", 16, 0, 24],
  ["startingPsn", 20, 0, 24, "count"],
  ["responderResources", 24, 0, 8, "count"],
  ["initiatorDepth", 25, 0, 8, "count"],
  ["targetAckDelay", 26, 0, 5, "count"],
  ["failoverAccepted", 26, 5, 2, "count"],
  ["flowControl", 26, 7, 1, "flag"],
  ["rnrRetryCount", 27, 0, 3, "count"],
  ["srq", 27, 3, 1, "flag"],
  ["localCaGuid", 28, 0, 64],
];

/** The messages by the attribute of the datagram. */
const MESSAGES: Readonly<Record<number, Message>> = {
  0x10: ["req", "ConnectRequest (REQ)", REQ, 140],
  0x11: ["mra", "MsgRcptAck (MRA)", [
    LOCAL,
    REMOTE,
    ["message", 8, 0, 2, withWords(ABOUT)],
    ["serviceTimeout", 9, 0, 5, "count"],
  ], 10],
  0x12: ["rej", "ConnectReject (REJ)", [
    LOCAL,
    REMOTE,
    ["message", 8, 0, 2, withWords(ABOUT)],
    ["infoLength", 9, 0, 7, "count"],
    ["reason", 10, 0, 16, withWords(REJECT_REASONS)],
  ], 84],
  0x13: ["rep", "ConnectReply (REP)", REP, 36],
  0x14: ["rtu", "ReadyToUse (RTU)", [LOCAL, REMOTE], 8],
  0x15: ["dreq", "DisconnectRequest (DREQ)", [LOCAL, REMOTE, ["remoteQpn", 8, 0, 24]], 12],
  0x16: ["drep", "DisconnectReply (DREP)", [LOCAL, REMOTE], 8],
  0x17: ["sidrReq", "ServiceIDResReq (SIDR_REQ)", [
    ["requestId", 0, 0, 32],
    ["pkey", 4, 0, 16],
    ...service(8),
  ], 16],
  0x18: ["sidrRep", "ServiceIDResReqResp (SIDR_REP)", [
    ["requestId", 0, 0, 32],
    ["status", 4, 0, 8, withWords({ 0: "accepted", ...SIDR_STATUSES })],
    ["infoLength", 5, 0, 8, "count"],
    ["qpn", 8, 0, 24],
    ...service(12),
    ["qkey", 20, 0, 32],
  ], 96],
  0x19: ["lap", "LoadAlternatePath (LAP)", [LOCAL, REMOTE], 168],
  0x1a: ["apr", "AlternatePathResponse (APR)", [LOCAL, REMOTE], 84],
};

/** How service ids with a port begin. */
const OF_IP = 1n;

/** Bytes before the private data of programs that use IP addresses. */
const ADDRESSES = 36;

/** A message of a connection manager; `undefined` if the attribute is not known. */
export function cmSection(attribute: number, whole: DataView, at: number): Section | undefined {
  const message = MESSAGES[attribute];
  if (message === undefined) return undefined;
  const [key, title, fields, end] = message;
  const view = new DataView(whole.buffer, whole.byteOffset + at, SIZE);
  const serviceId = fields.find(([name]) => name === "serviceId");
  const isOfIp = serviceId !== undefined && bitsAt(view, serviceId[1], 0, 40) === OF_IP;
  const hasAlternate = key === "req" && bitsAt(view, ALTERNATE + 4, 0, 128) !== 0n;
  const hasAddresses = isOfIp && key !== "sidrRep";
  const shown = [
    ...fields.filter(([name]) => name !== "port" || isOfIp),
    ...hasAlternate ? path("alternate", ALTERNATE) : [],
    ...hasAddresses ? addresses(end, view.getUint8(end + 1) >> 4 === 4) : [],
  ];
  const data = dataRow(view, end + (hasAddresses ? ADDRESSES : 0));
  return { key, title, rows: [...fieldRows(view, 0, shown), data] };
}

/** A message in one line: who wants to connect to what, or why not. */
export function cmSummary({ title, rows }: Section): string {
  const texts = rows.filter(({ name }) => BRIEF.includes(name));
  return [title, ...texts.map(({ name, text }) => `${name} ${text}`)].join(", ");
}

const BRIEF: readonly string[] = [
  ...["localCommId", "remoteCommId", "requestId", "localQpn", "remoteQpn", "qpn", "port"],
  ...["message", "reason", "status"],
];

/** The addresses of programs that use IP addresses: both have room for one of IPv6. */
function addresses(start: number, isIpv4: boolean): Field[] {
  const address = (name: string, byte: number): Field =>
    isIpv4 ? [name, byte + 12, 0, 32, "ipv4"] : [name, byte, 0, 128, "gid"];
  return [
    ["srcPort", start + 2, 0, 16, "count"],
    address("srcAddr", start + 4),
    address("dstAddr", start + 20),
  ];
}

function dataRow(view: DataView, start: number): Row {
  const data = bytesAt(view, start, SIZE - start).toHex();
  const text = data.replace(/(00)+$/, "");
  return row("privateData", data, text === "" ? "none" : text);
}
