import { orAborted } from "../../wait/abort.ts";
import { type RcAddress, type RcOffer, readRcOffer } from "./rc_address.ts";

/** The longest line that a peer may send. An address has about 200 bytes. */
const MAX_LINE = 4096;
const NEWLINE = 10;

const CLOSED =
  "Cannot connect: the peer has closed the TCP connection and sent no address. If it is listenRc(), it has refused this " +
  "end or failed, and its onFailure tells why; else nothing of this library listens there";

export async function writeAddress(
  conn: Deno.Conn,
  address: RcAddress,
  signal: AbortSignal,
): Promise<void> {
  const line = new TextEncoder().encode(`${JSON.stringify(address)}\n`);
  for (let sent = 0; sent < line.length;) {
    sent += await orAborted(conn.write(line.subarray(sent)), signal);
  }
}

/**
 * Receives what a peer sends as its address. It may be any JSON value.
 *
 * @throws {Deno.errors.InvalidData} If it is not exactly one line of JSON, or too long.
 * @throws {Deno.errors.ConnectionReset} If the peer closes the connection before.
 */
export async function readLine(conn: Deno.Conn, signal: AbortSignal): Promise<unknown> {
  const buffer = new Uint8Array(MAX_LINE + 1);
  let length = 0;
  let end = -1;
  while (end < 0) {
    if (length > MAX_LINE) throw invalid(`it is longer than ${MAX_LINE} bytes`);
    const count = await orAborted(readSome(conn, buffer.subarray(length)), signal);
    if (count === null && length === 0) throw new Deno.errors.ConnectionReset(CLOSED);
    if (count === null) throw invalid(`it ends after ${length} bytes`);
    end = buffer.subarray(0, length + count).indexOf(NEWLINE, length);
    length += count;
  }
  if (end !== length - 1) throw invalid("something follows it");
  return parse(buffer.subarray(0, end));
}

/** A peer that resets the connection is one that closes it: how it ends depends on what it has not read. */
async function readSome(conn: Deno.Conn, to: Uint8Array<ArrayBuffer>): Promise<number | null> {
  try {
    return await conn.read(to);
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionReset) return null;
    throw error;
  }
}

/** What an end tells of itself where the connection manager tells the rest. It is short enough for a request. */
export function writeOffer({ credits, maxMessage, mtu }: RcOffer): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify({ credits, maxMessage, mtu }));
}

/**
 * Reads what a peer tells of itself. Zeros fill the field.
 *
 * @throws {Deno.errors.InvalidData} If it is something else.
 */
export function readOffer(data: Uint8Array): RcOffer {
  const end = data.indexOf(0);
  return readRcOffer(parse(end < 0 ? data : data.subarray(0, end)));
}

function parse(line: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
  } catch {
    // The parser's error repeats what the peer sent, with what a terminal obeys.
    throw invalid("it is not JSON");
  }
}

function invalid(reason: string): Error {
  return new Deno.errors.InvalidData(
    `Cannot connect: the address of the peer is not valid: ${reason}`,
  );
}
