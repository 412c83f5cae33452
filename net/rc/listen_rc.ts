import { type AbortOptions, closeOnAbort, signalOf } from "../../internal/abort.ts";
import { text } from "../../internal/checks.ts";
import { option, readOptions, within } from "../../internal/options.ts";
import { nextTurn } from "../../internal/turns.ts";
import { Waiters } from "../../internal/waiters.ts";
import { type AttemptLimits, Attempts } from "./attempts.ts";
import { abortable, handshakeDeadline } from "./connect_rc.ts";
import { readLine, writeAddress } from "./exchange.ts";
import { checkOwn, checkSpeaker, checkUnicast, endsOf, type TcpEnds } from "./peer_gid.ts";
import { type RcAddress, readRcAddress } from "./rc_address.ts";
import { RcConn } from "./rc_conn.ts";
import { SharedDevice } from "./rc_device.ts";
import { RcEnd } from "./rc_end.ts";
import { RC_RULES, type RcOptions, type RcSettings } from "./rc_options.ts";

/**
 * The options of {@linkcode listenRc}.
 *
 * @category Connections
 */
export interface RcListenOptions extends RcOptions {
  /** The host address to listen on. The default is "127.0.0.1": this host only. */
  readonly hostname?: string;
  /** The TCP port to listen on. The default is 0: any free one, see {@linkcode RcListener.addr}. */
  readonly tcpPort?: number;
  /**
   * The number of connections that may be in the making or wait for {@linkcode RcListener.accept}, at least 1. The
   * default is 64. Further ones are refused. Each one has queues and memory of the device.
   */
  readonly maxPending?: number;
  /**
   * The number of partners that may be connected over TCP without having sent their address, at least 1. The default is
   * 256. The next one takes the place of the one that has been silent longest. A silent partner costs a socket and nothing
   * of the device.
   */
  readonly maxHandshakes?: number;
  /**
   * The same limits for the partners of one IP address (of one network of 64 bits with IPv6), at least 1. The default is
   * 32: up to 32 silent ones, and up to 32 connections in the making or waiting.
   */
  readonly maxPerPeer?: number;
  /** Closes the listener when it aborts. Connections that were accepted stay open. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Counters of a listener.
 *
 * @category Connections
 */
export interface RcListenerStats {
  /** Connections that were made. */
  readonly connected: number;
  /** Attempts that failed, for instance because the partner sent something else than an address. */
  readonly failed: number;
  /** Attempts that were refused or ended to make room for others: see `maxPending`, `maxHandshakes` and `maxPerPeer`. */
  readonly refused: number;
  /** The error of the last attempt that failed. */
  readonly lastError: unknown;
}

/** The attempt of a partner to connect. Aborting it refuses the partner. */
type Attempt = AbortController;

/**
 * Accepts connections. {@linkcode listenRc} makes it. Attempts that fail are counted. They do not affect other
 * connections.
 *
 * The connections share one device and one protection domain, which are open while there is a connection. Nothing of the
 * device is used for a partner before its address was read and checked.
 *
 * @category Connections
 */
export class RcListener implements Disposable, AsyncDisposable, AsyncIterable<RcConn> {
  readonly #listener: Deno.TcpListener;
  readonly #settings: RcSettings;
  readonly #limits: Attempts<Attempt>;
  readonly #device: SharedDevice;
  /** Objects of the device are made for one partner after the other: this is the last one. */
  #making: Promise<unknown> = Promise.resolve();
  readonly #closing: AbortController = new AbortController();
  /** Attempts under way. */
  readonly #attempts: Set<Promise<void>> = new Set();
  /** Connections that wait to be accepted. */
  readonly #ready: Map<RcConn, Attempt> = new Map();
  readonly #waiters: Waiters<object, RcConn> = new Waiters();
  readonly #accepting: Promise<void>;
  readonly #stats = { connected: 0, failed: 0, refused: 0, lastError: undefined as unknown };

