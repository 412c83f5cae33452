/** How the ends of an example tell each other their addresses. Verbs do not do that. */

import { closeOnAbort, orAborted } from "../../wait/abort.ts";
import { quote } from "../../internal/checks.ts";
import { type Wait, within } from "./signals.ts";

/** Gives the other end a value, and gets its value. Values are JSON. Further calls exchange further values. */
export type Exchange = (value: unknown) => Promise<unknown>;

// Longer than any value that is sent.
const MAX_BYTES = 1024;
const NEWLINE = 10;

/** The exchange of two ends in this process. */
export function exchangeHere(signal: AbortSignal): [Exchange, Exchange] {
  type Side = PromiseWithResolvers<unknown>;
  const rounds: [Side, Side][] = [];
  const end = (own: 0 | 1, other: 0 | 1): Exchange => {
    let round = 0;
    return (value) => {
      const sides = rounds[round] ??= [Promise.withResolvers(), Promise.withResolvers()];
      round++;
      sides[own].resolve(value);
      return orAborted(sides[other].promise, signal);
    };
  };
  return [end(0, 1), end(1, 0)];
}

/** The callers of a TCP port, one after the other, until the signal aborts. */
export async function* callers(port: number, wait: Wait): AsyncGenerator<Exchange> {
  const { signal } = wait;
  using listener = Deno.listen({ port });
  while (!signal.aborted) {
    using connection = await closingOnAbort(listener, signal, () => listener.accept())
      .catch((error) => {
        if (signal.aborted) return undefined;
        throw error;
      });
    if (connection !== undefined) yield exchangeOver(connection, wait);
  }
}

/** Calls a TCP port. The other end may start later: it calls again until somebody listens. */
export async function call(
  hostname: string,
  port: number,
  wait: Wait,
): Promise<Exchange & Disposable> {
  const connection = await connect(hostname, port, wait);
  const exchange = exchangeOver(connection, wait);
  return Object.assign(exchange, { [Symbol.dispose]: () => connection[Symbol.dispose]() });
}

async function connect(hostname: string, port: number, wait: Wait): Promise<Deno.TcpConn> {
  using deadline = within(wait, `Cannot connect to ${hostname}, TCP port ${port}: nobody answered`);
  const { signal } = deadline;
  while (true) {
    try {
      return await Deno.connect({ hostname, port, signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Each value is a line of JSON. */
function exchangeOver(connection: Deno.TcpConn, wait: Wait): Exchange {
  return async (value) => {
    using deadline = within(wait, "The other end did not answer");
    const line = new TextEncoder().encode(`${JSON.stringify(value)}\n`);
    return await closingOnAbort(connection, deadline.signal, async () => {
      for (let sent = 0; sent < line.length;) sent += await connection.write(line.subarray(sent));
      return parse(await readLine(connection));
    });
  };
}

async function readLine(connection: Deno.TcpConn): Promise<string> {
  const bytes = new Uint8Array(MAX_BYTES);
  let end = 0;
  // The other end sends its next line only after it has got one, so nothing follows a line.
  while (end < bytes.length && bytes[end - 1] !== NEWLINE) {
    const count = await connection.read(bytes.subarray(end));
    if (count === null) break;
    end += count;
  }
  return new TextDecoder().decode(bytes.subarray(0, end)).trimEnd();
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`The other end sent ${quote(line)} instead of its address`);
  }
}

/** Closing a listener or a connection ends what is pending on it, but not in each version of Deno. So this waits for both. */
async function closingOnAbort<T>(
  resource: { close(): void },
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  closeOnAbort(resource, signal, over.signal);
  try {
    signal.throwIfAborted();
    return await orAborted(work(), signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    over.abort();
  }
}
