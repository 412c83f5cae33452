import { reasonOf, textOf } from "../../internal/texts.ts";
import { type AbortOptions, closeOnAbort, signalOf } from "../../wait/abort.ts";
import { callable, snapshot, text } from "../../internal/checks.ts";
import { timers } from "../../wait/clock.ts";
import { noteClosed, noted } from "../../internal/left_open.ts";
import { made, partsOf } from "../../internal/made.ts";
import type { Complete } from "../../internal/optional.ts";
import { option, readOptions, warn, within } from "../../internal/options.ts";
import { closeAtEnd } from "../../internal/program_end.ts";
import { requireDeno } from "../../internal/runtime.ts";
import { inTurn, mayContinue, nextTurn } from "../../wait/turns.ts";
import { Waiters } from "../../wait/waiters.ts";
import { Attempt, NO_ADDRESS } from "./attempt.ts";
import { type AttemptLimits, Attempts } from "./attempts.ts";
import { BY_ADDRESS } from "./by_address.ts";
import { CmAcceptor } from "./cm_acceptor.ts";
import type { Acceptor, ConnectRequest } from "./acceptor.ts";
import { isUsedUp } from "./limits.ts";
import { RcConn } from "./rc_conn.ts";
import { RC_RULES, type RcOptions, type RcSettings } from "./rc_options.ts";
import { TcpAcceptor } from "./tcp_acceptor.ts";

/**
 * The options of `listenRc`.
 *
 * @category Connections
 */
export interface RcListenOptions extends RcOptions {
  /**
   * The host address to listen on. The default is "127.0.0.1", this host only. With `port` it is all addresses of RDMA
   * devices, and loopback addresses are refused: the system treats them as all addresses.
   */
  readonly hostname?: string | undefined;
  /**
   * The port to listen on by the RDMA communication manager, in place of TCP; 0 is any free one. The address that a peer
   * names chooses the device, so that `device`, `portNum`, `gidIndex`, `pkeyIndex` and `peerGid` are not permitted. It needs
   * librdmacm.
   */
  readonly port?: number | undefined;
  /** The TCP port to listen on. The default is 0: any free one, see `RcListener.addr`. */
  readonly tcpPort?: number | undefined;
  /**
   * The number of connections that may be in the making or wait for `RcListener.accept`, at least 1. The
   * default is 64. Further ones are refused. Each one has queues and memory of the device.
   */
  readonly maxPending?: number | undefined;
  /**
   * The number of peers that may be connected over TCP without having sent their address, at least 1. The default is
   * 256. The next one takes the place of the one that has been silent longest. A silent peer costs a socket and nothing
   * of the device.
   */
  readonly maxHandshakes?: number | undefined;
  /**
   * The same limits for the peers of one IP address (of one network of 64 bits with IPv6), at least 1. The default is
   * 32: up to 32 silent ones, and up to 32 connections in the making or waiting.
   */
  readonly maxPerPeer?: number | undefined;
  /**
   * It is called once for each series of attempts that fail: an attempt has failed, and the listener goes on. A series
   * ends when a connection is made. If something is used up, such as queue pairs, file descriptors or memory that may
   * be locked, the error names it, and how many connections there are. The default writes a warning to the console.
   * `RcListener.stats` counts all of them.
   */
  readonly onFailure?: ((error: Error) => void) | undefined;
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
  /** Attempts that failed, for instance because the peer sent something other than an address. */
  readonly failed: number;
  /** Attempts that were refused or ended to make room for others: see `maxPending`, `maxHandshakes` and `maxPerPeer`. */
  readonly refused: number;
  /** The error of the last attempt that failed. */
  readonly lastError: unknown;
}

/** What a listener is made from. */
interface Listening {
  readonly acceptor: Acceptor;
  readonly settings: RcSettings & Pick<Complete<RcListenOptions>, "onFailure"> & AttemptLimits;
}

/**
 * Accepts connections. `listenRc` makes it. Attempts that fail are counted, and reported to
 * `RcListenOptions.onFailure`. They do not affect other connections.
 *
 * The connections share one device and one protection domain, which are open while there is a connection. Nothing of the
 * device is used for a peer before its address was read and checked.
 *
 * A listener keeps the program alive only while it waits for a connection, and not after `RcListener.unref`.
 *
 * @category Connections
 */
