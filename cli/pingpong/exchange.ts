/** The exchange of addresses by TCP, before the first message, in both roles. Each frame has the address of a queue pair. */

import { quote } from "../shell/text.ts";
import { Gid } from "@rdma/ibverbs";
import { type Address, ADDRESS_SIZE, decodeAddress, encodeAddress } from "../peer/address.ts";
import { Deadline } from "../shell/abort.ts";
import type { Report } from "../shell/ports.ts";
import { acceptPeer, connectTo, readBytes, writeBytes } from "../peer/tcp.ts";

const DONE = "done\0";

/** What an address begins with. */
const LID = { length: 5, pattern: /^[\da-f]{4}:$/i } as const;

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
 * Waits for a client without a time limit, and exchanges addresses with it. The client sends its first message as soon
 * as it has the addresses, so `prepare` runs before. `report` gets the reason why other connections are no clients.
 */
export async function exchangeAsServer(
  { port, timeout, here, frames = here.length }: Exchange,
  prepare: (there: readonly Address[]) => void,
  report: Report,
): Promise<Address[]> {
  const greet = async (connection: Deno.TcpConn): Promise<Address[]> => {
    using deadline = new Deadline(timeout, () => "The client did not send its address");
    return await readAddresses(connection, frames, deadline.signal);
  };
  const [connection, addresses] = await acceptPeer(port, greet, report);
  using _closed = connection;
  const there = addresses.slice(0, here.length);
  prepare(there);
  using deadline = new Deadline(timeout, () => "The client did not confirm the address");
  const { signal } = deadline;
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
    addresses.push(decodeAddress(await readAddress(connection, signal)));
  }
  return addresses;
}

/** Reads an address, or as much as shows that it is none: a peer with another protocol may send no more. */
async function readAddress(
  connection: Deno.TcpConn,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const head = await readBytes(connection, LID.length, signal);
  if (!LID.pattern.test(new TextDecoder().decode(head))) return head;
  const rest = await readBytes(connection, ADDRESS_SIZE - head.length, signal);
  return await new Blob([head, rest]).bytes();
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
