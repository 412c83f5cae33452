/**
 * IP addresses as text and as bytes. GIDs have the same text form.
 *
 * @module
 */

import { instance, show } from "../core/checks.ts";

const DOT = 46;
const COLON = 58;
const ZERO = 48;

/**
 * Reads an IPv4 or IPv6 address as `inet_pton(3)` does. An IPv4 address is four decimal numbers without leading zeros. An
 * IPv6 address is groups of up to four hexadecimal digits with at most one `::`; the last two groups may be an IPv4
 * address. A zone (`%eth0`) is refused.
 *
 * @example Both families
 * ```ts
 * import { parseAddress } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseAddress("192.168.0.1"), new Uint8Array([192, 168, 0, 1]));
 * assertEquals(parseAddress("fe80::1").length, 16);
 * ```
 *
 * @param text The address.
 * @returns 4 or 16 bytes in network order.
 * @throws {TypeError} If the argument is not a string.
 * @throws {SyntaxError} If the text is no address.
 * @category GIDs and headers
 */
export function parseAddress(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(16);
  return bytes.subarray(0, writeAddress(text, bytes, 0)).slice();
}

/**
 * Reads an address as {@linkcode parseAddress} does, into bytes of the caller. If it throws, the bytes have undefined
 * values.
 *
 * @param text The address.
 * @param bytes Where to write the address. IPv6 needs 16 bytes after `offset`.
 * @param offset The index of the first byte to write.
 * @returns The number of bytes written: 4 or 16.
 * @throws {TypeError} If the first argument is not a string.
 * @throws {SyntaxError} If the text is no address.
 */
export function writeAddress(text: string, bytes: Uint8Array, offset: number): 4 | 16 {
  if (typeof text !== "string") {
    throw new TypeError(`Cannot parse address ${show(text)}: it is not a string`);
  }
  const ipv6 = text.includes(":");
  const valid = ipv6 ? writeIPv6(text, bytes, offset) : writeIPv4(text, 0, bytes, offset);
  if (!valid) {
    throw new SyntaxError(`Cannot parse address ${show(text)}: it is neither IPv4 nor IPv6`);
  }
  return ipv6 ? 16 : 4;
}

/**
 * The text of an address as `inet_ntop(3)` gives it (RFC 5952): lower case, the longest run of two or more zero groups as
 * `::`, and the last 32 bits of IPv4-mapped and IPv4-compatible addresses in IPv4 form.
 *
 * @example An IPv4-mapped address
 * ```ts
 * import { formatAddress, parseAddress } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(formatAddress(parseAddress("::ffff:a00:1")), "::ffff:10.0.0.1");
 * ```
 *
 * @param bytes 4 or 16 bytes in network order.
 * @returns The text.
 * @throws {RangeError} If there are not 4 or 16 bytes.
 * @category GIDs and headers
 */
export function formatAddress(bytes: Uint8Array): string {
  instance(bytes, Uint8Array, "bytes");
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length === 16) return formatIPv6(bytes);
  throw new RangeError(`Cannot format address of ${bytes.length} bytes: 4 or 16 are needed`);
}

function writeIPv4(text: string, start: number, bytes: Uint8Array, offset: number): boolean {
  let count = 0;
  let part = -1;
  for (let i = start; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : DOT;
    if (code === DOT) {
      if (part < 0 || count === 4) return false;
      bytes[offset + count++] = part;
      part = -1;
    } else {
      part = appendDigit(part, code);
      if (part < 0) return false;
    }
  }
  return count === 4;
}

/** The number with one more digit; -1 if it is too large, or has a leading zero. */
function appendDigit(part: number, code: number): number {
  const digit = code - ZERO;
  if (digit < 0 || digit > 9 || part === 0) return -1;
  const longer = part < 0 ? digit : part * 10 + digit;
  return longer > 255 ? -1 : longer;
}

function writeIPv6(text: string, bytes: Uint8Array, offset: number): boolean {
  let size = 0;
  let gap = text.startsWith("::") ? 0 : -1;
  let i = gap < 0 ? 0 : 2;
  while (i < text.length) {
    const written = writeGroup(text, i, bytes, offset + size, 16 - size);
    if (written === 0) return false;
    size += written;
    i = groupEnd(text, i);
    if (i === text.length) break;
    if (++i === text.length) return false;
    if (text.charCodeAt(i) === COLON) {
      if (gap >= 0) return false;
      gap = size;
      i++;
    }
  }
  return gap < 0 ? size === 16 : size < 16 && fillGap(bytes, offset, gap, size);
}

/** Writes a group, or the IPv4 address at the end of the text. Returns the bytes written; 0 if it is neither. */
function writeGroup(
  text: string,
  start: number,
  bytes: Uint8Array,
  offset: number,
  room: number,
): 0 | 2 | 4 {
  const end = groupEnd(text, start);
  if (end === text.length && text.includes(".", start)) {
    return room >= 4 && writeIPv4(text, start, bytes, offset) ? 4 : 0;
  }
  const group = hexadecimal(text, start, end);
  if (group < 0 || room < 2) return 0;
  bytes[offset] = group >> 8;
  bytes[offset + 1] = group;
  return 2;
}

function groupEnd(text: string, start: number): number {
  const colon = text.indexOf(":", start);
  return colon < 0 ? text.length : colon;
}

/** The value of one to four hexadecimal digits, or -1. */
function hexadecimal(text: string, start: number, end: number): number {
  if (end === start || end - start > 4) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = hexadecimalDigit(text.charCodeAt(i));
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

function hexadecimalDigit(code: number): number {
  if (code >= ZERO && code <= ZERO + 9) return code - ZERO;
  const letter = (code | 0x20) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

/** Moves the bytes after `::` to the end. */
function fillGap(bytes: Uint8Array, offset: number, gap: number, size: number): true {
  const tail = offset + 16 - (size - gap);
  bytes.copyWithin(tail, offset + gap, offset + size);
  bytes.fill(0, offset + gap, tail);
  return true;
}

function formatIPv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes[2 * i]! << 8 | bytes[2 * i + 1]!);
  const { start, length } = longestZeros(groups);
  if (start === 0 && (length === 6 || (length === 5 && groups[5] === 0xffff))) {
    return `::${length === 5 ? "ffff:" : ""}${bytes.subarray(12).join(".")}`;
  }
  const text = groups.map((group) => group.toString(16));
  if (length < 2) return text.join(":");
  return `${text.slice(0, start).join(":")}::${text.slice(start + length).join(":")}`;
}

function longestZeros(groups: number[]): { start: number; length: number } {
  let longest = { start: -1, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    const next = groups.findIndex((group, i) => i >= start && group !== 0);
    const length = (next < 0 ? groups.length : next) - start;
    if (length > longest.length) longest = { start, length };
  }
  return longest;
}
