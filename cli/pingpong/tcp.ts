/**
 * Short exchanges by TCP, in which peers learn what they need before the first RDMA message.
 *
 * @module
 */

/** Waits for one connection, then stops listening. */
export async function acceptOne(port: number, signal: AbortSignal): Promise<Deno.TcpConn> {
  using listener = Deno.listen({ port });
  return await closingOnAbort(listener, signal, listener.accept());
}

/** Connects to a host. */
export async function connectTo(
  hostname: string,
  port: number,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  try {
    return await Deno.connect({ hostname, port, signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Error(`Cannot connect to ${hostname}, TCP port ${port}: ${reasonOf(error)}`);
  }
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
    const reading = connection.read(bytes.subarray(end));
    const count = await naming("read from", connection, signal, reading);
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
    const writing = connection.write(bytes.subarray(written));
    written += await naming("write to", connection, signal, writing);
  }
}

/** The system's errors name neither the action nor the peer. */
async function naming<T>(
  action: string,
  connection: Deno.TcpConn,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  const { hostname, port } = connection.remoteAddr;
  try {
    return await closingOnAbort(connection, signal, work);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Error(`Cannot ${action} ${hostname}, TCP port ${port}: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Closing a connection ends what is pending on it. The abort itself ends the wait, because Deno 2.8.3 ends nothing. */
async function closingOnAbort<T>(
  connection: { close(): void },
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(signal.reason);
    connection.close();
  };
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
