import { readReceive, type ReceiveOptions } from "../shared/receive_options.ts";
import { textOf } from "../../internal/texts.ts";
import { toCaller } from "../../internal/caller.ts";
import { type AbortOptions, checkSignal, signalOf } from "../../wait/abort.ts";
import {
  assertAttached,
  byteArray,
  integer,
  snapshot,
  uint32,
  uint64,
} from "../../internal/checks.ts";
import { noteClosed } from "../../internal/left_open.ts";
import { asPromise, inTurn, mayContinue, nextTurn } from "../../wait/turns.ts";
import { partsOf } from "../../internal/made.ts";
import { type RemoteMemory, type SendRequest, WrOpcode } from "../../mod.ts";
import type { Incoming } from "../../wait/incoming.ts";
import type { BorrowedMessage } from "../shared/borrowed.ts";
import type { RcClosed, RcStats } from "./link.ts";
import type { RcAddress } from "./rc_address.ts";
import { closedError, type RcEnd } from "./rc_end.ts";
import type { Taken, Target } from "./receiver.ts";
import {
  ATOMIC_SIZE,
  atomicPartOf,
  type ExposedMemory,
  partOf,
  placeIn,
  type RemotePart,
} from "./remote_memory.ts";

/**
 * Options of `RcConn.write`.
 *
 * @category Memory of the peer
 */
export interface RcWriteOptions extends AbortOptions {
  /** Notifies the peer when the bytes have arrived: `RcConn.writes` of the peer yields this number, 32 bits. */
  readonly immData?: number | undefined;
}

/**
 * A reliable connection (RC) with messages, streams and remote memory. `connectRc` and `listenRc`
 * make it.
 *
 * **Messages.** `RcConn.send` waits while the peer has no receive for the message, so
 * a slow peer slows the sender down. Messages arrive in order, each once. A message that
 * `RcConn.flush` has waited for is in the memory of the peer.
 *
 * **The end of the program.** A connection keeps the program alive only while a call waits, or the peer has not yet
 * acknowledged what was sent, as Deno's sockets do. If a program ends without `RcConn.close`, the connection is broken for the peer.
 *
 * **Errors.** If the peer is gone, or breaks the protocol, the connection is broken: messages that were received can
 * still be read, and everything else rejects. Each call rejects with a TypeError if an argument has the wrong type, with
 * `Deno.errors.ConnectionReset` if the connection is broken, with `Deno.errors.BadResource` if this end is closed, and
 * with the reason of its signal if that aborts.
 *
 * @example Messages
 * ```ts
 * import { connectRc } from "@rdma/ibverbs/net";
 *
 * async function greet(): Promise<void> {
 *   await using conn = await connectRc({ hostname: "10.0.0.2", tcpPort: 18515 });
 *   await conn.send(new TextEncoder().encode("hello"));
 *   const reply = await conn.receive(); // null if the peer has closed the connection
 *   console.log(reply && new TextDecoder().decode(reply));
 * }
 * ```
 *
 * @example Memory of the peer
 * ```ts
 * import type { RcConn, RemoteMemory } from "@rdma/ibverbs/net";
 *
 * async function share(conn: RcConn): Promise<void> {
 *   const memory = await conn.expose(4096);
 *   await conn.send(new TextEncoder().encode(JSON.stringify(memory.remote)));
 * }
 *
 * async function count(conn: RcConn): Promise<bigint> {
 *   const message = new TextDecoder().decode((await conn.receive())!);
 *   const memory: RemoteMemory = JSON.parse(message);
 *   return await conn.fetchAndAdd(memory, 0, 1n);
 * }
 * ```
 *
 * @example Writes that notify the peer
 * ```ts
 * import type { RcConn, RemoteMemory } from "@rdma/ibverbs/net";
 *
 * async function put(conn: RcConn, memory: RemoteMemory, parts: Uint8Array[]): Promise<void> {
 *   for (const [i, part] of parts.entries()) await conn.write(memory, i * 4096, part, { immData: i });
 * }
 *
 * async function watch(conn: RcConn): Promise<void> {
 *   for await (const i of conn.writes()) console.log(`part ${i} is there`);
 * }
 * ```
 *
 * @category Connections
 */
