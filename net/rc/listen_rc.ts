/**
 * Waiting for connections.
 *
 * @module
 */

import { integer, readObject, readSignal, text, type WaitOptions } from "../shared/checks.ts";
import { closeOnAbort } from "../shared/close_on_abort.ts";
import { Line } from "../shared/line.ts";
import type { Sharing } from "../shared/shared.ts";
import { nextTurn } from "../shared/turns.ts";
import { Waiters } from "../shared/waiters.ts";
import { type AttemptLimits, Attempts } from "./attempts.ts";
import { abortable, handshakeDeadline } from "./connect_rc.ts";
import { closeTcpOnAbort, readLine, writeAddress } from "./exchange.ts";
import { checkOwn, checkSpeaker, checkUnicast, endsOf, type TcpEnds } from "./peer_gid.ts";
import { type RcAddress, readRcAddress } from "./rc_address.ts";
import { type Preparation, prepare, type RcConn } from "./rc_conn.ts";
import { type RcDevice, sharedDevice } from "./rc_device.ts";
import { checkRcOptions, RC_OPTIONS, type RcOptions, type RcSettings } from "./rc_options.ts";

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

let listen: (
  listener: Deno.TcpListener,
  settings: RcSettings,
  limits: AttemptLimits,
) => RcListener;

/** The attempt of a partner to connect. */
interface Attempt {
  /** Ends it. */
  readonly abort: AbortController;
  /** Whether it was refused. */
  isRefused: boolean;
}

