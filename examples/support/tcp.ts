/** Short talks by TCP, in which peers tell each other what must be known before the first datagram. */

/** Waits for one connection and listens for no more. */
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
    const reason = error instanceof Error ? error.message : error;
    throw new Error(`Cannot connect to ${hostname}, TCP port ${port}: ${reason}`);
  }
}

/** Reads until there are `length` bytes, or the peer sends no more; the result is then shorter. */
export async function readBytes(
  connection: Deno.TcpConn,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let end = 0;
  while (end < length) {
    const count = await closingOnAbort(connection, signal, connection.read(bytes.subarray(end)));
    if (count === null) break;
    end += count;
  }
  return bytes.subarray(0, end);
}

/** Writes all bytes, a short message in one segment: peers may count on reading it at once. */
export async function writeBytes(
  connection: Deno.TcpConn,
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.subarray(written);
    written += await closingOnAbort(connection, signal, connection.write(rest));
  }
}

/** What is under way on a connection ends only by closing it. */
async function closingOnAbort<T>(
  connection: { close(): void },
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  const close = (): void => connection.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    return await work;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}