export class RcConn implements Disposable, AsyncDisposable, AsyncIterable<Uint8Array<ArrayBuffer>> {
  /** The address of the peer. */
  readonly peer: RcAddress;
  /**
   * The IP address and the port of the peer, by which the two ends have found each other: of the connection manager, or of
   * the exchange of addresses over TCP. It is `undefined` if the program has exchanged the addresses itself. An address that
   * reaches one link only may have the number of the network interface behind it: `"fe80::1%3"`.
   */
  readonly remoteAddr: { readonly hostname: string; readonly port: number } | undefined;
  /** The IP address and the port of this end, as those of the peer. */
  readonly localAddr: { readonly hostname: string; readonly port: number } | undefined;
  readonly #end: RcEnd;
  #closing: Promise<void> | undefined;
  #isClosed = false;
  #readable: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #writable: WritableStream<Uint8Array> | undefined;

  /** @ignore Made by `connectRc` and `RcListener.accept`. */
  constructor(connected: "connectRc() and RcListener.accept() connect") {
    const end = partsOf<RcEnd>(connected, "RcConn", "connectRc() and RcListener.accept() connect");
    const { ends } = end;
    this.peer = end.peer;
    this.remoteAddr = ends && { hostname: ends.remote, port: ends.remotePort };
    this.localAddr = ends && { hostname: ends.local, port: ends.localPort };
    this.#end = end;
  }

  /** The longest message in bytes, which both ends can handle. */
  get maxMessage(): number {
    return Math.min(this.#end.settings.maxMessage, this.peer.maxMessage);
  }

  /**
   * Resolves when it is known that the connection is over, to the way it ended; it never rejects. It does not keep the
   * program alive. While no call waits, it takes up to half a second to notice that the peer has closed the connection;
   * the option `keepAlive` decides how soon a peer that is gone is noticed. What was received before can still be read.
   * The end of the messages in both directions is not the end of the connection: one end closes it.
   *
   * @example Say why
   * ```ts
   * import type { RcConn } from "@rdma/ibverbs/net";
   *
   * async function watch(conn: RcConn): Promise<void> {
   *   const { reason, error } = await conn.closed;
   *   console.log(reason, error?.message ?? "");
   * }
   * ```
   */
  get closed(): Promise<RcClosed> {
    return this.#end.link.closed;
  }

  /** Counters since the connection was made; the last ones if it is closed. */
  get stats(): RcStats {
    return this.#end.link.stats;
  }

  /**
   * Waits for the next message.
   *
   * @param given The buffer that the message is written to, or options. A new buffer is made if there is none.
   * @returns The message; `null` if the peer sends no more. @throws {RangeError} If the message is longer than the
   * buffer. The next call gets it.
   * @throws {Deno.errors.InvalidData} If the peer broke the protocol.
   * @throws {Deno.errors.BadResource} If this end is closed, and all that was received is read.
   */
  receive(
    given?: Uint8Array<ArrayBuffer> | ReceiveOptions,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    return asPromise(() => {
      const { buffer, signal } = readReceive(given, arguments[1]);
      return this.#take<Uint8Array<ArrayBuffer>>({ how: "copy", buffer }, signal);
    });
  }

  /**
   * Waits for the next message, and takes those that have come after it too. It makes no buffers and waits once for all of
   * them.
   *
   * @param p The buffer that the messages are written to, one after another. What does not fit is for the next call.
   * @param options The signal that ends the wait.
   * @returns The messages, which are parts of `p`: at least one. `null` if the peer sends none any more.
   * @throws As `RcConn.receive`; {RangeError} if the first message is longer than `p`.
   */
  receiveMany(
    p: Uint8Array<ArrayBuffer>,
    options?: AbortOptions,
  ): Promise<Uint8Array<ArrayBuffer>[] | null> {
    return asPromise(() => {
      const signal = signalOf(options);
      const buffer = byteArray(p, "p");
      return this.#take<Uint8Array<ArrayBuffer>[]>({ how: "copy many", buffer }, signal);
    });
  }

  /**
   * Waits for the next message, and lends it where the device has written it, without a copy. Give it back with `using`: until
   * then it holds a receive, so that the peer may send one message less before it waits.
   *
   * @param options The signal that ends the wait.
   * @returns The message; `null` if the peer sends none any more.
   * @throws As `RcConn.receive`.
   */
  borrow(options?: AbortOptions): Promise<BorrowedMessage | null> {
    return asPromise(() => this.#take<BorrowedMessage>({ how: "lend" }, signalOf(options)));
  }

  #take<T extends Taken>(target: Target, signal: AbortSignal | undefined): Promise<T | null> {
    return this.#next(this.#end.link.receiver.messages, target, signal) as Promise<T | null>;
  }

  /** What was received before this end was closed can still be taken. */
  #next<W extends object, T>(
    incoming: Incoming<W, T>,
    waiter: W,
    signal: AbortSignal | undefined,
  ): Promise<T | null> {
    if (incoming.unread === 0) this.#assertOpen();
    return incoming.receive(waiter, signal);
  }

