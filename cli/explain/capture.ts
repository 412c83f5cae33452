/** Captures: the files of tcpdump, Wireshark and the guest, in the formats pcap and pcapng. */

import { CommandError } from "../shell/command.ts";

/** A frame of a capture. */
export interface Frame {
  /** Its number, from 1. */
  readonly number: number;
  /** When it was captured, in seconds since 1970. */
  readonly time: number;
  /** What the first header is: the number of a link type, such as 1 for Ethernet. */
  readonly linkType: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type Frames = Generator<Omit<Frame, "number">, void>;

/** Numbers that pcap files begin with, and how many units of time are in a second. */
const PCAP: Readonly<Record<number, number>> = { 0xa1b2c3d4: 1e6, 0xa1b23c4d: 1e9 };
const PCAP_HEADER = 24;
const RECORD_HEADER = 16;

/** Blocks of pcapng. */
const BLOCK = { section: 0x0a0d0d0a, interface: 1, simple: 3, packet: 6 } as const;
const BYTE_ORDER = 0x1a2b3c4d;
/** Type, length, and length again at the end. */
const BLOCK_FRAME = 12;
/** The option of an interface that tells its unit of time. */
const TSRESOL = 9;

/**
 * Reads a capture, frame by frame.
 *
 * @throws {CommandError} If it is no capture, or ends within a frame. The frames before come first.
 */
export function* readCapture(bytes: Uint8Array<ArrayBuffer>): Generator<Frame, void> {
  let number = 0;
  for (const frame of framesOf(bytes)) yield { number: ++number, ...frame };
}

/** Whether bytes begin as a capture does. */
export function isCapture(bytes: Uint8Array<ArrayBuffer>): boolean {
  if (bytes.length < 4) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, 4);
  const [little, big] = [view.getUint32(0, true), view.getUint32(0)];
  return big === BLOCK.section || PCAP[little] !== undefined || PCAP[big] !== undefined;
}

function framesOf(bytes: Uint8Array<ArrayBuffer>): Frames {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length >= PCAP_HEADER) {
    for (const little of [true, false]) {
      const units = PCAP[view.getUint32(0, little)];
      if (units !== undefined) return readPcap(view, little, units);
    }
    if (view.getUint32(0) === BLOCK.section) return readPcapng(view);
  }
  throw new CommandError(
    "the file is no capture: it begins neither as pcap nor as pcapng. Hexadecimal text is read from standard input",
  );
}

function* readPcap(view: DataView<ArrayBuffer>, little: boolean, units: number): Frames {
  // The upper bits tell of a checksum behind each frame.
  const linkType = view.getUint32(20, little) & 0xffff;
  for (let at = PCAP_HEADER; at < view.byteLength;) {
    need(view, at, RECORD_HEADER);
    const [seconds, fraction, length] = [0, 4, 8].map((i) => view.getUint32(at + i, little));
    const bytes = slice(view, at + RECORD_HEADER, length!);
    yield { time: seconds! + fraction! / units, linkType, bytes };
    at += RECORD_HEADER + length!;
  }
}

/** An interface of a section of pcapng. */
interface Interface {
  readonly linkType: number;
  /** Most bytes that are kept of a frame; 0 if there is no limit. */
  readonly snapLength: number;
  readonly units: number;
}

function* readPcapng(view: DataView<ArrayBuffer>): Frames {
  let little = true;
  let interfaces: Interface[] = [];
  for (let at = 0; at < view.byteLength;) {
    need(view, at, BLOCK_FRAME);
    if (view.getUint32(at) === BLOCK.section) {
      little = isLittle(view, at);
      interfaces = [];
    }
    const size = view.getUint32(at + 4, little);
    if (size < BLOCK_FRAME || size % 4 !== 0) throw damaged(at, `a block of ${size} bytes`);
    need(view, at, size);
    const body = new DataView(view.buffer, view.byteOffset + at + 8, size - BLOCK_FRAME);
    const type = view.getUint32(at, little);
    if (type === BLOCK.interface) interfaces.push(readInterface(body, little));
    if (type === BLOCK.packet) yield readPacketBlock(body, little, interfaces);
    if (type === BLOCK.simple) yield readSimpleBlock(body, little, interfaces);
    at += size;
  }
}

function isLittle(view: DataView, at: number): boolean {
  for (const little of [true, false]) {
    if (view.getUint32(at + 8, little) === BYTE_ORDER) return little;
  }
  throw damaged(at, "a section without an order of bytes");
}

function readInterface(body: DataView, little: boolean): Interface {
  need(body, 0, 8);
  let resolution = 6;
  for (let at = 8; at + 4 <= body.byteLength;) {
    const [code, length] = [body.getUint16(at, little), body.getUint16(at + 2, little)];
    if (code === TSRESOL && at + 4 < body.byteLength) resolution = body.getUint8(at + 4);
    at += 4 + Math.ceil(length / 4) * 4;
  }
  // The highest bit tells that the exponent is one of 2.
  const units = (resolution & 0x80) === 0 ? 10 ** resolution : 2 ** (resolution & 0x7f);
  const [linkType, snapLength] = [body.getUint16(0, little), body.getUint32(4, little)];
  return { linkType, snapLength, units };
}

function readPacketBlock(
  body: DataView<ArrayBuffer>,
  little: boolean,
  interfaces: readonly Interface[],
): Omit<Frame, "number"> {
  need(body, 0, 20);
  const [index, high, low, length] = [0, 4, 8, 12].map((i) => body.getUint32(i, little));
  const { linkType, units } = interfaceOf(interfaces, index!);
  const bytes = slice(body, 20, length!);
  return { time: (high! * 2 ** 32 + low!) / units, linkType, bytes };
}

function readSimpleBlock(
  body: DataView<ArrayBuffer>,
  little: boolean,
  interfaces: readonly Interface[],
): Omit<Frame, "number"> {
  need(body, 0, 4);
  const { linkType, snapLength } = interfaceOf(interfaces, 0);
  const length = Math.min(body.getUint32(0, little), snapLength || Infinity);
  return { time: 0, linkType, bytes: slice(body, 4, length) };
}

function interfaceOf(interfaces: readonly Interface[], index: number): Interface {
  const found = interfaces[index];
  if (found === undefined) throw new CommandError(`the capture has no interface ${index}`);
  return found;
}

function slice(view: DataView<ArrayBuffer>, at: number, length: number): Uint8Array<ArrayBuffer> {
  need(view, at, length);
  return new Uint8Array(view.buffer, view.byteOffset + at, length);
}

/** Checks that bytes are there. */
function need(view: DataView, at: number, length: number): void {
  if (length > view.byteLength - at) {
    throw damaged(view.byteOffset + at, `no room for ${length} bytes`);
  }
}

function damaged(at: number, what: string): CommandError {
  return new CommandError(
    `the capture is damaged, or ends too early: at byte ${at} there is ${what}`,
  );
}
