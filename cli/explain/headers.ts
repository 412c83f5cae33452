/** The transport headers of a packet: the base transport header (BTH) and those that its opcode has after it. */

import { hex } from "../shell/text.ts";
import { type Field, fieldRows, withWords } from "./fields.ts";
import { cut } from "./layers.ts";
import { isMad, MAD_SIZE, madSections, madSummary } from "./mad.ts";
import { row, type Section } from "./section.ts";
import { syndromeText } from "./syndrome.ts";

/** A header: its name in JSON, what it is for, and its bytes. */
type Extended = readonly [key: string, title: string, size: number, fields: readonly Field[]];

/** What a flush achieves. */
const PLACEMENTS = ["none", "global visibility", "persistence", "global visibility, persistence"];

/** The fields of the base transport header after its opcode. */
const BTH: readonly Field[] = [
  ["solicitedEvent", 1, 0, 1, "flag"],
  ["padCount", 1, 2, 2, "count"],
  ["pkey", 2, 0, 16],
  ["destQp", 5, 0, 24],
  ["fecn", 4, 0, 1, "flag"],
  ["becn", 4, 1, 1, "flag"],
  ["ackRequested", 8, 0, 1, "flag"],
  ["psn", 9, 0, 24, "count"],
];

/** The extended transport headers. */
const EXTENDED = {
  RDETH: ["rdeth", "reliable datagram", 4, [["eeContext", 1, 0, 24]]],
  DETH: ["deth", "datagram", 8, [["qkey", 0, 0, 32], ["srcQp", 5, 0, 24]]],
  XRCETH: ["xrceth", "extended reliable connection", 4, [["srqNum", 1, 0, 24]]],
  RETH: ["reth", "RDMA", 16, [
    ...[["remoteAddr", 0, 0, 64], ["rkey", 8, 0, 32], ["length", 12, 0, 32, "count"]] as const,
  ]],
  AtomicETH: ["atomicEth", "atomic", 28, [
    ...[["remoteAddr", 0, 0, 64], ["rkey", 8, 0, 32]] as const,
    ...[["swapOrAdd", 12, 0, 64], ["compare", 20, 0, 64]] as const,
  ]],
  AETH: ["aeth", "acknowledge", 4, [
    ["syndrome", 0, 0, 8, (value: number) => `${hex(value, 2)} (${syndromeText(value)})`],
    ["msn", 1, 0, 24, "count"],
  ]],
  AtomicAckETH: ["atomicAckEth", "atomic acknowledge", 8, [["original", 0, 0, 64]]],
  ImmDt: ["immDt", "immediate data", 4, [["immData", 0, 0, 32]]],
  FETH: ["feth", "flush", 4, [
    ["placementType", 3, 4, 4, withWords(PLACEMENTS, "reserved")],
    ["selectivityLevel", 3, 2, 2, withWords({ 0: "a range", 1: "a memory region" }, "reserved")],
  ]],
  IETH: ["ieth", "invalidate", 4, [["rkey", 0, 0, 32]]],
} as const satisfies Readonly<Record<string, Extended>>;

type Name = keyof typeof EXTENDED;

/** What the upper 3 bits of an opcode select: the transport, its operations, and their first headers. */
interface Service {
  readonly name: string;
  readonly has: (operation: number) => boolean;
  readonly requests: readonly Name[];
  readonly responses: readonly Name[];
}

const SERVICES: Readonly<Record<number, Service>> = {
  0: { name: "RC", has: (code) => code !== RESYNC, requests: [], responses: [] },
  1: { name: "UC", has: (code) => code < RESPONSES.first - 1, requests: [], responses: [] },
  2: {
    name: "RD",
    has: (code) => code <= RESYNC || code >= FLUSH,
    requests: ["RDETH", "DETH"],
    responses: ["RDETH"],
  },
  3: { name: "UD", has: (code) => code === 4 || code === 5, requests: ["DETH"], responses: [] },
  5: { name: "XRC", has: (code) => code !== RESYNC, requests: ["XRCETH"], responses: [] },
};

