/** The exchange of addresses by TCP, before the first message, in both roles. Each frame has the address of a queue pair. */

import { quote } from "../shell/text.ts";
import { Gid } from "@rdma/ibverbs";
import { type Address, ADDRESS_SIZE, decodeAddress, encodeAddress } from "../peer/address.ts";
import { Deadline } from "../shell/abort.ts";
import { acceptOne, connectTo, readBytes, writeBytes } from "../peer/tcp.ts";

const DONE = "done\0";

/** What both roles need. */
export interface Exchange {
  readonly port: number;
  /** The time in seconds that the peer may take for each step. */
  readonly timeout: number;
  /** The addresses of this side. The peer has as many. */
  readonly here: readonly Address[];
  /** The number of frames that each side sends, if it is more than the number of addresses. */
  readonly frames?: number | undefined;
}

/** What fills frames without an address. */
const NOWHERE: Address = { lid: 0, qpn: 0, psn: 0, gid: new Gid(new Uint8Array(16)) };

/** Sends the addresses of this side to a server and receives those of the server. */
export async function exchangeAsClient(
  hostname: string,
  { port, timeout, here, frames = here.length }: Exchange,
): Promise<Address[]> {
  using deadline = new Deadline(timeout, () => "The server did not send its address");
  const { signal } = deadline;
  using connection = await connectTo(hostname, port, signal);
  await writeAddresses(connection, here, frames, signal);
  const there = await readAddresses(connection, frames, signal);
  await writeBytes(connection, new TextEncoder().encode(DONE), signal);
  return there.slice(0, here.length);
}

/**
 * Waits for a client without a time limit, and exchanges addresses with it. The client sends its first message as soon as
 * it has the addresses, so `prepare` runs before.
 */
export async function exchangeAsServer(
  { port, timeout, here, frames = here.length }: Exchange,
  prepare: (there: readonly Address[]) => void,
): Promise<Address[]> {
  using connection = await acceptOne(port);
  let wanted = "send its address";
  using deadline = new Deadline(timeout, () => `The client did not ${wanted}`);
  const { signal } = deadline;
  const there = (await readAddresses(connection, frames, signal)).slice(0, here.length);
  prepare(there);
  wanted = "confirm the address";
  deadline.extend();
  await writeAddresses(connection, here, frames, signal);
  const answer = new TextDecoder().decode(await readBytes(connection, DONE.length, signal));
  if (answer === DONE) return there;
  throw new SyntaxError(`Cannot use client: it sent ${quote(answer)} instead of ${quote(DONE)}`);
}

async function readAddresses(
  connection: Deno.TcpConn,
  count: number,
  signal: AbortSignal,
): Promise<Address[]> {
  const addresses: Address[] = [];
  while (addresses.length < count) {
    addresses.push(decodeAddress(await readBytes(connection, ADDRESS_SIZE, signal)));
  }
  return addresses;
}

async function writeAddresses(
  connection: Deno.TcpConn,
  addresses: readonly Address[],
  frames: number,
  signal: AbortSignal,
): Promise<void> {
  for (let i = 0; i < frames; i++) {
    await writeBytes(connection, encodeAddress(addresses[i] ?? NOWHERE), signal);
  }
}