  /** @ignore Made by {@linkcode listenRc}. */
  constructor(listener: Deno.TcpListener, settings: RcSettings, limits: AttemptLimits) {
    this.#listener = listener;
    this.#settings = settings;
    this.#limits = new Attempts(limits);
    this.#device = new SharedDevice(settings);
    this.#accepting = this.#acceptAll().catch((error) => this.#end(error));
    closeOnAbort(this, settings.signal, this.#closing.signal);
  }

  /** The TCP address that it listens on. */
  get addr(): Deno.NetAddr {
    return this.#listener.addr;
  }

  /** Counters since the listener was made. */
  get stats(): RcListenerStats {
    return { ...this.#stats };
  }

  /**
   * Waits for the next connection.
   *
   * @throws {TypeError} If an option has the wrong type.
   * @throws {Deno.errors.BadResource} If the listener is closed.
   * @throws The reason of the signal, if it aborts.
   */
  accept(options?: AbortOptions): Promise<RcConn> {
    const accepted = this.#accept(options);
    // A program that fails closes the listener and waits no more: the end of this wait must not hide the reason.
    accepted.catch(() => {});
    return accepted;
  }

  async #accept(options: AbortOptions | undefined): Promise<RcConn> {
    const signal = signalOf(options);
    signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const ready = this.#waiters.size === 0 ? this.#ready.entries().next().value : undefined;
    if (ready === undefined) return await this.#waiters.wait({}, signal);
    const [conn, attempt] = ready;
    this.#ready.delete(conn);
    this.#limits.delete(attempt);
    return conn;
  }

  /** Connections as they come, until the listener is closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RcConn, void, void> {
    for (;;) {
      try {
        yield await this.accept();
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        throw error;
      }
    }
  }

  async #acceptAll(): Promise<void> {
    for (;;) {
      const conn = await this.#acceptTcp();
      if (conn === undefined) continue;
      const attempt = new AbortController();
      await this.#makeRoom(attempt, conn.remoteAddr.hostname);
      const ended = this.#attempt(conn, attempt).finally(() => this.#attempts.delete(ended));
      this.#attempts.add(ended);
    }
  }

  async #makeRoom(attempt: Attempt, hostname: string): Promise<void> {
    // An address that has come already counts, although it was not read yet.
    if (this.#limits.isFull(hostname)) await nextTurn();
    const leaving = this.#limits.add(attempt, hostname);
    if (leaving !== undefined) this.#refuse(leaving);
  }

  #refuse(attempt: Attempt): void {
    this.#stats.refused++;
    attempt.abort(new Deno.errors.ConnectionRefused("Cannot connect: too many others do"));
  }

  #fail(error: unknown): void {
    this.#stats.failed++;
    this.#stats.lastError = error;
  }

  /** A partner that is gone before it is accepted is no reason to stop. */
  async #acceptTcp(): Promise<Deno.TcpConn | undefined> {
    try {
      return await this.#listener.accept();
    } catch (error) {
      if (this.#closing.signal.aborted || error instanceof Deno.errors.BadResource) throw error;
      this.#fail(error);
      // Too many open files: it gets better only if others close some.
      await new Promise((resolve) => setTimeout(resolve, 10));
      return undefined;
    }
  }

  async #attempt(tcp: Deno.TcpConn, attempt: Attempt): Promise<void> {
    using deadline = handshakeDeadline(this.#settings, [this.#closing.signal, attempt.signal]);
    const { signal } = deadline;
    using _closing = tcp;
    closeOnAbort(tcp, signal);
    try {
      this.#add(await abortable(signal, () => this.#connect(tcp, attempt, signal)), attempt);
    } catch (error) {
      this.#limits.delete(attempt);
      if (!attempt.signal.aborted) this.#fail(error);
    }
  }

  async #connect(tcp: Deno.TcpConn, attempt: Attempt, signal: AbortSignal): Promise<RcConn> {
    const peer = readRcAddress(await readLine(tcp, signal));
    const ends = endsOf(tcp);
    checkUnicast(peer);
    const mustBeOwn = this.#settings.peerGid === "tcp" && checkSpeaker(peer, ends);
    if (!this.#limits.advance(attempt)) this.#refuse(attempt);
    signal.throwIfAborted();
    const making = this.#making.then(nextTurn).then(() => {
      signal.throwIfAborted();
      return this.#makeEnd(ends, mustBeOwn ? peer : undefined);
    });
    this.#making = making.catch(() => {});
    await using end = await making;
    const answer = (): Promise<void> => writeAddress(tcp, end.address, signal);
    return new RcConn(await end.connect(peer, signal, answer));
  }

