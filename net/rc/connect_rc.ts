import { type AbortOptions, closeOnAbort, orAborted } from "../../wait/abort.ts";
import { callable, quote, snapshot, text } from "../../internal/checks.ts";
import { noted } from "../../internal/left_open.ts";
import { made } from "../../internal/made.ts";
import { millisecondsOrZero, option, readOptions, within } from "../../internal/options.ts";
import { paced } from "../../wait/paced.ts";
import { requireDeno } from "../../internal/runtime.ts";
import { inTurn } from "../../wait/turns.ts";
import { retrying } from "../shared/retrying.ts";
import { BY_ADDRESS, connectByAddress, isAbsent } from "./by_address.ts";
import { Attempt, NO_ADDRESS } from "./attempt.ts";
import { checkOwn, checkStated, checkUnicast, endsOf } from "./peer_gid.ts";
import { type RcAddress, readLine, readRcAddress, writeAddress } from "./rc_address.ts";
import { RcConn } from "./rc_conn.ts";
import { deviceFor } from "./rc_device.ts";
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
 * Options of `connectRc` for a host that is found by its address, with the RDMA communication manager.
 *
 * @category Connections
 */
export interface RcConnectByAddress extends RcOptions {
  /**
   * The host that `listenRc` listens on: a name, or an address that an RDMA device has or leads to. A name may have an
   * address of each family, IPv4 and IPv6: if the one that the system prefers fails, the other is tried. The
   * communication manager does not connect by a loopback address, such as 127.0.0.1: within a host use `tcpPort`, or
   * another address of a device.
   */
  readonly hostname: string;
  /**
   * The port that `listenRc` listens on, 1 to 65535. The host is found by the RDMA communication manager. It
   * chooses the device and the GIDs, so that the options `device`, `portNum`, `gidIndex`, `pkeyIndex` and `peerGid` are not
   * permitted, and `retryCnt` of this end holds for both. It needs librdmacm, and no TCP.
   */
  readonly port: number;
  /**
   * The pause between two attempts while nobody listens, in milliseconds; `connectTimeout` ends them. The default is 0:
   * it fails at once. With another value it does not matter which of two programs starts first.
   */
  readonly retryInterval?: number | undefined;
  /** It is not used with `port`. */
  readonly tcpPort?: never | undefined;
  /** It is not used with `port`. */
  readonly exchange?: never | undefined;
}

/**
 * Options of `connectRc` for a host that listens on a TCP port, by which the two ends find each other.
 *
 * @category Connections
 */
export interface RcConnectByTcp extends RcOptions {
  /** The host that `listenRc` listens on. The default is "127.0.0.1". */
  readonly hostname?: string | undefined;
  /** The TCP port that `listenRc` listens on. */
  readonly tcpPort: number;
  /**
   * The pause between two attempts while nobody listens, in milliseconds; `connectTimeout` ends them. The default is 0:
   * it fails at once. With another value it does not matter which of two programs starts first.
   */
  readonly retryInterval?: number | undefined;
  /** It is not used with `tcpPort`. */
  readonly port?: never | undefined;
  /** It is not used with `tcpPort`. */
  readonly exchange?: never | undefined;
}

/**
 * Options of `connectRc` for a peer with which the program exchanges addresses itself.
 *
 * @category Connections
 */
export interface RcConnectByExchange extends RcOptions {
  /**
   * The exchange of addresses by any other means, with a peer that calls `connectRc` with `exchange` as well. Both ends
   * must get the other's address at about the same time: an end retries for about four seconds (`ackTimeout`, `retryCnt`).
   */
  readonly exchange: RcExchange;
  /** It is not used with `exchange`. */
  readonly port?: never | undefined;
  /** It is not used with `exchange`. */
  readonly tcpPort?: never | undefined;
  /** It is not used with `exchange`. */
  readonly retryInterval?: never | undefined;
}

/**
 * The options of `connectRc`: exactly one of `port`, `tcpPort` and `exchange` is needed.
 *
 * @category Connections
 */
export type RcConnectOptions = RcConnectByAddress | RcConnectByTcp | RcConnectByExchange;

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
 * @throws {TypeError} If an option has the wrong type, is unknown, or does not fit another one.
 * @throws {RangeError} If a number is out of range, or the device has no such port.
 * @throws {Deno.errors.NotFound} If there is no such device, or the port has no usable GID.
 * @throws {Deno.errors.InvalidData} If the peer sends something other than an address, or one that is not permitted
 * (`peerGid`).
 * @throws {Deno.errors.TimedOut} If it takes longer than `connectTimeout`. The message names the step that it waited for.
 * @throws {Deno.errors.ConnectionRefused} If nobody listens on `port` or `tcpPort` of `hostname`, with `retryInterval` when
 * `connectTimeout` is over; or if the peer rejects the request.
 * @throws {CmError} If the name has no address, or no RDMA device leads there. See `@rdma/ibverbs/cm`.
 * @throws {Deno.errors.AddrNotAvailable} If `port` is given, and `hostname` is a loopback address.
 * @throws {Deno.errors.NotSupported} If only an iWARP device leads there.
 * @throws {Deno.errors.ConnectionReset} If the peer does not answer, closes the TCP connection before it has sent its
 * address, or ends the connection before it is made.
 * @throws {VerbsError} If the device refuses.
 * @throws The reason of the signal, if it aborts.
 * @category Connections
 */