/** A connection that waits to be accepted. */
interface Ready {
  readonly conn: RcConn;
  readonly attempt: Attempt;
}

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
  readonly #device: Sharing<RcDevice>;
  /** Objects of the device are made for one partner after the other. */
  readonly #line: Line = new Line();
  readonly #closing: AbortController = new AbortController();
  /** Attempts under way. */
  readonly #attempts: Set<Promise<void>> = new Set();
  readonly #ready: Ready[] = [];
  readonly #waiters: Waiters<object, RcConn> = new Waiters();
  readonly #accepting: Promise<void>;
  #connected = 0;
  #failed = 0;
  #refused = 0;
  #lastError: unknown;

  static {
    listen = (tcp, settings, limits) => {
      const listener = new RcListener(tcp, settings, limits);
      closeOnAbort(listener, settings.signal, listener.#closing.signal);
      return listener;
    };
  }

  /** @ignore */
  private constructor(listener: Deno.TcpListener, settings: RcSettings, limits: AttemptLimits) {
    this.#listener = listener;
    this.#settings = settings;
    this.#limits = new Attempts(limits);
    this.#device = sharedDevice(settings);
    this.#accepting = this.#acceptAll().catch((error) => this.#fail(error));
  }

  /** The TCP address that it listens on. */
  get addr(): Deno.NetAddr {
    return this.#listener.addr;
  }

  /** Counters since the listener was made. */
  get stats(): RcListenerStats {
    const [connected, failed, refused] = [this.#connected, this.#failed, this.#refused];
    return { connected, failed, refused, lastError: this.#lastError };
  }

  /**
   * Waits for the next connection.
   *
   * @throws {TypeError} If an option has the wrong type.
   * @throws {Deno.errors.BadResource} If the listener is closed.
   * @throws The reason of the signal, if it aborts.
   */
  async accept(options?: WaitOptions): Promise<RcConn> {
    const signal = readSignal(options);
    signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const ready = this.#waiters.size === 0 ? this.#ready.shift() : undefined;
    if (ready === undefined) return await this.#waiters.wait({}, signal);
    this.#limits.delete(ready.attempt);
    return ready.conn;
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
      const attempt = { abort: new AbortController(), isRefused: false };
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
    this.#refused++;
    attempt.isRefused = true;
    attempt.abort.abort(new Deno.errors.ConnectionRefused("Cannot connect: too many others do"));
  }

  /** A partner that is gone before it is accepted is no reason to stop. */
  async #acceptTcp(): Promise<Deno.TcpConn | undefined> {
    try {
      return await this.#listener.accept();
    } catch (error) {
      if (this.#closing.signal.aborted || error instanceof Deno.errors.BadResource) throw error;
      this.#failed++;
      this.#lastError = error;
      // Too many open files: it gets better only if others close some.
      await new Promise((resolve) => setTimeout(resolve, 10));
      return undefined;
    }
  }

  async #attempt(tcp: Deno.TcpConn, attempt: Attempt): Promise<void> {
    using deadline = handshakeDeadline(this.#settings, [
      this.#closing.signal,
      attempt.abort.signal,
    ]);
    const { signal } = deadline;
    using _closing = closeTcpOnAbort(tcp, signal);
    try {
      const conn = await abortable(signal, () => this.#connect(tcp, attempt, signal));
      this.#add({ conn, attempt });
    } catch (error) {
      this.#limits.delete(attempt);
      if (attempt.isRefused) return;
      this.#failed++;
      this.#lastError = error;
    }
  }

  async #connect(tcp: Deno.TcpConn, attempt: Attempt, signal: AbortSignal): Promise<RcConn> {
    const peer = readRcAddress(await readLine(tcp, signal));
    const ends = endsOf(tcp);
    checkUnicast(peer);
    const mustBeOwn = this.#settings.peerGid === "tcp" && checkSpeaker(peer, ends);
    if (!this.#limits.advance(attempt)) this.#refuse(attempt);
    signal.throwIfAborted();
    const makeEnd = async (): Promise<Preparation> => {
      signal.throwIfAborted();
      return await this.#prepare(ends, mustBeOwn ? peer : undefined);
    };
    await using preparation = await this.#line.run(makeEnd);
    const { address } = preparation;
    return await preparation.connect(peer, signal, () => writeAddress(tcp, address, signal));
  }

  /** The first step opens the device, and the last one makes queues: the event loop runs between them. */
  async #prepare(ends: TcpEnds, mustBeOwn: RcAddress | undefined): Promise<Preparation> {
    const settings = this.#settings;
    using stack = new DisposableStack();
    const use = stack.use(this.#device.use());
    const { context } = use.object;
    if (mustBeOwn !== undefined) checkOwn(mustBeOwn, ends, context.gidTable(settings.port));
    await nextTurn();
    stack.move();
    return await prepare(use, settings, ends);
  }

  #add(ready: Ready): void {
    this.#connected++;
    const waiter = this.#waiters.first;
    if (waiter === undefined && !this.#closing.signal.aborted) {
      this.#ready.push(ready);
      return;
    }
    this.#limits.delete(ready.attempt);
    if (waiter === undefined) ready.conn[Symbol.dispose]();
    else this.#waiters.resolve(waiter, ready.conn);
  }

  #fail(error: unknown): void {
    this.#closing.abort(error);
    this.#waiters.rejectAll(error);
  }

  /** Stops listening. Connections that were accepted stay open; the others are closed. Closing again does nothing. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#fail(new Deno.errors.BadResource("Cannot accept: the listener is closed"));
    this.#listener.close();
    for (const { conn } of this.#ready.splice(0)) conn[Symbol.dispose]();
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
  const limits = ["maxPending", "maxHandshakes", "maxPerPeer"] as const;
  const names = [...RC_OPTIONS, "hostname", "tcpPort", ...limits] as const;
  const given = readObject(options, "options", names);
  const { hostname = "127.0.0.1", tcpPort = 0 } = given;
  const { maxPending = 64, maxHandshakes = 256, maxPerPeer = 32 } = given;
  const settings = checkRcOptions(given);
  text(hostname, "hostname");
  integer(tcpPort, "tcpPort", 0, 65535);
  integer(maxPending, "maxPending", 1, 2 ** 20);
  integer(maxHandshakes, "maxHandshakes", 1, 2 ** 20);
  integer(maxPerPeer, "maxPerPeer", 1, 2 ** 20);
  settings.signal?.throwIfAborted();
  const tcp = Deno.listen({ hostname, port: tcpPort });
  return listen(tcp, settings, { maxPending, maxHandshakes, maxPerPeer });
}
