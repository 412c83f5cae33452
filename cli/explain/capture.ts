/** Captures: the files of tcpdump, Wireshark and the guest, in the formats pcap and pcapng. */

import { Duplex } from "node:stream";
import { createGunzip } from "node:zlib";
import { CommandError, messageOf } from "../shell/command.ts";
import { ByteSource } from "./byte_source.ts";

/** A frame of a capture. */
export interface Frame {
  /** Its number, from 1. */
  readonly number: number;
  /** When it was captured, in seconds since 1970. */
  readonly time: number;
  /** The kind of the first header: the number of a link type, such as 1 for Ethernet. */
  readonly linkType: number;
  /** The bytes that the capture has of it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many bytes it had on the wire. */
  readonly length: number;
}

type Frames = AsyncGenerator<Omit<Frame, "number">, void>;

/** Numbers that pcap files begin with, and how many units of time are in a second. */
const PCAP: Readonly<Record<number, number>> = { 0xa1b2c3d4: 1e6, 0xa1b23c4d: 1e9 };
const PCAP_HEADER = 24;
const RECORD_HEADER = 16;

/** Blocks of pcapng. */
const BLOCK = { section: 0x0a0d0d0a, interface: 1, oldPacket: 2, simple: 3, packet: 6 } as const;
const BYTE_ORDER = 0x1a2b3c4d;
/** Type, length, and length again at the end. */
const BLOCK_FRAME = 12;
/** The first bytes of a compressed file. */
const GZIP = [0x1f, 0x8b] as const;
/** The option of an interface that gives its unit of time. */
const TSRESOL = 9;
/** The most bytes of a frame or a block: a damaged length must not fill the memory. */
const MOST = 2 ** 24;

/**
 * Reads a capture, frame by frame as they come.
 *
 * @throws {CommandError} If it is no capture, or ends within a frame, after the frames before.
 */
export async function* readCapture(source: ByteSource): AsyncGenerator<Frame, void> {
  let number = 0;
  for await (const frame of await framesOf(await unpacked(source))) {
    yield { number: ++number, ...frame };
  }
}

/** The contents of a compressed capture, or the capture itself. */
async function unpacked(source: ByteSource): Promise<ByteSource> {
  if (!isGzip(await source.peek(GZIP.length))) return source;
  return new ByteSource(gunzip(source));
}

async function* gunzip(source: ByteSource): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  try {
    // DecompressionStream refuses a file of several members, as cat and bgzip make them.
    yield* ReadableStream.from(source.rest()).pipeThrough(Duplex.toWeb(createGunzip()));
  } catch (error) {
    throw new CommandError(`the capture cannot be decompressed: ${messageOf(error)}`);
  }
}

function isGzip(bytes: Uint8Array): boolean {
  return bytes.length >= GZIP.length && GZIP.every((value, i) => bytes[i] === value);
}

/** Whether bytes begin as a capture does. */
export function isCapture(bytes: Uint8Array<ArrayBuffer>): boolean {
  if (isGzip(bytes)) return true;
  if (bytes.length < 4) return false;
  const view = viewOf(bytes);
  const [little, big] = [view.getUint32(0, true), view.getUint32(0)];
  return big === BLOCK.section || PCAP[little] !== undefined || PCAP[big] !== undefined;
}

async function framesOf(source: ByteSource): Promise<Frames> {
  const header = await source.peek(PCAP_HEADER);
  const view = viewOf(header);
  if (header.length === PCAP_HEADER) {
    for (const little of [true, false]) {
      const units = PCAP[view.getUint32(0, little)];
      if (units !== undefined) return readPcap(source, little, units);
    }
    if (view.getUint32(0) === BLOCK.section) return readPcapng(source);
  }
  throw new CommandError(
    "the file is no capture: it begins neither as pcap nor as pcapng. Hexadecimal text is read from standard input",
  );
}

async function* readPcap(source: ByteSource, little: boolean, units: number): Frames {
  // The upper bits are set if there is a checksum behind each frame.
  const linkType = viewOf(await source.take(PCAP_HEADER)).getUint32(20, little) & 0xffff;
  while (!await isAtEnd(source)) {
    const header = viewOf(await take(source, RECORD_HEADER));
    const [seconds, fraction, kept, length] = [0, 4, 8, 12].map((i) => header.getUint32(i, little));
    const bytes = await take(source, kept!);
    yield { time: seconds! + fraction! / units, linkType, bytes, length: length! };
  }
}

/** An interface of a section of pcapng. */
interface Interface {
  readonly linkType: number;
  /** Most bytes that are kept of a frame; 0 if there is no limit. */
  readonly snapLength: number;
  readonly units: number;
}

