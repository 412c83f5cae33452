/** The conversation by TCP of two ends of the same command: lines of JSON. */

import { quote } from "../shell/text.ts";
import { CommandError } from "../shell/command.ts";
import { type Address, decodeAddress, encodeAddress } from "./address.ts";
import { Deadline } from "../shell/abort.ts";
import { readBytes, writeBytes } from "./tcp.ts";

/** No line of a well-meaning peer is longer. */
const LONGEST = 0x4000;

const LINE_FEED = 10;

export class Channel {
  readonly #connection: Deno.TcpConn;
  readonly #command: string;
  readonly #timeout: number;

  /** Talks over a connection, to the same command. The peer may be silent for some seconds. */
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
    const line: number[] = [];
    for (;;) {
      // The lines are short and few, so a byte at a time is fast enough.
      const [byte] = await readBytes(this.#connection, 1, deadline.signal);
      if (byte === LINE_FEED) break;
      if (byte === undefined) throw new CommandError("the peer closed the connection");
      if (line.push(byte) > LONGEST) {
        throw new CommandError(`the peer is no ${this.#command}: its line is long`);
      }
    }
    return this.#parse(new TextDecoder().decode(new Uint8Array(line)));
  }

  #parse(text: string): Readonly<Record<string, unknown>> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = undefined;
    }
    if (typeof value !== "object" || value === null) {
      throw new CommandError(`the peer is no ${this.#command}: it sent ${quote(text)}`);
    }
    if ("error" in value) throw new CommandError(`the peer cannot: ${errorIn(value)}`);
    return value as Readonly<Record<string, unknown>>;
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

/** A text that the peer chose is printed by whoever catches the error. */
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
