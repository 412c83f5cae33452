/** Examples with two ends, which exchange their addresses: over TCP, or within one process. Verbs do not do that. */

import { inTime, untilInterrupted, UsageError, whole } from "./program.ts";

/** Options that choose an end. */
export const ENDS = {
  listen: { type: "boolean", short: "l", default: false },
  connect: { type: "string", short: "c" },
  "tcp-port": { type: "string", short: "p", default: "18516" },
  timeout: { type: "string", short: "t", default: "10" },
} as const;

/** The help for `ENDS`. */
export const ENDS_HELP = `
  -l, --listen            run the server only, and answer callers on TCP with its address
  -c, --connect HOST      run the client only, and ask the server on HOST for its address
  -p, --tcp-port NUMBER   TCP port of the server (default 18516)
  -t, --timeout SECONDS   how long to wait for the other end (default 10)
  -h, --help              show this text`.slice(1);

/** Which end to run. */
export type Choice = ReturnType<typeof choiceOf>;

/** Reads the options of `ENDS`. */
export function choiceOf(
  values: { listen: boolean; connect?: string; "tcp-port": string; timeout: string },
): { listen: boolean; connect: string | undefined; tcpPort: number; seconds: number } {
  const { listen, connect, "tcp-port": port, timeout } = values;
  if (listen && connect !== undefined) throw new UsageError("Give --listen or --connect, not both");
  const tcpPort = whole(port, "tcp-port", 1, 65_535);
  return { listen, connect, tcpPort, seconds: whole(timeout, "timeout", 1, 86_400) };
}

/** Gives the other end a value, and gets its value. Values are JSON. Further calls exchange further values. */
export type Exchange = (value: unknown) => Promise<unknown>;
type Pipe = Pick<Deno.TcpConn, "readable" | "writable">;
type Peers = AsyncIterable<Exchange>;

/** The two ends. The signals abort when the program is interrupted, or when the other end has failed. */
export interface Ends {
  /** The server, which `done` ends when all clients have been served, unless it ends by itself. */
  readonly server: (peers: Peers, signal: AbortSignal, done: AbortSignal) => Promise<void>;
  readonly client: (peer: Exchange, signal: AbortSignal) => Promise<void>;
}

/** Runs the end that the command line asks for, or both in this process. */
export async function runEnds(choice: Choice, { server, client }: Ends): Promise<void> {
  using interruption = untilInterrupted();
  const { listen, connect, tcpPort, seconds } = choice;
  const [failure, served] = [new AbortController(), new AbortController()];
  const signal = AbortSignal.any([interruption.signal, failure.signal]);
  if (listen) return await server(callers(choice, signal), signal, signal);
  if (connect !== undefined) {
    using connection = await Deno.connect({ hostname: connect, port: tcpPort, signal });
    return await client(exchangeOver(connection, seconds, signal), signal);
  }
  const [{ readable, writable }, back] = [new TransformStream(), new TransformStream()];
  const caller = exchangeOver({ readable, writable: back.writable }, seconds, signal);
  const peer = exchangeOver({ readable: back.readable, writable }, seconds, signal);
  const done = AbortSignal.any([signal, served.signal]);
  const serving = server(ReadableStream.from([caller]), signal, done);
  const calling = client(peer, signal).finally(() => served.abort());
  // The first error is what went wrong. The other one may only follow from it.
  const fail = (error: unknown): void => failure.abort(error);
  await Promise.all([serving.catch(fail), calling.catch(fail)]);
  failure.signal.throwIfAborted();
}

/** Gives each peer the same value, such as the address of a server of datagrams, until there are no more peers. */
export async function giveAll(peers: Peers, value: unknown): Promise<void> {
  // A caller that went away is no reason to end.
  for await (const peer of peers) await peer(value).catch(() => {});
}

/** The callers of a TCP port, one after the other, until the signal aborts. */
async function* callers(choice: Choice, signal: AbortSignal): AsyncGenerator<Exchange> {
  using listener = Deno.listen({ port: choice.tcpPort });
  signal.addEventListener("abort", () => listener.close());
  for await (const caller of listener) {
    using connection = caller;
    yield exchangeOver(connection, choice.seconds, signal);
  }
}

/** Each value is a line of JSON. The other end sends its next line after it has got one, so nothing follows a line. */
function exchangeOver(pipe: Pipe, seconds: number, signal: AbortSignal): Exchange {
  const [reader, writer] = [pipe.readable.getReader(), pipe.writable.getWriter()];
  const readLine = async (late: AbortSignal): Promise<string> => {
    late.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    late.addEventListener("abort", () => aborted.reject(late.reason));
    let line = "";
    while (!line.endsWith("\n")) {
      const { value, done } = await Promise.race([reader.read(), aborted.promise]);
      if (done || line.length > 1000) throw new Error("The other end has gone");
      line += new TextDecoder().decode(value);
    }
    return line;
  };
  return async (value) => {
    using deadline = inTime(seconds, signal);
    const line = new TextEncoder().encode(`${JSON.stringify(value)}\n`);
    const [answer] = await Promise.all([readLine(deadline.signal), writer.write(line)]);
    return JSON.parse(answer);
  };
}
