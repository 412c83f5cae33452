/** Short exchanges by TCP, in which peers learn what they need before the first RDMA message. */

import { orAborted } from "../shell/abort.ts";
import { messageOf } from "../shell/command.ts";

/** Waits for one connection, then stops listening. */
export async function acceptOne(port: number): Promise<Deno.TcpConn> {
  using listener = Deno.listen({ port });
  return await listener.accept();
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
 * The system's errors name neither the action nor the peer. The abort itself ends the wait, because Deno 2.8.3 ends
 * nothing; who owns the connection closes it then.
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
