import { reasonOf } from "../../internal/texts.ts";
import { Gid, type QpAddress } from "../../mod.ts";
import { orAborted } from "../../wait/abort.ts";
import { text, uint16, uint24, uint8 } from "../../internal/checks.ts";
import { oneOf, readOptions, type Rules, within } from "../../internal/options.ts";

/**
 * The address of one end of an RC connection: everything that the other end needs. It is plain data, so it can be sent
 * to the other process as JSON. Use it for one connection only.
 *
 * @category Connections
 */
export interface RcAddress {
  /** The transport: reliable connection. */
  readonly transport: "RC";
  /** The GID of the port as text, such as `"::ffff:10.0.0.1"`. `"::"` means none. */
  readonly gid: string;
  /** The LID of the port; 0 on RoCE. */
  readonly lid: number;
  /** The number of the queue pair, 24 bits. */
  readonly qpNum: number;
  /** The packet sequence number of the first packet that this end sends, 24 bits. */
  readonly psn: number;
  /** The MTU of the port in bytes. */
  readonly mtu: number;
  /** The number of RDMA reads and atomics that this end serves at the same time. */
  readonly rdAtomic: number;
  /** The most messages that this end has receives for. Its messages inform the peer how many there are. */
  readonly credits: number;
  /** The longest message in bytes that this end receives. */
  readonly maxMessage: number;
}

/** The largest number of credits: a message carries the number of new ones in 16 bits. */
export const MAX_CREDITS = 2 ** 15;
export const MAX_MESSAGE = 2 ** 24;

const RULES: Rules<RcAddress> = {
  transport: oneOf("RC"),
  gid: (value: string, what: string) => Gid.parse(text(value, what)).toString(),
  lid: uint16,
  qpNum: uint24,
  psn: uint24,
  mtu: within(256, 4096),
  rdAtomic: uint8,
  credits: within(1, MAX_CREDITS),
  maxMessage: within(1, MAX_MESSAGE),
};

/** The part of an address that the connection manager does not know. */
export type RcOffer = Pick<RcAddress, "credits" | "maxMessage" | "mtu">;

const { credits, maxMessage, mtu } = RULES;

/**
 * Reads the address of a peer, which is not checked yet. Whether packets may be sent there is another check.
 *
 * @throws {Deno.errors.InvalidData} If it is not an address.
 */
export function readRcAddress(value: unknown): RcAddress {
  return read(value, RULES);
}

function read<T extends object>(value: unknown, rules: Rules<T>): T {
  try {
    return readOptions(value as T, rules, "address");
  } catch (error) {
    throw new Deno.errors.InvalidData(
      `Cannot connect: the address of the peer is not valid. ${reasonOf(error, "use address")}`,
      { cause: error },
    );
  }
}

export function toQpAddress({ gid, lid, qpNum, psn, mtu, rdAtomic }: RcAddress): QpAddress {
  return { transport: "RC", qpNum, psn, lid, gid, mtu, rdAtomic, qkey: null };
}

/** The longest line that a peer may send. An address has about 200 bytes. */
const MAX_LINE = 4096;
const NEWLINE = 10;

const CLOSED =
  "Cannot connect: the peer has closed the TCP connection and sent no address. If it is listenRc(), it has refused this " +
  "end or failed, and its onFailure says why; otherwise nothing of this library listens there";

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

/** What an end states of itself where the connection manager states the rest. It is short enough for a request. */
export function writeOffer({ credits, maxMessage, mtu }: RcOffer): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify({ credits, maxMessage, mtu }));
}

/**
 * Reads what a peer states of itself. Zeros fill the field.
 *
 * @throws {Deno.errors.InvalidData} If it is something else.
 */
export function readOffer(data: Uint8Array): RcOffer {
  const end = data.indexOf(0);
  return read(parse(end < 0 ? data : data.subarray(0, end)), { credits, maxMessage, mtu });
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