  /**
   * Lets `RcConn.receive`, `RcConn.writes`, `RcConn.readable` and the loop over the connection keep the program alive
   * while they wait, as before `RcConn.unref`.
   */
  ref(): void {
    this.#end.link.hold(true);
  }

  /**
   * Lets the program end although it waits for something of the peer, as `unref()` of Deno's sockets does. It is for a
   * reader in the background. Calls that send, and data that the peer has not acknowledged, still keep the program
   * alive. While nothing else does, messages are read within 16 ms.
   */
  unref(): void {
    this.#end.link.hold(false);
  }

  /**
   * Sends a message. It waits while the peer has no receive for it, and while `sendDepth` requests are in progress. It
   * resolves when the message is copied: `RcConn.flush` waits until it has arrived. The message must not change
   * before.
   *
   * @param p The message, at most `RcConn.maxMessage` bytes.
   * @returns The number of bytes.
   * @throws {RangeError} If the message is too long.
   * @throws {Deno.errors.ConnectionReset} If the connection is broken, or the peer has closed it.
   * @throws {Deno.errors.BadResource} If this end is closed, or `RcConn.writable` is.
   */
  async send(p: Uint8Array, options?: AbortOptions): Promise<number> {
    try {
      const { length } = byteArray(p, "message");
      const signal = signalOf(options);
      if (length > this.maxMessage) {
        throw new RangeError(
          `Cannot send: the message has ${length} bytes, and maxMessage is ${this.maxMessage}`,
        );
      }
      this.#assertOpen();
      const waiting = this.#end.link.sender.send(p, signal);
      if (waiting !== undefined) await waiting;
      return length;
    } catch (error) {
      throw toCaller(error, this.send);
    } finally {
      if (!mayContinue()) await nextTurn();
    }
  }

  /**
   * Waits until everything that was sent has arrived in the memory of the peer.
   */
  async flush(options?: AbortOptions): Promise<void> {
    return await inTurn(async () => {
      const signal = signalOf(options);
      this.#assertOpen();
      await this.#end.link.sender.flush(signal);
    });
  }