  /** The first step opens the device, and the last one makes queues: the event loop runs between them. */
  async #makeEnd(ends: TcpEnds, mustBeOwn: RcAddress | undefined): Promise<RcEnd> {
    const settings = this.#settings;
    using stack = new DisposableStack();
    const device = stack.use(this.#device.use());
    if (mustBeOwn !== undefined) checkOwn(mustBeOwn, ends, device.context.gidTable(settings.port));
    await nextTurn();
    stack.move();
    return await RcEnd.make(device, settings, ends);
  }

  #add(conn: RcConn, attempt: Attempt): void {
    this.#stats.connected++;
    const waiter = this.#waiters.first;
    if (waiter === undefined && !this.#closing.signal.aborted) {
      this.#ready.set(conn, attempt);
      return;
    }
    this.#limits.delete(attempt);
    if (waiter === undefined) conn[Symbol.dispose]();
    else this.#waiters.resolve(waiter, conn);
  }

  #end(error: unknown): void {
    this.#closing.abort(error);
    this.#waiters.rejectAll(error);
  }

  /** Stops listening. Connections that were accepted stay open; the others are closed. Closing again does nothing. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#end(new Deno.errors.BadResource("Cannot accept: the listener is closed"));
    this.#listener.close();
    for (const conn of this.#ready.keys()) conn[Symbol.dispose]();
    this.#ready.clear();
  }

  /** Stops listening, as {@linkcode RcListener.close} does. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Stops listening, and waits until the attempts under way have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.#accepting;
    await Promise.all(this.#attempts);
  }
}

/**
 * Listens for connections. Addresses are exchanged over TCP, one line of JSON each way; all else goes over RDMA.
 *
 * @example An echo server
 * ```ts
 * import { listenRc, type RcConn } from "@rdma/ibverbs/net";
 *
 * async function echo(conn: RcConn): Promise<void> {
 *   await using _closing = conn;
 *   for await (const message of conn) await conn.send(message);
 * }
 *
 * async function serve(): Promise<void> {
 *   using listener = await listenRc({ hostname: "0.0.0.0", tcpPort: 18515 });
 *   for await (const conn of listener) echo(conn).catch(console.error);
 * }
 * ```
 *
 * @throws {TypeError} If an option has the wrong type or is unknown.
 * @throws {RangeError} If a number is out of range.
 * @throws {Deno.errors.AddrInUse} If another program uses the TCP port.
 * @throws The reason of the signal, if it has aborted.
 * @category Connections
 */
// deno-lint-ignore require-await -- it rejects, it does not throw
export async function listenRc(options: RcListenOptions = {}): Promise<RcListener> {
  const settings = readOptions(options, RULES);
  settings.signal?.throwIfAborted();
  const tcp = Deno.listen({ hostname: settings.hostname, port: settings.tcpPort });
  return new RcListener(tcp, settings, settings);
}

const RULES = {
  ...RC_RULES,
  hostname: option(text, "127.0.0.1"),
  tcpPort: option(within(0, 65535), 0),
  maxPending: option(within(1, 2 ** 20), 64),
  maxHandshakes: option(within(1, 2 ** 20), 256),
  maxPerPeer: option(within(1, 2 ** 20), 32),
};
