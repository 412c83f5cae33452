import { byteArray, show } from "../../internal/checks.ts";

/** A number of an IPv4 address: no leading zeros. */
const DECIMAL = /^(0|[1-9]\d{0,2})$/;
/** A group of an IPv6 address. */
const HEXADECIMAL = /^[\da-f]{1,4}$/i;
/** Two or more groups of zeros. */
const ZEROS = /(?<![^:])(?:0(?::|$)){2,}/g;

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
  if (typeof text !== "string") {
    throw new TypeError(`Cannot parse address ${show(text)}: it is not a string`);
  }
  const bytes = text.includes(":") ? parseIPv6(text) : parseIPv4(text);
  if (bytes !== undefined) return Uint8Array.from(bytes);
  throw new SyntaxError(`Cannot parse address ${show(text)}: it is neither IPv4 nor IPv6`);
}

function parseIPv4(text: string): number[] | undefined {
  const parts = text.split(".");
  const isIPv4 = parts.length === 4 && parts.every((p) => DECIMAL.test(p) && Number(p) <= 255);
  return isIPv4 ? parts.map(Number) : undefined;
}

function parseIPv6(text: string): number[] | undefined {
  const halves = text.split("::");
  const [head, tail] = halves.map((half, i) => parseGroups(half, i === halves.length - 1));
  if (head === undefined || halves.length > 2) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail];
}

/** The bytes of groups. The last groups of the address may be an IPv4 address. */
function parseGroups(text: string, isEnd: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  const ipv4 = isEnd ? parseIPv4(groups.at(-1)!) : undefined;
  if (ipv4 !== undefined) groups.pop();
  for (const group of groups) {
    if (!HEXADECIMAL.test(group)) return undefined;
    const value = parseInt(group, 16);
    bytes.push(value >> 8, value & 0xff);
  }
  return [...bytes, ...ipv4 ?? []];
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
  byteArray(bytes, "bytes");
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length === 16) return formatIPv6(bytes);
  throw new RangeError(`Cannot format address of ${bytes.length} bytes: 4 or 16 are needed`);
}

function formatIPv6(bytes: Uint8Array): string {
  const groups = Array.from(
    { length: 8 },
    (_, i) => (bytes[2 * i]! << 8 | bytes[2 * i + 1]!).toString(16),
  );
  const text = groups.join(":");
  const ipv4 = bytes.subarray(12).join(".");
  if (text.startsWith("0:0:0:0:0:ffff:")) return `::ffff:${ipv4}`;
  if (text.startsWith("0:0:0:0:0:0:") && groups[6] !== "0") return `::${ipv4}`;
  let longest = { index: 0, 0: "" };
  for (const zeros of text.matchAll(ZEROS)) {
    if (zeros[0].length > longest[0].length) longest = zeros;
  }
  const { index, 0: { length } } = longest;
  if (length === 0) return text;
  return `${text.slice(0, index)}${index === 0 ? "::" : ":"}${text.slice(index + length)}`;
}
