/**
 * Waiting for connections.
 *
 * @module
 */

import { integer, readObject, readSignal, text, type WaitOptions } from "../shared/checks.ts";
import { closeOnAbort } from "../shared/close_on_abort.ts";
import { Waiters } from "../shared/waiters.ts";
import { abortable, handshakeDeadline } from "./connect_rc.ts";
import { closeTcpOnAbort, readLine, writeAddress } from "./exchange.ts";
import { readRcAddress } from "./rc_address.ts";
import { prepare, type RcConn } from "./rc_conn.ts";
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
   * default is 64. Further ones are refused.
   */
  readonly maxPending?: number;
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
  /** Attempts that were refused because `maxPending` others were pending. */
  readonly refused: number;
  /** The error of the last attempt that failed. */
  readonly lastError: unknown;
}

let listen: (listener: Deno.Listener, settings: RcSettings, maxPending: number) => RcListener;

/**
 * Accepts connections. {@linkcode listenRc} makes it. Attempts that fail are counted. They do not affect other
 * connections.
 *
 * @category Connections
 */
export class RcListener implements Disposable, AsyncDisposable, AsyncIterable<RcConn> {
  readonly #listener: Deno.Listener;
  readonly #settings: RcSettings;
  readonly #maxPending: number;
  readonly #closing: AbortController = new AbortController();
  /** Attempts under way. */
  readonly #attempts: Set<Promise<void>> = new Set();
  readonly #ready: RcConn[] = [];
  readonly #waiters: Waiters<object, RcConn> = new Waiters();
  readonly #accepting: Promise<void>;
  #connected = 0;
  #failed = 0;
  #refused = 0;
  #lastError: unknown;

  static {
    listen = (tcp, settings, maxPending) => {
      const listener = new RcListener(tcp, settings, maxPending);
      closeOnAbort(listener, settings.signal, listener.#closing.signal);
      return listener;
    };
  }

  /** @ignore */
  private constructor(listener: Deno.Listener, settings: RcSettings, maxPending: number) {
    this.#listener = listener;
    this.#settings = settings;
    this.#maxPending = maxPending;
    this.#accepting = this.#acceptAll().catch((error) => this.#fail(error));
  }

  /** The TCP address that it listens on. */
  get addr(): Deno.NetAddr {
    return this.#listener.addr as Deno.NetAddr;
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
    return ready ?? await this.#waiters.wait({}, signal);
  }

  /** Connections as they come, until the listener is closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RcConn, void, void> {
    while (!this.#closing.signal.aborted) {
      try {
        yield await this.accept();
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        throw error;
      }
    }
  }

  async #acceptAll(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const conn = await this.#acceptTcp();
      if (conn === undefined) continue;
      if (this.#attempts.size + this.#ready.length >= this.#maxPending) {
        this.#refused++;
        conn.close();
        continue;
      }
      const attempt = this.#attempt(conn).finally(() => this.#attempts.delete(attempt));
      this.#attempts.add(attempt);
    }
  }

  /** A partner that is gone before it is accepted is no reason to stop. */
  async #acceptTcp(): Promise<Deno.Conn | undefined> {
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

  async #attempt(tcp: Deno.Conn): Promise<void> {
    using deadline = handshakeDeadline(this.#settings, [this.#closing.signal]);
    const { signal } = deadline;
    using _closing = closeTcpOnAbort(tcp, signal);
    try {
      this.#add(await abortable(signal, () => this.#connect(tcp, signal)));
    } catch (error) {
      this.#failed++;
      this.#lastError = error;
    }
  }

  /** The device is not opened before the partner has sent an address. */
  async #connect(tcp: Deno.Conn, signal: AbortSignal): Promise<RcConn> {
    const peer = readRcAddress(await readLine(tcp, signal));
    await using preparation = prepare(this.#settings);
    const { address } = preparation;
    return await preparation.connect(peer, signal, () => writeAddress(tcp, address, signal));
  }

  #add(conn: RcConn): void {
    this.#connected++;
    const waiter = this.#waiters.first;
    if (this.#closing.signal.aborted) conn[Symbol.dispose]();
    else if (waiter === undefined) this.#ready.push(conn);
    else this.#waiters.resolve(waiter, conn);
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
    for (const conn of this.#ready.splice(0)) conn[Symbol.dispose]();
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
  const names = [...RC_OPTIONS, "hostname", "tcpPort", "maxPending"] as const;
  const given = readObject(options, "options", names);
  const { hostname = "127.0.0.1", tcpPort = 0, maxPending = 64 } = given;
  const settings = checkRcOptions(given);
  text(hostname, "hostname");
  integer(tcpPort, "tcpPort", 0, 65535);
  integer(maxPending, "maxPending", 1, 2 ** 20);
  settings.signal?.throwIfAborted();
  return listen(Deno.listen({ hostname, port: tcpPort }), settings, maxPending);
}