  /**
   * The messages of the peer as a stream of bytes. The boundaries of messages have no meaning. Reading slowly slows the
   * peer down.
   */
  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#readable ??= new ReadableStream({
      pull: async (controller) => {
        const message = await this.receive();
        if (message === null) controller.close();
        else controller.enqueue(message);
      },
    }, { highWaterMark: 0 });
  }

  /**
   * A stream of bytes to the peer. It sends messages of at most `RcConn.maxMessage` bytes, and waits while the
   * peer has no receives. Closing it ends `RcConn.readable` of the peer; this end can still receive. Aborting it
   * closes the connection at once.
   */
  get writable(): WritableStream<Uint8Array> {
    return this.#writable ??= new WritableStream({
      write: async (chunk) => {
        const { length } = byteArray(chunk, "chunk");
        for (let start = 0; start < length; start += this.maxMessage) {
          await this.send(chunk.subarray(start, start + this.maxMessage));
        }
      },
      close: async () => {
        this.#assertOpen();
        const { sender } = this.#end.link;
        await sender.end(undefined);
        await sender.flush(undefined);
      },
      abort: () => this[Symbol.dispose](),
    });
  }

  /**
   * Shares memory with the peer: it may write, read and do atomics there with `ExposedMemory.remote`. The memory is
   * shared until it or the connection is closed.
   *
   * @param source A length in bytes, or a buffer.
   * @throws {RangeError} If there is no byte to share.
   * @throws {VerbsError} If the device refuses. ENOMEM mostly means that the limit on locked memory is reached.
   */
  async expose(
    source: number | ArrayBufferLike | ArrayBufferView,
    options?: AbortOptions,
  ): Promise<ExposedMemory> {
    return await inTurn(async () => {
      const signal = signalOf(options);
      this.#assertOpen();
      return await this.#end.expose(source, signal).finally(() => this.#assertOpen());
    });
  }

  /**
   * Writes to memory of the peer. It resolves when the bytes have arrived. The peer does not notice it, unless `immData` is
   * given: then `RcConn.writes` of the peer yields this number when all bytes have arrived. Such a write needs a
   * receive of the peer, as a message does: it waits while the peer takes neither messages nor writes. If it is longer
   * than `maxMessage` of this end, some of its bytes may arrive while it waits. It may have no bytes.
   *
   * @param offset Where to write, in bytes from the start of the memory.
   * @param data The bytes. They must not change before the promise resolves.
   * @throws {RangeError} If a number is out of range, or the bytes do not fit.
   * @throws {WorkCompletionError} If the peer does not allow it. The connection is broken then.
   * @throws {Deno.errors.BadResource} If `immData` is given, and `RcConn.writable` is closed.
   * @throws The reason of the signal, if it aborts. A write that has begun goes on.
   */
  async write(
    memory: RemoteMemory,
    offset: number,
    data: Uint8Array,
    options: RcWriteOptions = {},
  ): Promise<void> {
    return await inTurn(async () => {
      const place = placeIn(memory, offset);
      byteArray(data, "data");
      const { signal, immData } = snapshot(options, "options", ["signal", "immData"]);
      checkSignal(signal);
      if (immData !== undefined) uint32(immData, "immData");
      const part = partOf(place, data.length);
      this.#assertOpen();
      if (immData !== undefined) this.#end.link.sender.assertSending("credit");
      await this.#move(WrOpcode.RDMA_WRITE, part, data, signal, immData);
    });
  }

  /**
   * The numbers (`immData`) of the writes of the peer that have one, in order, as they arrive. Their bytes have arrived,
   * too. It ends when the peer sends nothing more, or this end is closed and those that have arrived are read.
   *
   * A write that was not taken holds a receive, as a message does: if nobody takes the writes, the peer waits after
   * `credits` of them. Messages and writes have no common order.
   *
   * @throws {TypeError} If the options are wrong.
   */
  writes(options?: AbortOptions): AsyncGenerator<number, void, void> {
    const signal = signalOf(options);
    const { writes } = this.#end.link.receiver;
    return this.#each(() => inTurn(() => this.#next(writes, {}, signal)));
  }

  /**
   * Reads memory of the peer, which does not notice it.
   *
   * @param offset Where to read, in bytes from the start of the memory.
   * @param length The number of bytes, or the buffer that they are written to.
   * @returns The bytes.
   * @throws As `RcConn.write`.
   */
  async read(
    memory: RemoteMemory,
    offset: number,
    length: number | Uint8Array<ArrayBuffer>,
    options?: AbortOptions,
  ): Promise<Uint8Array<ArrayBuffer>> {
    return await inTurn(async () => {
      const place = placeIn(memory, offset);
      if (typeof length === "number") integer(length, "length", 0, 2 ** 32);
      else byteArray(length, "buffer");
      const signal = signalOf(options);
      const size = typeof length === "number" ? length : length.length;
      const part = partOf(place, size);
      this.#assertOpen();
      const buffer = typeof length === "number" ? new Uint8Array(size) : length;
      await this.#move(WrOpcode.RDMA_READ, part, buffer, signal);
      return buffer;
    });
  }

  /**
   * Adds to 8 bytes of the peer's memory in one step that no other atomic interrupts. The bytes are a number in the byte
   * order of the peer.
   *
   * @param offset Where the 8 bytes are, in bytes from the start of the memory. The address must be a multiple of 8.
   * @param add The number to add, 64 bits. The sum is taken modulo 2^64.
   * @returns The number before.
   * @throws As `RcConn.write`.
   */
  async fetchAndAdd(
    memory: RemoteMemory,
    offset: number,
    add: number | bigint,
    options?: AbortOptions,
  ): Promise<bigint> {
    return await inTurn(async () => {
      const opcode = WrOpcode.ATOMIC_FETCH_AND_ADD;
      const part = atomicPartOf(memory, offset);
      const compareAdd = uint64(add, "add");
      return await this.#atomic({ opcode, compareAdd, ...part }, options);
    });
  }

  /**
   * Replaces 8 bytes of the peer's memory if they have a value, in one step that no other atomic interrupts. The bytes are
   * a number in the byte order of the peer.
   *
   * @param offset Where the 8 bytes are, in bytes from the start of the memory. The address must be a multiple of 8.
   * @param compare The expected number, 64 bits.
   * @param swap The new number, 64 bits.
   * @returns The number before. It was replaced if it equals `compare`.
   * @throws As `RcConn.write`.
   */
  async compareAndSwap(
    memory: RemoteMemory,
    offset: number,
    compare: number | bigint,
    swap: number | bigint,
    options?: AbortOptions,
  ): Promise<bigint> {
    return await inTurn(async () => {
      const opcode = WrOpcode.ATOMIC_CMP_AND_SWP;
      const part = atomicPartOf(memory, offset);
      const operands = { compareAdd: uint64(compare, "compare"), swap: uint64(swap, "swap") };
      return await this.#atomic({ opcode, ...operands, ...part }, options);
    });
  }

  async #atomic(request: SendRequest, options: AbortOptions | undefined): Promise<bigint> {
    const signal = signalOf(options);
    this.#assertOpen();
    return await this.#end.link.sender.operate(request, ATOMIC_SIZE, undefined, numberOf, signal);
  }

  /** Writes bytes to a part that has as many, or reads them from there, in pieces that fit slots. */
  async #move(
    opcode: typeof WrOpcode["RDMA_WRITE" | "RDMA_READ"],
    { remoteAddr, rkey }: RemotePart,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
    immData?: number,
  ): Promise<void> {
    assertAttached(bytes, opcode === WrOpcode.RDMA_WRITE ? "data" : "buffer");
    const { link: { sender }, settings: { maxMessage } } = this.#end;
    const count = Math.max(Math.ceil(bytes.length / maxMessage), immData === undefined ? 0 : 1);
    const move = (i: number): Promise<void> => {
      const start = i * maxMessage;
      const piece = bytes.subarray(start, start + maxMessage);
      const part = { remoteAddr: remoteAddr + BigInt(start), rkey };
      // Requests take effect in order: the last one stands for all.
      const request = immData === undefined || i < count - 1
        ? { opcode, ...part }
        : { opcode: WrOpcode.RDMA_WRITE_WITH_IMM, ...part, immData };
      const { length } = piece;
      if (opcode === WrOpcode.RDMA_WRITE) {
        return sender.operate(request, length, piece, () => {}, signal);
      }
      const finish = (found: Uint8Array): void => piece.set(found.subarray(0, length));
      return sender.operate(request, length, undefined, finish, signal);
    };
    const moves: Promise<void>[] = [];
    for (let i = 0; i < count; i++) {
      const moved = move(i);
      // It may fail while the others are being posted.
      moved.catch(() => {});
      moves.push(moved);
      if (!mayContinue()) await nextTurn();
    }
    await Promise.all(moves);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closedError();
  }

  /**
   * Messages as they come, until the peer sends none any more, or this end is closed: what it could not answer any more is left
   * to `RcConn.receive`. Only what comes to a loop that waits, just as it is closed, is dropped.
   *
   * @throws {Deno.errors.ConnectionReset} If the connection breaks, also because the program of the peer has ended without
   * closing it.
   */
  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    return this.#each(async () => {
      // What comes as this end is closed could not be answered.
      const message = this.#isClosed ? null : await this.receive();
      return this.#isClosed ? null : message;
    });
  }

  async *#each<T>(receive: () => Promise<T | null>): AsyncGenerator<T, void, void> {
    try {
      while (true) {
        const next = await receive();
        if (next === null) return;
        yield next;
      }
    } catch (error) {
      if (!this.#isClosed) throw error;
    }
  }

  /**
   * Closes the connection. What was sent arrives first, and the peer is told: its `receive()` gives the messages that are
   * left, and then `null`. Calls of this end that wait reject. What this end has received can still be read:
   * `RcConn.receive` gives it, and then rejects; iterators end at once. If the connection is broken, or the
   * signal aborts, it is closed at once. Closing again does nothing, unless it has failed.
   *
   * @throws {TypeError} If an option has the wrong type.
   * @throws {VerbsError} If the device refuses. The next call tries again.
   */
  async close(options?: AbortOptions): Promise<void> {
    await inTurn(() => {
      const signal = signalOf(options);
      return this.#closing ??= this.#close(signal).catch((error) => {
        // What could not be closed is tried again by the next call.
        this.#closing = undefined;
        throw error;
      });
    });
  }

  async #close(signal: AbortSignal | undefined): Promise<void> {
    this.#isClosed = true;
    try {
      await this.#end.link.leave(closedError(), signal);
    } catch {
      // The peer is gone, or the caller does not want to wait.
    }
    await this.#end.closePaced();
    noteClosed(this);
  }

  /** Closes the connection at once. What the peer has not acknowledged may be lost. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#end.close();
    noteClosed(this);
  }

  /** Closes the connection, as `RcConn.close` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The peer, on one line. */
  toString(): string {
    if (this.#isClosed) return "RcConn { closed }";
    const { gid, qpNum } = this.peer;
    return textOf("RcConn", { gid, qpNum, maxMessage: this.maxMessage });
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

function numberOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  const isLittleEndian = true; // as both architectures that Deno has
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, isLittleEndian);
}
