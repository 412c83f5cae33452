/** The transport headers of a packet: the base transport header (BTH) and those that its opcode has after it. */

import { CommandError } from "../shell/command.ts";
import { hex } from "../shell/text.ts";
import { isMad, madSections } from "./mad.ts";
import { hexRow, type Row, row, type Section } from "./section.ts";
import { syndromeText } from "./syndrome.ts";

/** A field: its name, the byte it starts at, and its bytes. Numbers are hexadecimal unless they count something. */
type Field = readonly [name: string, at: number, size: number, form?: "count" | "syndrome"];

/** A header: its name in JSON, what it is for, and its bytes. */
type Extended = readonly [key: string, title: string, size: number, fields: readonly Field[]];

/** The extended transport headers. */
const EXTENDED = {
  DETH: ["deth", "datagram", 8, [["qkey", 0, 4], ["srcQp", 5, 3]]],
  XRCETH: ["xrceth", "extended reliable connection", 4, [["srqNum", 1, 3]]],
  RETH: ["reth", "RDMA", 16, [["remoteAddr", 0, 8], ["rkey", 8, 4], ["length", 12, 4, "count"]]],
  AtomicETH: ["atomicEth", "atomic", 28, [
    ...[["remoteAddr", 0, 8], ["rkey", 8, 4], ["swapOrAdd", 12, 8], ["compare", 20, 8]] as const,
  ]],
  AETH: ["aeth", "acknowledge", 4, [["syndrome", 0, 1, "syndrome"], ["msn", 1, 3, "count"]]],
  AtomicAckETH: ["atomicAckEth", "atomic acknowledge", 8, [["original", 0, 8]]],
  ImmDt: ["immDt", "immediate data", 4, [["immData", 0, 4]]],
  IETH: ["ieth", "invalidate", 4, [["rkey", 0, 4]]],
} as const satisfies Readonly<Record<string, Extended>>;

type Name = keyof typeof EXTENDED;

/** The upper 3 bits of an opcode. */
const TRANSPORTS: readonly (string | undefined)[] = ["RC", "UC", "RD", "UD", undefined, "XRC"];

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
  22: ["SEND Last with Invalidate", "IETH"],
  23: ["SEND Only with Invalidate", "IETH"],
};
/** Responses have no XRCETH. */
const RESPONSES = { first: 13, last: 18 } as const;
const CONGESTION = 0x81;

const BTH_SIZE = 12;
const ICRC_SIZE = 4;

/** What the transport headers of a packet say. */
export interface Transport {
  readonly sections: readonly Section[];
  /** The opcode's name, such as `UD SEND Only`. */
  readonly opcode: string;
  /** The opcode, the queue pairs, and how a request ended: what a line has room for. */
  readonly summary: string;
  /** The sender's queue pair, which only datagrams name. */
  readonly srcQp: number | undefined;
  readonly qkey: number | undefined;
}

/**
 * Reads the transport headers. `length` is the number of bytes that the packet has from here on; fewer may be there.
 *
 * @throws {CommandError} If the packet ends within a header.
 */
export function readTransport(bytes: Uint8Array<ArrayBuffer>, length: number): Transport {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  needBytes(view, BTH_SIZE, "BTH");
  const code = view.getUint8(0);
  const [opcode, ...names] = operationOf(code);
  const sections = [bthSection(view, opcode)];
  let at = BTH_SIZE;
  for (const name of names) {
    const size = EXTENDED[name][2];
    needBytes(view, at + size, name);
    sections.push(extendedSection(name, view, at));
    at += size;
  }
  const isDatagram = names[0] === "DETH";
  if (isDatagram && isMad(view, at)) sections.push(...madSections(view, at));
  sections.push(payloadSection(view, at, length));
  return {
    sections,
    opcode,
    summary: summaryOf(view, opcode, names[0]),
    qkey: isDatagram ? view.getUint32(BTH_SIZE) : undefined,
    srcQp: isDatagram ? uint24(view, BTH_SIZE + 5) : undefined,
  };
}