export async function connectRc(options: RcConnectOptions): Promise<RcConn> {
  return await noted(inTurn(async () => {
    requireDeno();
    const given = snapshot<object>(
      options,
      "options",
      Object.keys(RULES) as never,
    ) as RcConnectOptions;
    const settings = readOptions(
      given,
      given.port === undefined ? RULES : { ...RULES, ...BY_ADDRESS },
    );
    const { hostname, port, tcpPort, exchange } = settings;
    if ([port, tcpPort, exchange].filter((one) => one !== undefined).length !== 1) {
      throw new TypeError("Cannot connect: exactly one of port, tcpPort and exchange is needed");
    }
    if (port !== undefined && hostname === undefined) {
      throw new TypeError("Cannot connect: port needs hostname");
    }
    settings.signal?.throwIfAborted();
    using attempt = new Attempt(settings);
    if (port !== undefined) {
      const connect = () => attempt.do(() => connectByAddress(settings, hostname!, port, attempt));
      return await retryingRefused(settings, attempt.signal, connect);
    }
    if (exchange !== undefined) return await overExchange(settings, exchange, attempt);
    return await overTcp(settings, tcpPort!, attempt);
  }));
}

const RULES = {
  // First what decides how the two ends find each other: messages name the first ones.
  hostname: option(text, undefined),
  port: option(within(1, 65535), undefined),
  tcpPort: option(within(1, 65535), undefined),
  ...RC_RULES,
  retryInterval: option(millisecondsOrZero, 0),
  exchange: option(callable<RcExchange>, undefined),
};

type TcpSettings = RcSettings & {
  readonly hostname: string | undefined;
  readonly retryInterval: number;
};

async function overTcp(
  settings: TcpSettings,
  port: number,
  attempt: Attempt,
): Promise<RcConn> {
  const { signal } = attempt;
  const { hostname = "127.0.0.1" } = settings;
  const connect = () => connectTcp(hostname, port, signal);
  attempt.step = `: TCP port ${port} of ${quote(hostname)} does not answer`;
  using conn = await retryingRefused(settings, signal, connect);
  attempt.step = NO_ADDRESS;
  closeOnAbort(conn, signal);
  const ends = endsOf(conn);
  const device = await paced(() => deviceFor(settings).use());
  await using end = await RcEnd.make(device, settings, ends);
  const value = await attempt.do(async () => {
    await writeAddress(conn, end.address, signal);
    return await readLine(conn, signal);
  });
  const peer = readRcAddress(value);
  if (checkStated(peer, ends, settings.peerGid)) {
    checkOwn(peer, ends, device.context.queryGidTable(settings.portNum));
  }
  return new RcConn(made(await end.connect(peer, attempt)));
}

/** Tries again while nobody listens, if the program has chosen that. */
function retryingRefused<T>(
  { retryInterval, connectTimeout }: TcpSettings,
  signal: AbortSignal,
  connect: () => Promise<T>,
): Promise<T> {
  return retrying(
    retryInterval,
    connectTimeout,
    signal,
    connect,
    (error) => error instanceof Deno.errors.ConnectionRefused && isAbsent(error.cause),
  );
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
    if (signal.aborted || error instanceof Deno.errors.NotCapable) throw error;
    // Deno names neither the host nor the port.
    const { message, constructor } = error as Error;
    const isRefused = error instanceof Deno.errors.ConnectionRefused;
    throw new (constructor as ErrorConstructor)(
      `Cannot connect to ${hostname} port ${port}: ${isRefused ? "nobody listens there" : message}`,
      { cause: error },
    );
  }
}

async function overExchange(
  settings: RcSettings,
  exchange: RcExchange,
  attempt: Attempt,
): Promise<RcConn> {
  const { signal } = attempt;
  const device = await paced(() => deviceFor(settings).use());
  await using end = await RcEnd.make(device, settings);
  attempt.step = ": exchange() has not given the address of the peer";
  const given = Promise.try(exchange, end.address, { signal });
  const peer = readRcAddress(await orAborted(given, signal));
  checkUnicast(peer);
  return new RcConn(made(await end.connect(peer, attempt)));
}
