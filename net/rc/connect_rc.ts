import { type AbortOptions, closeOnAbort, orAborted } from "../../internal/abort.ts";
import { callable, text } from "../../internal/checks.ts";
import { Deadline } from "../../internal/deadline.ts";
import { option, readOptions, within } from "../../internal/options.ts";
import { readLine, writeAddress } from "./exchange.ts";
import { checkOwn, checkSpeaker, checkUnicast, endsOf } from "./peer_gid.ts";
import { type RcAddress, readRcAddress } from "./rc_address.ts";
import { RcConn } from "./rc_conn.ts";
import { SharedDevice } from "./rc_device.ts";
import { RcEnd } from "./rc_end.ts";
import { RC_RULES, type RcOptions, type RcSettings } from "./rc_options.ts";

/**
 * Gives the peer the address of this end, and returns that of the peer. It returns what `JSON.parse()` made of the
 * message of the peer. The result is checked, so the message may come from anybody. It should end early if the signal
 * aborts.
 *
 * @category Connections
 */
export type RcExchange = (address: RcAddress, options: AbortOptions) => Promise<unknown>;

/**
 * The options of {@linkcode connectRc}: either `tcpPort` or `exchange` is needed.
 *
 * @category Connections
 */
export interface RcConnectOptions extends RcOptions {
  /** The host that {@linkcode listenRc} listens on. The default is "127.0.0.1". */
  readonly hostname?: string;
  /** The TCP port that {@linkcode listenRc} listens on. */
  readonly tcpPort?: number;
  /**
   * The exchange of addresses by any other means, with a peer that calls `connectRc` with `exchange` as well. Both ends
   * must get the other's address at about the same time: an end retries for about four seconds (`timeout`, `retryCnt`).
   */
  readonly exchange?: RcExchange;
}

/**
 * Connects to a peer.
 *
 * @example Over a channel of your own
 * ```ts
 * import { connectRc, type RcAddress, type RcConn } from "@rdma/ibverbs/net";
 *
 * function connect(socket: WebSocket): Promise<RcConn> {
 *   const exchange = async (address: RcAddress): Promise<unknown> => {
 *     const answer = Promise.withResolvers<string>();
 *     socket.onmessage = ({ data }) => answer.resolve(data);
 *     socket.send(JSON.stringify(address));
 *     return JSON.parse(await answer.promise);
 *   };
 *   return connectRc({ exchange });
 * }
 * ```
 *
 * @throws {TypeError} If an option has the wrong type or is unknown.
 * @throws {RangeError} If a number is out of range, or the device has no such port.
 * @throws {Deno.errors.NotFound} If there is no such device, or the port has no usable GID.
 * @throws {Deno.errors.InvalidData} If the peer sends something else than an address, or one that is not permitted
 * (`peerGid`).
 * @throws {Deno.errors.TimedOut} If it takes longer than `connectTimeout`.
 * @throws {Deno.errors.ConnectionRefused} If nobody listens on `tcpPort` of `hostname`.
 * @throws {Deno.errors.ConnectionReset} If the peer does not answer.
 * @throws {VerbsError} If the device refuses.
 * @throws The reason of the signal, if it aborts.
 * @category Connections
 */
export async function connectRc(options: RcConnectOptions): Promise<RcConn> {
  const settings = readOptions(options, RULES);
  const { tcpPort, exchange } = settings;
  if ((tcpPort === undefined) === (exchange === undefined)) {
    throw new TypeError("Cannot connect: exactly one of tcpPort and exchange is needed");
  }
  settings.signal?.throwIfAborted();
  using deadline = handshakeDeadline(settings, []);
  const { signal } = deadline;
  if (exchange !== undefined) return await overExchange(settings, exchange, signal);
  return await overTcp(settings, tcpPort!, signal);
}

const RULES = {
  ...RC_RULES,
  hostname: option(text, "127.0.0.1"),
  tcpPort: option(within(1, 65535), undefined),
  exchange: option(callable<RcExchange>, undefined),
};

async function overTcp(
  settings: RcSettings & { readonly hostname: string },
  port: number,
  signal: AbortSignal,
): Promise<RcConn> {
  using conn = await connectTcp(settings.hostname, port, signal);
  closeOnAbort(conn, signal);
  const ends = endsOf(conn);
  const device = new SharedDevice(settings).use();
  await using end = await RcEnd.make(device, settings, ends);
  const value = await abortable(signal, async () => {
    await writeAddress(conn, end.address, signal);
    return await readLine(conn, signal);
  });
  const peer = readRcAddress(value);
  checkUnicast(peer);
  if (settings.peerGid === "tcp" && checkSpeaker(peer, ends)) {
    checkOwn(peer, ends, device.context.gidTable(settings.port));
  }
  return new RcConn(await end.connect(peer, signal));
}

async function connectTcp(
  hostname: string,
  port: number,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  const connecting = Deno.connect({ hostname, port });
  try {
    return await orAborted(connecting, signal);
  } catch (error) {
    // It may still succeed, when nobody waits for it any more.
    connecting.then((conn) => conn.close(), () => {});
    if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    const message = `Cannot connect to ${hostname} port ${port}: nobody listens there`;
    throw new Deno.errors.ConnectionRefused(message, { cause: error });
  }
}

async function overExchange(
  settings: RcSettings,
  exchange: RcExchange,
  signal: AbortSignal,
): Promise<RcConn> {
  await using end = await RcEnd.make(new SharedDevice(settings).use(), settings);
  const given = Promise.try(exchange, end.address, { signal });
  const peer = readRcAddress(await orAborted(given, signal));
  checkUnicast(peer);
  return new RcConn(await end.connect(peer, signal));
}

/** If the signal aborts, its reason is the error. */
export async function abortable<T>(signal: AbortSignal, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** The time that connecting may take. */
export function handshakeDeadline(
  { connectTimeout, signal }: RcSettings,
  signals: readonly AbortSignal[],
): Deadline {
  const late = (): Error =>
    new Deno.errors.TimedOut(`Cannot connect: it took longer than ${connectTimeout} ms`);
  return new Deadline(connectTimeout, late, [signal, ...signals]);
}
