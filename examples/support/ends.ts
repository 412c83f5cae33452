/** Programs with two ends: a server and a client. */

import type { Context, QueuePair } from "@rdma/ibverbs";
import type { UdAddress } from "@rdma/ibverbs/net";
import { flag, MAX_SECONDS, number, type Option, text, UsageError } from "./command_line.ts";
import { call, callers, type Exchange, exchangeHere } from "./exchange.ts";
import { untilInterrupted, type Wait } from "./signals.ts";

/** Options that choose a port of a device. */
export const PORT: {
  readonly device: Option<string | undefined>;
  readonly port: Option<number>;
  readonly gidIndex: Option<number | undefined>;
} = {
  device: text("d", undefined),
  port: number("i", 1, 1, 255),
  gidIndex: number("g", undefined, 0, 255),
};

/** The help for {@linkcode PORT}. */
export const PORT_HELP = `
  -d, --device NAME       RDMA device (default: the first one with an active port)
  -i, --port NUMBER       port of the device (default 1)
  -g, --gid-index NUMBER  index of the GID to send from in the port's table (default: the one that
                          reaches most peers)`.slice(1);

/** Options that choose an end. */
export const ENDS: {
  readonly listen: Option<boolean>;
  readonly connect: Option<string | undefined>;
  readonly tcpPort: Option<number>;
  readonly timeout: Option<number>;
} = {
  listen: flag("l"),
  connect: text("c", undefined),
  tcpPort: number("p", 18516, 1, 65535),
  timeout: number("t", 10, 1, MAX_SECONDS),
};

/** The help for {@linkcode ENDS}. */
export const ENDS_HELP = `
  -l, --listen            run the server only, and tell callers its address by TCP
  -c, --connect HOST      run the client only, and ask the server on HOST for its address
  -p, --tcp-port NUMBER   TCP port of the server (default 18516)
  -t, --timeout SECONDS   how long to wait for the other end (default 10)
  -h, --help              show this text`.slice(1);

/** The two ends. */
export interface Ends {
  /** The server. `done` aborts when there is nobody left to serve. A server that ends by itself does not need it. */
  readonly server: (
    peers: AsyncIterable<Exchange>,
    wait: Wait,
    done: AbortSignal,
  ) => Promise<void>;
  readonly client: (peer: Exchange, wait: Wait) => Promise<void>;
}

interface Choice {
  readonly listen: boolean;
  readonly connect: string | undefined;
  readonly tcpPort: number;
  readonly timeout: number;
}

/** Runs the end that the command line asks for, or both in this process. */
export async function runEnds(
  { listen, connect, tcpPort, timeout }: Choice,
  { server, client }: Ends,
): Promise<void> {
  checkEnds({ listen, connect });
  using interruption = untilInterrupted();
  const wait = { seconds: timeout, signal: interruption.signal };
  if (listen) return await server(callers(tcpPort, wait), wait, wait.signal);
  if (connect === undefined) return await runBoth({ server, client }, wait);
  using peer = await call(connect, tcpPort, wait);
  await client(peer, wait);
}

/**
 * Checks which end is asked for.
 *
 * @throws {UsageError} If it is more than one.
 */
export function checkEnds({ listen, connect }: Pick<Choice, "listen" | "connect">): void {
  if (listen && connect !== undefined) throw new UsageError("Give --listen or --connect, not both");
}

/** If one end fails, the other one ends as well. */
async function runBoth({ server, client }: Ends, { seconds, signal }: Wait): Promise<void> {
  const [failure, served] = [new AbortController(), new AbortController()];
  const wait = { seconds, signal: AbortSignal.any([failure.signal, signal]) };
  const [peer, serverOfPeer] = exchangeHere(wait.signal);
  const serving = server(once(peer), wait, AbortSignal.any([served.signal, wait.signal]));
  const calling = client(serverOfPeer, wait);
  serving.catch((error) => failure.abort(error));
  calling.then(() => served.abort(), (error) => failure.abort(error));
  await Promise.allSettled([serving, calling]);
  // The first error is what went wrong. The other one may only follow from it.
  failure.signal.throwIfAborted();
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield await value;
}

/** Tells each peer the same value, for instance the address of a server of datagrams, until there are no more peers. */
export async function tellAll(peers: AsyncIterable<Exchange>, value: unknown): Promise<void> {
  for await (const peer of peers) {
    // A caller that went away is no reason to end.
    await peer(value).catch(() => {});
  }
}

/** Which port to use: the values of {@linkcode PORT}. */
export interface PortChoice {
  readonly device: string | undefined;
  readonly port: number;
  readonly gidIndex: number | undefined;
}

/** The index of the GID to send from. */
export function gidIndexOf(context: Context, { port, gidIndex }: PortChoice): number {
  return gidIndex ?? context.recommendGid(port).gidIndex;
}

/** The options of `@rdma/ibverbs/net`. They have defaults, so what is not given is left out. */
export function socketOptions(
  { device, port, gidIndex }: PortChoice,
): { device?: string; portNum: number; gidIndex?: number } {
  return {
    portNum: port,
    ...device === undefined ? {} : { device },
    ...gidIndex === undefined ? {} : { gidIndex },
  };
}

/** The address of an active UD queue pair, for sockets of `@rdma/ibverbs/net`. */
export function socketAddress({ address }: QueuePair): UdAddress {
  const { gid, lid, qpn, qkey } = address;
  return { transport: "UD", gid: gid!, lid, qpn, qkey: qkey! };
}