export class RcListener implements Disposable, AsyncDisposable, AsyncIterable<RcConn> {
  readonly #acceptor: Acceptor;
  readonly #settings: RcSettings;
  readonly #limits: Attempts<Attempt>;
  /** Objects of the device are made for one peer after the other: this is the last one. */
  #making: Promise<unknown> = Promise.resolve();
  readonly #closing: AbortController = new AbortController();
  readonly #closed: () => void = closeAtEnd(this);
  /** Attempts in progress. */
  readonly #attempts: Set<Promise<void>> = new Set();
  /** Connections that wait to be accepted. */
  readonly #ready: Map<RcConn, Attempt> = new Map();
  /** The closing of connections that nobody accepts. */
  readonly #ends: Promise<void>[] = [];
  readonly #waiters: Waiters<object, RcConn> = new Waiters();
  readonly #accepting: Promise<void>;
  /** Whether waits for a connection keep the program alive. */
  #isHeld = true;
  /** Whether an attempt has failed since the last connection. */
  #isFailing = false;
  readonly #addr: { readonly hostname: string; readonly port: number };
  readonly #onFailure: (error: Error) => void;
  readonly #stats = { connected: 0, failed: 0, refused: 0, lastError: undefined as unknown };

  /** @ignore Made by `listenRc`. */
  constructor(listening: "listenRc() listens") {
    const { acceptor, settings } = partsOf<Listening>(
      listening,
      "RcListener",
      "listenRc() listens",
    );
    this.#acceptor = acceptor;
    this.#settings = settings;
    this.#onFailure = settings.onFailure;
    this.#addr = acceptor.addr;
    this.#limits = new Attempts(settings);
    this.#accepting = this.#acceptAll().catch((error) => this.#close(error));
    closeOnAbort(this, settings.signal, this.#closing.signal);
    acceptor.unref();
  }

  /** The address that it listens on, or has listened on if it is closed. */
  get addr(): { readonly hostname: string; readonly port: number } {
    return this.#addr;
  }

  /** Counters since the listener was made; the last ones if it is closed. */
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
    const accepted = noted(inTurn(() => this.#accept(signalOf(options))));
    // A program that fails closes the listener and waits no more: the end of this wait must not hide the reason.
    accepted.catch(() => {});
    return accepted;
  }

  async #accept(signal: AbortSignal | undefined): Promise<RcConn> {
    signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const ready = this.#waiters.size === 0 ? this.#ready.entries().next().value : undefined;
    if (ready === undefined) return await this.#wait(signal);
    const [conn, attempt] = ready;
    this.#ready.delete(conn);
    this.#limits.delete(attempt);
    return conn;
  }

  async #wait(signal: AbortSignal | undefined): Promise<RcConn> {
    const accepted = this.#waiters.wait({}, signal);
    this.#look();
    try {
      return await accepted;
    } finally {
      this.#look();
    }
  }

  /** The program stays alive for peers while a call waits for them. */
  #look(): void {
    if (this.#closing.signal.aborted) return;
    if (this.#isHeld && this.#waiters.size > 0) this.#acceptor.ref();
    else this.#acceptor.unref();
  }

  /**
   * Lets `RcListener.accept` and the loop over the listener keep the program alive while they wait, as before
   * `RcListener.unref`.
   */
  ref(): void {
    this.#hold(true);
  }

  /**
   * Lets the program end although `RcListener.accept` waits, as `unref()` of Deno's listeners does. Connections
   * that were accepted keep it alive as ever.
   */
  unref(): void {
    this.#hold(false);
  }

  #hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#look();
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
      if (!mayContinue()) await nextTurn();
      const request = await this.#acceptRequest();
      if (request === undefined) continue;
      const attempt = new Attempt(this.#settings, NO_ADDRESS, this.#closing.signal);
      await this.#makeRoom(attempt, request.hostname);
      const ended = this.#attempt(request, attempt).finally(() => this.#attempts.delete(ended));
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
    attempt.refuse(new Deno.errors.ConnectionRefused("Cannot connect: too many others do"));
  }

  #fail(error: unknown): void {
    this.#stats.failed++;
    this.#stats.lastError = error;
    if (this.#isFailing || this.#closing.signal.aborted) return;
    this.#isFailing = true;
    const failure = this.#failure(error);
    // In a task of its own, so that it may close the listener, and its errors are not ours.
    timers.queueMicrotask(() => this.#onFailure(failure));
  }

  #failure(cause: unknown): Error {
    const { hostname, port } = this.#addr;
    const { connections } = this.#acceptor;
    const message = `An RcListener at ${hostname} port ${port} has failed to connect to a peer, ` +
      `and works on: ${reasonOf(cause, "connect")}`;
    const room = `. It has ${connections} connections, and accepts others when there is room`;
    return new Error(isUsedUp(cause) ? message + room : message, { cause });
  }

  /** A peer that is gone before it is accepted is no reason to stop. */
  async #acceptRequest(): Promise<ConnectRequest | undefined> {
    try {
      return await this.#acceptor.accept();
    } catch (error) {
      if (this.#closing.signal.aborted || error instanceof Deno.errors.BadResource) throw error;
      this.#fail(error);
      // Too many open files: only others can close some.
      await new Promise<void>((resolve) => timers.setTimeout(resolve, 10));
      return undefined;
    }
  }

  async #attempt(request: ConnectRequest, attempt: Attempt): Promise<void> {
    using _ended = attempt;
    using _closing = request;
    closeOnAbort(request, attempt.signal);
    try {
      this.#add(await attempt.do(() => this.#connect(request, attempt)), attempt);
    } catch (error) {
      this.#limits.delete(attempt);
      if (!attempt.isRefused) this.#fail(error);
    }
  }

