/** Short exchanges over TCP, in which peers learn what they need before the first RDMA message. */

import { orAborted } from "../shell/abort.ts";
import { messageOf } from "../shell/command.ts";
import type { Report } from "../shell/ports.ts";

/** Bytes that are read at a time. */
const PIECE = 4096;

/**
 * Waits for a peer. Every connection is greeted, and the first one that answers as a peer does is accepted. Others,
 * such as port scanners and tools with another protocol, are reported and closed. They delay nobody.
 */
export async function acceptPeer<T>(
  port: number,
  greet: (connection: Deno.TcpConn) => Promise<T>,
  report: Report,
): Promise<readonly [connection: Deno.TcpConn, answer: T]> {
  using listener = Deno.listen({ port });
  const { promise: taken, resolve, reject } = Promise.withResolvers<readonly [Deno.TcpConn, T]>();
  const open = new Set<Deno.TcpConn>();
  const welcome = async (connection: Deno.TcpConn): Promise<void> => {
    open.add(connection);
    try {
      resolve([connection, await greet(connection)]);
    } catch (error) {
      // A connection that waits while another one is accepted is closed without a message.
      if (!open.delete(connection)) return;
      connection.close();
      const { hostname } = connection.remoteAddr;
      report(
        new Error(`${hostname} is not served: ${messageOf(error)}; the server goes on waiting`),
      );
    }
  };
  const welcomeAll = async (): Promise<void> => {
    for await (const connection of listener) void welcome(connection);
  };
  welcomeAll().catch(reject);
  const peer = await taken;
  open.delete(peer[0]);
  for (const other of open) other.close();
  open.clear();
  return peer;
}

/** Connects to a host. */
export async function connectTo(
  hostname: string,
  port: number,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  const connect = (): Promise<Deno.TcpConn> => Deno.connect({ hostname, port, signal });
  return await naming("connect to", { hostname, port }, signal, connect);
}

/** Reads what has arrived, as soon as something has; nothing at the end. */
export async function readSome(
  connection: Deno.TcpConn,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(PIECE);
  const read = (): Promise<number | null> => connection.read(bytes);
  const count = await naming("read from", connection.remoteAddr, signal, read);
  return bytes.subarray(0, count ?? 0);
}

/** Reads until there are `length` bytes or the peer sends no more; then the result is shorter. */
export async function readBytes(
  connection: Deno.TcpConn,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let end = 0;
  while (end < length) {
    const read = (): Promise<number | null> => connection.read(bytes.subarray(end));
    const count = await naming("read from", connection.remoteAddr, signal, read);
    if (count === null) break;
    end += count;
  }
  return bytes.subarray(0, end);
}

/** Writes all bytes. A short message is one segment, because some peers read it by one call. */
export async function writeBytes(
  connection: Deno.TcpConn,
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const write = (): Promise<number> => connection.write(bytes.subarray(written));
    written += await naming("write to", connection.remoteAddr, signal, write);
  }
}

/**
 * The system's errors name neither the action nor the peer. The abort itself ends the wait, because Deno 2.8.3 does not
 * end the call; the owner of the connection then closes it.
 */
async function naming<T>(
  action: string,
  { hostname, port }: Pick<Deno.NetAddr, "hostname" | "port">,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await orAborted(work(), signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Error(`Cannot ${action} ${hostname}, TCP port ${port}: ${messageOf(error)}`);
  }
}