/** The lower 5 bits of an opcode, and the headers that follow. */
const OPERATIONS: Readonly<Record<number, readonly [name: string, ...headers: Name[]]>> = {
  0: ["SEND First"],
  1: ["SEND Middle"],
  2: ["SEND Last"],
  3: ["SEND Last with Immediate", "ImmDt"],
  4: ["SEND Only"],
  5: ["SEND Only with Immediate", "ImmDt"],
  6: ["RDMA WRITE First", "RETH"],
  7: ["RDMA WRITE Middle"],
  8: ["RDMA WRITE Last"],
  9: ["RDMA WRITE Last with Immediate", "ImmDt"],
  10: ["RDMA WRITE Only", "RETH"],
  11: ["RDMA WRITE Only with Immediate", "RETH", "ImmDt"],
  12: ["RDMA READ Request", "RETH"],
  13: ["RDMA READ Response First", "AETH"],
  14: ["RDMA READ Response Middle"],
  15: ["RDMA READ Response Last", "AETH"],
  16: ["RDMA READ Response Only", "AETH"],
  17: ["Acknowledge", "AETH"],
  18: ["ATOMIC Acknowledge", "AETH", "AtomicAckETH"],
  19: ["CmpSwap", "AtomicETH"],
  20: ["FetchAdd", "AtomicETH"],
  21: ["RESYNC"],
  22: ["SEND Last with Invalidate", "IETH"],
  23: ["SEND Only with Invalidate", "IETH"],
  28: ["FLUSH", "FETH", "RETH"],
  29: ["ATOMIC WRITE", "RETH"],
};
const RESYNC = 21;
const FLUSH = 28;
const RESPONSES = { first: 13, last: 18 } as const;
const CONGESTION = 0x81;
/** Marks of the network: forward and backward explicit congestion notification. */
const MARKS = { FECN: 0x80, BECN: 0x40 } as const;

/** The opcodes of packets that a message to a receive begins with. */
const FIRST = /SEND (First|Only)/;

const BTH_SIZE = 12;
const ICRC_SIZE = 4;

/** What the transport headers of a packet say. */
export interface Transport {
  readonly sections: readonly Section[];
  /** The opcode's name, such as `UD SEND Only`. */
  readonly opcode: string;
  /** What fits into a line: the opcode, the queue pairs, and how a request ended, or a message. */
  readonly summary: string;
  /** The sender's queue pair, which only datagrams name. */
  readonly srcQp: number | undefined;
  readonly qkey: number | undefined;
  /** The bytes of the message that the packet has, if it is the first packet of the message. */
  readonly message?: Uint8Array<ArrayBuffer>;
  /** Why some of the headers are missing. */
  readonly cut?: string | undefined;
}

/** Reads the transport headers. `length` is the number of bytes of the packet from here on; fewer may be captured. */
export function readTransport(bytes: Uint8Array<ArrayBuffer>, length: number): Transport {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [opcode, ...names] = operationOf(view.getUint8(0));
  const sections = [bthSection(view, opcode)];
  const starts = new Map<Name, number>();
  let at = BTH_SIZE;
  for (const name of names) {
    const size = EXTENDED[name][2];
    if (view.byteLength < at + size) {
      const summary = summaryOf(view, opcode, starts);
      return {
        sections,
        opcode,
        summary,
        ...senderOf(view, starts),
        cut: cut(name, view, at + size),
      };
    }
    sections.push(extendedSection(name, view, at));
    starts.set(name, at);
    at += size;
  }
  const payload = payloadOf(view, at, length);
  const isManagement = starts.has("DETH") && isMad(view, at, length);
  const mad = isManagement && view.byteLength >= at + MAD_SIZE ? madSections(view, at) : [];
  const hasAll = !isManagement || mad.length > 0;
  return {
    sections: [...sections, ...mad, payloadSection(payload)],
    opcode,
    summary: summaryOf(view, opcode, starts) + madSummary(mad),
    ...senderOf(view, starts),
    ...FIRST.test(opcode) && { message: bytes.subarray(at, at + payload.there) },
    cut: hasAll ? undefined : cut("management datagram", view, at + MAD_SIZE),
  };
}

