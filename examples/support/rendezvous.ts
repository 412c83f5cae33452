/** One text that goes from a listener to a caller by TCP. */

// Longer than any text that is sent.
const MAX_BYTES = 256;

/** Sends a text to the first caller. The signal ends the wait for it. */
export async function giveText(text: string, port: number, signal: AbortSignal): Promise<void> {
  using listener = Deno.listen({ port });
  using connection = await closingOnAbort(listener, signal, () => listener.accept());
  await new Blob([text]).stream().pipeTo(connection.writable, { signal });
}

/** Gets the text of a listener. The signal ends the wait for it. */
export async function getText(
  hostname: string,
  port: number,
  signal: AbortSignal,
): Promise<string> {
  using connection = await connect(hostname, port, signal);
  const bytes = new Uint8Array(MAX_BYTES);
  let end = 0;
  while (end < bytes.length) {
    const reading = (): Promise<number | null> => connection.read(bytes.subarray(end));
    const count = await closingOnAbort(connection, signal, reading);
    if (count === null) break;
    end += count;
  }
  return new TextDecoder().decode(bytes.subarray(0, end));
}

async function connect(
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

/** Only closing a listener or a connection ends what is pending on it. */
async function closingOnAbort<T>(
  resource: { close(): void },
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const close = (): void => resource.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    return await work();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/**
 * A signal that aborts after some seconds. `what` begins the message of its reason: "Nobody answered" becomes "Nobody
 * answered within 10 s".
 */
export function within(seconds: number, what: string): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error(`${what} within ${seconds} s`));
  const timer = setTimeout(abort, seconds * 1000);
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}
