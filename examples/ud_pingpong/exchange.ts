/** The talk by TCP before the first datagram, in both roles. */

import { Deadline } from "../support/deadline.ts";
import { acceptOne, connectTo, readBytes, writeBytes } from "../support/tcp.ts";
import { type Address, ADDRESS_SIZE, decodeAddress, encodeAddress } from "./address.ts";

const DONE = new TextEncoder().encode("done\0");

/** How the talk takes place. */
export interface Exchange {
  /** TCP port. */
  readonly port: number;
  /** Seconds that the peer may take for its part. */
  readonly timeout: number;
  /** What to tell the peer. */
  readonly here: Address;
}

/**
 * Tells the server where we are and learns where it is.
 *
 * @throws {SyntaxError} If the server's address is none.
 */
export async function exchangeAsClient(
  hostname: string,
  { port, timeout, here }: Exchange,
): Promise<Address> {
  using deadline = new Deadline(timeout, "The server did not send its address");
  const { signal } = deadline;
  using connection = await connectTo(hostname, port, signal);
  await writeBytes(connection, encodeAddress(here), signal);
  const there = decodeAddress(await readBytes(connection, ADDRESS_SIZE, signal));
  await writeBytes(connection, DONE, signal);
  return there;
}

/**
 * Waits for a client, however long, and tells it where we are. The client sends its first datagram as soon as it knows,
 * so `prepare` is called before.
 *
 * @throws {SyntaxError} If the client's address is none.
 */
export async function exchangeAsServer(
  { port, timeout, here }: Exchange,
  prepare: (there: Address) => void,
): Promise<Address> {
  using connection = await acceptOne(port, new AbortController().signal);
  using deadline = new Deadline(timeout, "The client did not send its address");
  const { signal } = deadline;
  const there = decodeAddress(await readBytes(connection, ADDRESS_SIZE, signal));
  prepare(there);
  await writeBytes(connection, encodeAddress(here), signal);
  const answer = await readBytes(connection, DONE.length, signal);
  if (!answer.every((byte, i) => byte === DONE[i]) || answer.length !== DONE.length) {
    throw new SyntaxError("Cannot use client: it did not confirm the address");
  }
  return there;
}