/** Where the extended headers of a packet start. */
type Starts = ReadonlyMap<Name, number>;

function senderOf(view: DataView, starts: Starts): Pick<Transport, "srcQp" | "qkey"> {
  const at = starts.get("DETH");
  if (at === undefined) return { srcQp: undefined, qkey: undefined };
  return { srcQp: uint24(view, at + 5), qkey: view.getUint32(at) };
}

function summaryOf(view: DataView, opcode: string, starts: Starts): string {
  const { srcQp, qkey } = senderOf(view, starts);
  const from = srcQp === undefined ? "" : `from ${hex(srcQp, 6)} `;
  const parts = [`${opcode} ${from}to ${hex(uint24(view, 5), 6)}, PSN ${uint24(view, 9)}`];
  if (qkey !== undefined) parts.push(`qkey ${hex(qkey, 8)}`);
  parts.push(...marksOf(view));
  const aeth = starts.get("AETH");
  return parts.join(", ") + (aeth === undefined ? "" : `: ${syndromeText(view.getUint8(aeth))}`);
}

/** The marks that are set; a notification of congestion names both. */
function marksOf(view: DataView): string[] {
  const isNotification = view.getUint8(0) === CONGESTION;
  return Object.entries(MARKS).flatMap(([name, bit]) => {
    const isSet = (view.getUint8(4) & bit) !== 0;
    if (isNotification) return [`${name} ${Number(isSet)}`];
    return isSet ? [name] : [];
  });
}

function operationOf(code: number): readonly [name: string, ...headers: Name[]] {
  if (code === CONGESTION) return ["CNP (congestion notification)"];
  const [service, operation] = [SERVICES[code >> 5], code & 0x1f];
  const known = OPERATIONS[operation];
  if (known === undefined || !service?.has(operation)) return [`unknown (${hex(code, 2)})`];
  const [name, ...headers] = known;
  const isResponse = operation >= RESPONSES.first && operation <= RESPONSES.last;
  const first = isResponse ? service.responses : service.requests;
  return [`${service.name} ${name}`, ...first, ...headers];
}

function bthSection(view: DataView, opcode: string): Section {
  const first = row("opcode", opcode, `${opcode} (${hex(view.getUint8(0), 2)})`);
  const title = "Base transport header (BTH)";
  return { key: "bth", title, rows: [first, ...fieldRows(view, 0, BTH)] };
}

function extendedSection(name: Name, view: DataView, start: number): Section {
  const [key, title, , fields]: Extended = EXTENDED[name];
  const meaning = name === "AETH" ? [row("meaning", syndromeText(view.getUint8(start)), null)] : [];
  return {
    key,
    title: `${title[0]!.toUpperCase()}${title.slice(1)} header (${name})`,
    rows: [...fieldRows(view, start, fields), ...meaning],
  };
}

/** How many bytes of a message a packet has, and how many of them were captured. */
interface Payload {
  readonly size: number;
  readonly there: number;
}

function payloadOf(view: DataView, at: number, length: number): Payload {
  const padding = view.getUint8(1) >> 4 & 3;
  const size = Math.max(0, length - at - padding - ICRC_SIZE);
  return { size, there: Math.min(size, view.byteLength - at) };
}

function payloadSection({ size, there }: Payload): Section {
  const text = there === size ? `${size} bytes` : `${size} bytes, of which ${there} are here`;
  return { key: "payload", title: "Payload", rows: [row("length", size, text)] };
}

function uint24(view: DataView, at: number): number {
  return view.getUint8(at) << 16 | view.getUint16(at + 1);
}