function summaryOf(view: DataView, opcode: string, header: Name | undefined): string {
  const to = `to ${hex(uint24(view, 5), 6)}, PSN ${uint24(view, 9)}`;
  if (header === "AETH") return `${opcode} ${to}: ${syndromeText(view.getUint8(BTH_SIZE))}`;
  if (header !== "DETH") return `${opcode} ${to}`;
  const from = hex(uint24(view, BTH_SIZE + 5), 6);
  return `${opcode} from ${from} ${to}, qkey ${hex(view.getUint32(BTH_SIZE), 8)}`;
}

function operationOf(code: number): readonly [name: string, ...headers: Name[]] {
  if (code === CONGESTION) return ["CNP (congestion notification)"];
  const [transport, operation] = [TRANSPORTS[code >> 5], code & 0x1f];
  const known = OPERATIONS[operation];
  if (known === undefined || transport === undefined) return [`unknown (${hex(code)})`];
  const [name, ...headers] = known;
  const isResponse = operation >= RESPONSES.first && operation <= RESPONSES.last;
  if (transport === "UD") headers.unshift("DETH");
  if (transport === "XRC" && !isResponse) headers.unshift("XRCETH");
  return [`${transport} ${name}`, ...headers];
}

function bthSection(view: DataView, opcode: string): Section {
  const flags = view.getUint8(1);
  return {
    key: "bth",
    title: "Base transport header (BTH)",
    rows: [
      row("opcode", opcode, `${opcode} (${hex(view.getUint8(0), 2)})`),
      row("solicitedEvent", flags >> 7 === 1),
      row("padCount", flags >> 4 & 3),
      hexRow("pkey", view.getUint16(2), 4),
      hexRow("destQp", uint24(view, 5), 6),
      row("ackRequested", view.getUint8(8) >> 7 === 1),
      row("psn", uint24(view, 9)),
    ],
  };
}

function extendedSection(name: Name, view: DataView, start: number): Section {
  const [key, title, , fields]: Extended = EXTENDED[name];
  return {
    key,
    title: `${title[0]!.toUpperCase()}${title.slice(1)} header (${name})`,
    rows: fields.flatMap(([field, at, size, form]) => {
      const value = bigUint(view, start + at, size);
      if (form === "syndrome") return syndromeRows(field, Number(value));
      const text = form === "count" ? String(value) : hex(value, 2 * size);
      return row(field, size > 4 ? text : Number(value), text);
    }),
  };
}

function syndromeRows(field: string, syndrome: number): Row[] {
  const meaning = syndromeText(syndrome);
  return [
    row(field, syndrome, `${hex(syndrome, 2)} (${meaning})`),
    row("meaning", meaning, null),
  ];
}

function payloadSection(view: DataView, at: number, length: number): Section {
  const padding = view.getUint8(1) >> 4 & 3;
  const size = Math.max(0, length - at - padding - ICRC_SIZE);
  const there = Math.min(size, view.byteLength - at);
  const text = there === size ? `${size} bytes` : `${size} bytes, of which ${there} are here`;
  return { key: "payload", title: "Payload", rows: [row("length", size, text)] };
}

/** Checks that a header is there. */
export function needBytes(
  view: { readonly byteLength: number },
  size: number,
  header: string,
): void {
  if (view.byteLength >= size) return;
  throw new CommandError(
    `the packet ends within its ${header}: there are ${view.byteLength} of ${size} bytes`,
  );
}

function bigUint(view: DataView, at: number, size: number): bigint {
  let value = 0n;
  for (let i = 0; i < size; i++) value = value << 8n | BigInt(view.getUint8(at + i));
  return value;
}

function uint24(view: DataView, at: number): number {
  return view.getUint8(at) << 16 | view.getUint16(at + 1);
}
