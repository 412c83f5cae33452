/** Bytes that people paste: hexadecimal digits, or the output of tcpdump or xxd. */

import { quote } from "../shell/text.ts";
import { UsageError } from "../shell/command.ts";
import type { ByteSource } from "./byte_source.ts";
import { isCapture } from "./capture.ts";

/** Most bytes that are read: a packet is smaller. */
const MAX_BYTES = 65_536;

/** The offset that tcpdump and xxd put before the bytes of a line. */
const OFFSET = /^\s*(0x)?[0-9a-f]{4,8}:\s+/i;

/**
 * Reads hexadecimal digits. Blanks, colons and commas may separate bytes, each byte may begin with 0x, and the lines may
 * be those of `tcpdump -xx`, `tcpdump -XX` or `xxd`.
 *
 * @throws {UsageError} If there are other characters, half a byte, or too many bytes.
 */
export function readHex(text: string): Uint8Array<ArrayBuffer> {
  const digits = text.split("\n").map(digitsOf).join("");
  const wrong = /[^0-9a-f]/i.exec(digits);
  if (wrong !== null) {
    const place = digits.slice(wrong.index, wrong.index + 12);
    throw new UsageError(`${quote(place)} is not hexadecimal`);
  }
  if (digits.length % 2 === 1) {
    throw new UsageError(`${digits.length} hexadecimal digits are no whole number of bytes`);
  }
  if (digits.length > 2 * MAX_BYTES) throw new UsageError(`there are more than ${MAX_BYTES} bytes`);
  return Uint8Array.fromHex(digits);
}

function digitsOf(line: string): string {
  const offset = OFFSET.exec(line);
  // Two blanks separate the bytes from their characters.
  const bytes = offset === null ? line : line.slice(offset[0].length).split(/\s{2,}/)[0]!;
  return bytes.replaceAll(/0x|[\s:,]/gi, "");
}

/**
 * Reads text to its end. A capture is not read: it may never end.
 *
 * @throws {UsageError} If it is text, and does not end soon.
 */
export async function readInput(source: ByteSource): Promise<string | ByteSource> {
  if (isCapture(await source.peek(4))) return source;
  // Each byte may take five characters, and each line has an offset and characters besides.
  const most = 12 * MAX_BYTES;
  const bytes = await source.take(most + 1);
  if (bytes.length > most) throw new UsageError(`there are more than ${MAX_BYTES} bytes`);
  return new TextDecoder().decode(bytes);
}
