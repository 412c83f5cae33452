/** The messages of connection managers: communication management of the InfiniBand specification. */

import { REJECT_REASONS, SIDR_STATUSES } from "@rdma/ibverbs/cm";
import { Gid } from "@rdma/ibverbs";
import { hex } from "../shell/text.ts";
import { type Row, row, type Section } from "./section.ts";

/** Bytes of a message. */
const SIZE = 232;

/** How a value is shown: hexadecimal by default. */
type Form = "count" | "flag" | "gid" | "service" | "reject" | "sidr" | "rejected";

/** A field: its name, the byte and the bit in it where it starts, and its bits. */
type Field = readonly [name: string, byte: number, bit: number, bits: number, form?: Form];

/** A message: its key in JSON, its name, its fields, and where its private data starts. */
type Message = readonly [key: string, title: string, fields: readonly Field[], privateData: number];

const LOCAL: Field = ["localCommId", 0, 0, 32];
const REMOTE: Field = ["remoteCommId", 4, 0, 32];

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
  ["serviceId", 8, 0, 64, "service"],
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
    ["message", 8, 0, 2, "rejected"],
    ["serviceTimeout", 9, 0, 5, "count"],
  ], 10],
  0x12: ["rej", "ConnectReject (REJ)", [
    LOCAL,
    REMOTE,
    ["message", 8, 0, 2, "rejected"],
    ["infoLength", 9, 0, 7, "count"],
    ["reason", 10, 0, 16, "reject"],
  ], 84],
  0x13: ["rep", "ConnectReply (REP)", REP, 36],
  0x14: ["rtu", "ReadyToUse (RTU)", [LOCAL, REMOTE], 8],
  0x15: ["dreq", "DisconnectRequest (DREQ)", [LOCAL, REMOTE, ["remoteQpn", 8, 0, 24]], 12],
  0x16: ["drep", "DisconnectReply (DREP)", [LOCAL, REMOTE], 8],
  0x17: ["sidrReq", "ServiceIDResReq (SIDR_REQ)", [
    ["requestId", 0, 0, 32],
    ["pkey", 4, 0, 16],
    ["serviceId", 8, 0, 64, "service"],
  ], 16],
  0x18: ["sidrRep", "ServiceIDResReqResp (SIDR_REP)", [
    ["requestId", 0, 0, 32],
    ["status", 4, 0, 8, "sidr"],
    ["infoLength", 5, 0, 8, "count"],
    ["qpn", 8, 0, 24],
    ["serviceId", 12, 0, 64, "service"],
    ["qkey", 20, 0, 32],
  ], 96],
  0x19: ["lap", "LoadAlternatePath (LAP)", [LOCAL, REMOTE], 168],
  0x1a: ["apr", "AlternatePathResponse (APR)", [LOCAL, REMOTE], 84],
};

/** The messages that another one can be about. */
const ABOUT = ["REQ", "REP", "another message", "no message"];

/** Service ids of this kind end with a port space and a port: the peers are programs that use IP addresses. */
const OF_IP = 1n;

/** A message of a connection manager; `undefined` if the attribute is not known. */
export function cmSection(attribute: number, whole: DataView, at: number): Section | undefined {
  const message = MESSAGES[attribute];
  if (message === undefined) return undefined;
  const [key, title, fields, end] = message;
  const view = new DataView(whole.buffer, whole.byteOffset + at, SIZE);
  const isReq = key === "req";
  const hasAlternate = isReq && bitsAt(view, ALTERNATE + 4, 0, 128) !== 0n;
  const rows = [...fields, ...hasAlternate ? path("alternate", ALTERNATE) : []]
    .flatMap((field) => rowsOf(view, field));
  const isOfIp = fields.some(([, byte, , , form]) =>
    form === "service" && bitsAt(view, byte, 0, 40) === OF_IP
  );
  const addresses = isOfIp && key !== "sidrRep";
  return {
    key,
    title,
    rows: [
      ...rows,
      ...addresses ? addressRows(view, end) : [],
      dataRow(view, end + (addresses ? ADDRESSES : 0)),
    ],
  };
}

/** What a line says of a message: who wants to connect to what, and why not. */
export function cmSummary({ title, rows }: Section): string {
  const texts = rows.filter(({ name }) => BRIEF.includes(name));
  return [title, ...texts.map(({ name, text }) => `${name} ${text}`)].join(", ");
}

const BRIEF: readonly string[] = [
  ...["localCommId", "remoteCommId", "requestId", "localQpn", "remoteQpn", "qpn", "port"],
  ...["message", "reason", "status"],
];

/** Bytes that stand before the private data of programs that use IP addresses. */
const ADDRESSES = 36;

function addressRows(view: DataView, start: number): Row[] {
  const isIpv4 = view.getUint8(start + 1) >> 4 === 4;
  const address = (at: number): string => {
    const bytes = gidAt(view, at).bytes;
    return isIpv4 ? bytes.subarray(12).join(".") : String(gidAt(view, at));
  };
  return [
    row("srcPort", view.getUint16(start + 2)),
    row("srcAddr", address(start + 4)),
    row("dstAddr", address(start + 20)),
  ];
}

function dataRow(view: DataView, start: number): Row {
  const data = new Uint8Array(view.buffer, view.byteOffset + start, SIZE - start).toHex();
  const text = data.replace(/(00)+$/, "");
  return row("privateData", data, text === "" ? "none" : text);
}

function rowsOf(view: DataView, [name, byte, bit, bits, form]: Field): Row[] {
  if (form === "gid") return [row(name, String(gidAt(view, byte)))];
  const value = bitsAt(view, byte, bit, bits);
  const digits = hex(value, Math.ceil(bits / 4));
  if (form === "service") return serviceRows(name, value, digits);
  if (form === "flag") return [row(name, value === 1n)];
  const number = Number(value);
  switch (form) {
    case "count":
      return [row(name, number)];
    case "rejected":
      return [row(name, number, `${number} (${ABOUT[number]})`)];
    case "reject":
      return [row(name, number, withWords(number, REJECT_REASONS))];
    case "sidr":
      return [row(name, number, withWords(number, { 0: "accepted", ...SIDR_STATUSES }))];
    default:
      return [row(name, bits > 48 ? digits : number, digits)];
  }
}

function withWords(value: number, words: Readonly<Record<number, string>>): string {
  return `${value} (${words[value] ?? "not known"})`;
}

function serviceRows(name: string, value: bigint, digits: string): Row[] {
  const isOfIp = value >> 24n === OF_IP;
  return [row(name, digits), ...isOfIp ? [row("port", Number(value & 0xffffn))] : []];
}

function gidAt(view: DataView, at: number): Gid {
  return new Gid(new Uint8Array(view.buffer, view.byteOffset + at, 16).slice());
}

function bitsAt(view: DataView, byte: number, bit: number, bits: number): bigint {
  let value = 0n;
  const size = Math.ceil((bit + bits) / 8);
  for (let i = 0; i < size; i++) value = value << 8n | BigInt(view.getUint8(byte + i));
  return BigInt.asUintN(bits, value >> BigInt(8 * size - bit - bits));
}
