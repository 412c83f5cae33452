/** The conversation by TCP of two ends of the same command: lines of JSON. */

import { quote } from "../shell/text.ts";
import { CommandError } from "../shell/command.ts";
import { type Address, decodeAddress, encodeAddress } from "./address.ts";
import { Deadline } from "../shell/abort.ts";
import { readSome, writeBytes } from "./tcp.ts";

/** No valid line is longer. */
const LONGEST = 0x4000;

const LINE_FEED = 10;
/** The first byte of a line of a peer. */
const BRACE = 123;
/** How many characters of an unknown peer's text a message shows. */
const SHOWN = 40;
/** What tools of perftest send first: their version. */
const PERFTEST = /^\d+\.\d+$/;

export class Channel {
  readonly #connection: Deno.TcpConn;
  readonly #command: string;
  readonly #timeout: number;
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  /** Communicates with the same command over a connection. The peer may be silent for some seconds. */
  constructor(connection: Deno.TcpConn, command: string, timeout: number) {
    this.#connection = connection;
    this.#command = command;
    this.#timeout = timeout;
  }

  async send(message: object): Promise<void> {
    using deadline = new Deadline(this.#timeout, () => "The peer read nothing");
    const bytes = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    await writeBytes(this.#connection, bytes, deadline.signal);
  }

  /**
   * Receives an object, which may take some seconds.
   *
   * @throws {CommandError} If the peer sends something else.
   */
  async receive(seconds: number = this.#timeout): Promise<Readonly<Record<string, unknown>>> {
    using deadline = new Deadline(seconds, () => "The peer sent nothing");
    for (;;) {
      const end = this.#rest.indexOf(LINE_FEED);
      const length = end < 0 ? this.#rest.length : end;
      if (length > LONGEST) throw this.#stranger("its line is long");
      if (end >= 0) return this.#parse(this.#taken(end));
      // Such a peer sends no more: it waits for an answer in its own protocol.
      if (this.#rest.length > 0 && this.#rest[0] !== BRACE) throw this.#saysElse(this.#rest);
      await this.#readMore(deadline.signal);
    }
  }

  /**
   * Receives the first message, which has the version of the protocol under the name of the command.
   *
   * @throws {CommandError} If the peer is another program, or uses another version.
   */
  async greeting(version: number): Promise<Readonly<Record<string, unknown>>> {
    const message = await this.receive();
    const theirs = message[this.#command];
    if (theirs === version) return message;
    if (theirs === undefined) throw this.#stranger("its message is one of another command");
    const versions = `${shownOf(theirs)} and ${version} of the protocol of ${this.#command}`;
    const error = `the two ends speak versions ${versions}: both need the same @rdma/cli`;
    await this.send({ error });
    throw new CommandError(error);
  }

  /** Takes the bytes up to a line feed. */
  #taken(end: number): Uint8Array {
    const line = this.#rest.subarray(0, end);
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }

  async #readMore(signal: AbortSignal): Promise<void> {
    const piece = await readSome(this.#connection, signal);
    if (piece.length === 0) throw new CommandError("the peer closed the connection");
    this.#rest = await new Blob([this.#rest, piece]).bytes();
  }

  #parse(line: Uint8Array): Readonly<Record<string, unknown>> {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(line));
    } catch {
      value = undefined;
    }
    if (typeof value !== "object" || value === null) throw this.#saysElse(line);
    if ("error" in value) throw new CommandError(`the peer says: ${errorIn(value)}`);
    return value as Readonly<Record<string, unknown>>;
  }

  #saysElse(bytes: Uint8Array): CommandError {
    const [text] = new TextDecoder().decode(bytes).split("\0");
    const shown = text!.length > SHOWN ? `${text!.slice(0, SHOWN)}...` : text!;
    const isPerftest = PERFTEST.test(text!);
    const why = isPerftest ? ", as ib_send_lat and the other tools of perftest do" : "";
    return this.#stranger(`it sent ${quote(shown)}${why}`);
  }

  #stranger(reason: string): CommandError {
    const other = `${this.#command} talks to ${this.#command} of @rdma/cli only`;
    return new CommandError(`the peer is no ${this.#command}: ${reason}; ${other}`);
  }
}

/** An address as text, for a message. */
export function addressText(address: Address): string {
  return new TextDecoder().decode(encodeAddress(address));
}

/** The address in a message. */
export function addressIn(message: Readonly<Record<string, unknown>>): Address {
  return decodeAddress(new TextEncoder().encode(textOf(message, "address")));
}

/** Code that catches the error prints this text, which the peer chose. */
function errorIn({ error }: { readonly error: unknown }): string {
  return typeof error === "string" ? error : shownOf(error);
}

/** What a peer sent, in a message: JSON has objects that cannot be converted to text. */
export function shownOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : quote(String(value));
}

/**
 * A text that a peer sent.
 *
 * @throws {CommandError} If it is none.
 */
export function textOf(message: Readonly<Record<string, unknown>>, name: string): string {
  const value = message[name];
  if (typeof value === "string") return value;
  throw new CommandError(`the peer sent ${shownOf(value)} for ${name}`);
}

/**
 * A whole number that a peer sent.
 *
 * @throws {CommandError} If it is none, or out of range.
 */
export function numberOf(
  message: Readonly<Record<string, unknown>>,
  name: string,
  [min, max]: readonly [min: number, max: number],
): number {
  const value = message[name];
  if (Number.isInteger(value) && value as number >= min && value as number <= max) {
    return value as number;
  }
  throw new CommandError(`the peer sent ${shownOf(value)} for ${name}`);
}