async function* readPcapng(source: ByteSource): Frames {
  let little = true;
  let interfaces: Interface[] = [];
  while (!await isAtEnd(source)) {
    const start = source.position;
    const header = viewOf(await peek(source, BLOCK_FRAME));
    if (header.getUint32(0) === BLOCK.section) {
      little = isLittle(header, start);
      interfaces = [];
    }
    const size = header.getUint32(4, little);
    if (size < BLOCK_FRAME || size % 4 !== 0) throw damaged(start, `a block of ${size} bytes`);
    const block = await take(source, size);
    const body = { view: viewOf(block.subarray(8, size - 4)), start: start + 8 };
    const type = header.getUint32(0, little);
    if (type === BLOCK.interface) interfaces.push(readInterface(body, little));
    if (type === BLOCK.packet) yield readPacketBlock(body, little, interfaces, 4);
    // A count of lost frames follows the interface.
    if (type === BLOCK.oldPacket) yield readPacketBlock(body, little, interfaces, 2);
    if (type === BLOCK.simple) yield readSimpleBlock(body, little, interfaces);
  }
}

function isLittle(header: DataView, start: number): boolean {
  for (const little of [true, false]) {
    if (header.getUint32(8, little) === BYTE_ORDER) return little;
  }
  throw damaged(start, "a section without an order of bytes");
}

/** What a block has between its lengths, and where that is in the capture. */
interface Body {
  readonly view: DataView<ArrayBuffer>;
  readonly start: number;
}

function readInterface({ view: body, start }: Body, little: boolean): Interface {
  need(body, start, 0, 8);
  let resolution = 6;
  for (let at = 8; at + 4 <= body.byteLength;) {
    const [code, length] = [body.getUint16(at, little), body.getUint16(at + 2, little)];
    if (code === TSRESOL && at + 4 < body.byteLength) resolution = body.getUint8(at + 4);
    at += 4 + Math.ceil(length / 4) * 4;
  }
  // The highest bit means that the exponent is one of 2.
  const units = (resolution & 0x80) === 0 ? 10 ** resolution : 2 ** (resolution & 0x7f);
  const [linkType, snapLength] = [body.getUint16(0, little), body.getUint32(4, little)];
  return { linkType, snapLength, units };
}

function readPacketBlock(
  { view: body, start }: Body,
  little: boolean,
  interfaces: readonly Interface[],
  indexSize: 2 | 4,
): Omit<Frame, "number"> {
  need(body, start, 0, 20);
  const index = indexSize === 2 ? body.getUint16(0, little) : body.getUint32(0, little);
  const [high, low, kept, length] = [4, 8, 12, 16].map((i) => body.getUint32(i, little));
  const { linkType, units } = interfaceOf(interfaces, index);
  const bytes = slice(body, start, 20, kept!);
  return { time: (high! * 2 ** 32 + low!) / units, linkType, bytes, length: length! };
}

function readSimpleBlock(
  { view: body, start }: Body,
  little: boolean,
  interfaces: readonly Interface[],
): Omit<Frame, "number"> {
  need(body, start, 0, 4);
  const { linkType, snapLength } = interfaceOf(interfaces, 0);
  const length = body.getUint32(0, little);
  const kept = Math.min(length, snapLength || Infinity);
  return { time: 0, linkType, bytes: slice(body, start, 4, kept), length };
}

function interfaceOf(interfaces: readonly Interface[], index: number): Interface {
  const found = interfaces[index];
  if (found === undefined) throw new CommandError(`the capture has no interface ${index}`);
  return found;
}

function viewOf(bytes: Uint8Array<ArrayBuffer>): DataView<ArrayBuffer> {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

async function isAtEnd(source: ByteSource): Promise<boolean> {
  return (await source.peek(1)).length === 0;
}

/** The next bytes, which must be there. */
async function take(source: ByteSource, length: number): Promise<Uint8Array<ArrayBuffer>> {
  await peek(source, length);
  return await source.take(length);
}

async function peek(source: ByteSource, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = length > MOST ? undefined : await source.peek(length);
  if (bytes?.length === length) return bytes;
  throw damaged(source.position, `no room for ${length} bytes`);
}

function slice(
  view: DataView<ArrayBuffer>,
  start: number,
  at: number,
  length: number,
): Uint8Array<ArrayBuffer> {
  need(view, start, at, length);
  return new Uint8Array(view.buffer, view.byteOffset + at, length);
}

/** Checks that bytes are in a block. */
function need(view: DataView, start: number, at: number, length: number): void {
  if (length > view.byteLength - at) throw damaged(start + at, `no room for ${length} bytes`);
}

function damaged(at: number, what: string): CommandError {
  return new CommandError(
    `the capture is damaged, or ends too early: at byte ${at} there is ${what}`,
  );
}