  async #connect(request: ConnectRequest, attempt: Attempt): Promise<RcConn> {
    const { signal } = attempt;
    await request.read(signal);
    attempt.step = ": the ends of other peers were made first";
    if (!this.#limits.advance(attempt)) this.#refuse(attempt);
    signal.throwIfAborted();
    const making = this.#making.then(() => nextTurn()).then(() => {
      signal.throwIfAborted();
      return request.makeEnd();
    });
    this.#making = making.catch(() => {});
    await using end = await making;
    return new RcConn(made(await request.connect(end, attempt)));
  }

  #add(conn: RcConn, attempt: Attempt): void {
    this.#stats.connected++;
    this.#isFailing = false;
    const waiter = this.#waiters.first;
    if (waiter === undefined && !this.#closing.signal.aborted) {
      this.#ready.set(conn, attempt);
      return;
    }
    this.#limits.delete(attempt);
    if (waiter === undefined) this.#end(conn);
    else this.#waiters.resolve(waiter, conn);
  }

  #end(conn: RcConn): void {
    const ended = conn.close({ signal: AbortSignal.abort() });
    // A wait for the end of the listener gets the error.
    ended.catch(() => {});
    this.#ends.push(ended);
  }

  /** Stops listening. Connections that were accepted stay open; the others are closed. Closing again does nothing. */
  close(): void {
    this.#close(new Deno.errors.BadResource("Cannot accept: the listener is closed"));
  }

  #close(reason: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#closed();
    this.#closing.abort(reason);
    this.#waiters.rejectAll(reason);
    // The loop that accepts must still end.
    this.#acceptor.ref();
    this.#acceptor.close();
    for (const conn of this.#ready.keys()) this.#end(conn);
    this.#ready.clear();
    noteClosed(this);
  }

  /** Stops listening, as `RcListener.close` does. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Stops listening, and waits until the attempts in progress have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await inTurn(async () => {
      this.close();
      await this.#accepting;
      await Promise.all(this.#attempts);
      await Promise.all(this.#ends);
    });
  }

  /** The address that it listens on, on one line. */
  toString(): string {
    if (this.#closing.signal.aborted) return "RcListener { closed }";
    return textOf("RcListener", this.addr);
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

/**
 * Listens for connections. With `port` peers find this host by address, and addresses are exchanged by the RDMA
 * communication manager; without it over TCP, one line of JSON each way. Everything else goes over RDMA.
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
 *   using listener = await listenRc({ port: 7471 });
 *   for await (const conn of listener) echo(conn).catch(console.error);
 * }
 * ```
 *
 * @throws {TypeError} If an option has the wrong type, is unknown, or does not fit another one.
 * @throws {RangeError} If a number is out of range.
 * @throws {Deno.errors.AddrInUse} If another program uses `port` or `tcpPort`.
 * @throws {Deno.errors.AddrNotAvailable} If `hostname` is a loopback address, and `port` is given.
 * @throws {VerbsError} If no RDMA device has the address, or another program uses `port` at all addresses and `hostname`
 * names one (EADDRNOTAVAIL).
 * @throws {CmError} If the host name has no address.
 * @throws The reason of the signal, if it has aborted.
 * @category Connections
 */
export async function listenRc(options: RcListenOptions = {}): Promise<RcListener> {
  return await noted(inTurn(async () => {
    requireDeno();
    const given = snapshot<RcListenOptions>(options, "options", Object.keys(RULES) as never);
    const { port } = given;
    const settings = readOptions(given, port === undefined ? RULES : { ...RULES, ...BY_ADDRESS });
    const { hostname, tcpPort = 0, signal } = settings;
    if (port !== undefined && settings.tcpPort !== undefined) {
      throw new TypeError("Cannot listen: only one of port and tcpPort is possible");
    }
    signal?.throwIfAborted();
    const acceptor = port === undefined
      ? new TcpAcceptor({ hostname: hostname ?? "127.0.0.1", port: tcpPort }, settings)
      : await CmAcceptor.open(hostname, port, settings);
    return new RcListener(made<Listening>({ acceptor, settings }));
  }));
}

const RULES = {
  // First what decides how the two ends find each other: messages name the first ones.
  hostname: option(text, undefined),
  port: option(within(0, 65535), undefined),
  tcpPort: option(within(0, 65535), undefined),
  ...RC_RULES,
  maxPending: option(within(1, 2 ** 20), 64),
  maxHandshakes: option(within(1, 2 ** 20), 256),
  maxPerPeer: option(within(1, 2 ** 20), 32),
  onFailure: option(callable<(error: Error) => void>, warn),
};
