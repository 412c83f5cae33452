/**
 * Datagrams over an unreliable datagram queue pair.
 *
 * @module
 */

import {
  AccessFlags,
  type AddressHandle,
  CompletionChannel,
  CompletionQueue,
  Context,
  Gid,
  Grh,
  MemoryRegion,
  mtuBytes,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReplyPath,
} from "../mod.ts";
import { Receiver } from "./receiver.ts";
import { Sender } from "./sender.ts";
import { attrOf, checkUdAddress, type LocalPort, localPort, type UdAddress } from "./ud_address.ts";
import { UdPeer } from "./ud_peer.ts";
import { HandleCache } from "./handle_cache.ts";

/** Options of {@linkcode listenUd}. */
export interface UdOptions {
  /** The name of the device; the first device with an active port if left out. */
  readonly device?: string;
  /** The port, counted from 1; 1 if left out. */
  readonly port?: number;
  /** The qkey, 32 bits: datagrams with another qkey are dropped by the device. */
  readonly qkey: number;
  /** The index of the GID to send from; the recommended one of the port if left out, see {@linkcode UdConn.gidReason}. */
  readonly gidIndex?: number;
  /** The number of receives that are posted at any time; 512 if left out. */
  readonly recvDepth?: number;
  /** The number of sends that may be in progress; 128 if left out. */
  readonly sendDepth?: number;
  /** The number of received datagrams that wait for `receive()`; 4096 if left out. Further ones are dropped and counted. */
  readonly maxQueued?: number;
  /** The number of peers whose address handles are kept; 1024 if left out. */
  readonly maxPeers?: number;
}

/** Options of calls that wait. */
export interface WaitOptions {
  /** Ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Counters of a connection. */
export interface UdStats {
  /** Datagrams received. */
  readonly received: number;
  /** Datagrams posted to be sent. */
  readonly sent: number;
  /** Datagrams that were received and dropped because `maxQueued` of them were waiting. */
  readonly dropped: number;
  /** Receives that failed, for instance because a datagram was too long. */
  readonly recvErrors: number;
  /** Sends that failed after they were posted. */
  readonly sendErrors: number;
}

/** The qkey for multicast is the group's, and its queue pair number is this one. */
const MULTICAST_QPN = 0xff_ffff;

/**
 * A socket for datagrams, in the shape of `Deno.DatagramConn`. {@linkcode listenUd} makes one.
 *
 * Receives are always posted. Datagrams that nobody asks for wait in a bounded queue. A send waits while `sendDepth` sends
 * are in progress.
 */
export class UdConn
  implements Disposable, AsyncDisposable, AsyncIterable<[Uint8Array<ArrayBuffer>, UdAddress]> {
  /** The address that peers send to. */
  readonly addr: UdAddress;
  /** The longest message in bytes: the MTU of the port. */
  readonly maxMessage: number;
  /** The index of the GID that datagrams are sent from. */
  readonly gidIndex: number;
  /** Why this GID was chosen. */
  readonly gidReason: string;
  readonly #context: Context;
  readonly #local: LocalPort;
  readonly #qp: QueuePair;
  readonly #path: ReplyPath;
  readonly #handles: HandleCache;
  readonly #receiver: Receiver;
  readonly #sender: Sender;
  #closed = false;

  /** @ignore Made by {@linkcode listenUd}. */
  constructor(context: Context, options: UdOptions) {
    const { port = 1, qkey, recvDepth = 512, sendDepth = 128, maxQueued = 4096 } = options;
    const { maxPeers = 1024 } = options;
    const { gid, gidIndex, reason } = chooseGid(context, port, options.gidIndex);
    const { activeMtu, lid } = context.queryPort(port);
    const pd = new ProtectionDomain(context);
    const queue = (cqe: number): CompletionQueue =>
      new CompletionQueue(context, { cqe, channel: new CompletionChannel(context) });
    const [sendCq, recvCq] = [queue(sendDepth), queue(recvDepth)];
    const cap = { maxSendWr: sendDepth, maxRecvWr: recvDepth };
    this.#qp = new QueuePair(pd, { type: QpType.UD, sendCq, recvCq, cap });
    this.maxMessage = mtuBytes(activeMtu);
    const memory = (depth: number, size: number): MemoryRegion =>
      new MemoryRegion(pd, depth * size, AccessFlags.LOCAL_WRITE);
    const recvSize = Grh.SIZE + this.maxMessage;
    this.#context = context;
    this.#local = localPort(context, port, gidIndex);
    this.#path = new ReplyPath(pd, { port, maxPeers });
    this.#handles = new HandleCache(pd, maxPeers);
    this.#qp.activateUd({ port, qkey });
    const peer = { path: this.#path, qkey };
    const recvMemory = memory(recvDepth, recvSize);
    this.#receiver = new Receiver(this.#qp, recvCq, recvMemory, recvSize, maxQueued, peer);
    const sendMemory = memory(sendDepth, this.maxMessage);
    this.#sender = new Sender(this.#qp, sendCq, sendMemory, this.maxMessage, () => this.#refresh());
    this.gidIndex = gidIndex;
    this.gidReason = reason;
    this.addr = { transport: "ud", gid: gid.toString(), lid, qpn: this.#qp.qpNum, qkey };
  }

  /** Counters since the connection was made. */
  get stats(): UdStats {
    const { received, dropped, errors } = this.#receiver;
    const { sent, errors: sendErrors } = this.#sender;
    return { received, sent, dropped, recvErrors: errors, sendErrors };
  }

  /**
   * Waits for the next datagram.
   *
   * @param p The buffer that the message is written to; a new one if left out.
   * @returns The message, and the address of its sender, which {@linkcode UdConn.send} answers without a look-up.
   * @throws {RangeError} If the message is longer than `p`. The next call gets it.
   * @throws {Deno.errors.BadResource} If the connection is closed.
   */
  async receive(
    p?: Uint8Array<ArrayBuffer>,
    options: WaitOptions = {},
  ): Promise<[Uint8Array<ArrayBuffer>, UdAddress]> {
    const { signal } = options;
    signal?.throwIfAborted();
    if (this.#closed) throw closedError("receive");
    return await this.#receiver.receive(p, signal);
  }

  /**
   * Sends a datagram. It waits while `sendDepth` sends are in progress, and while the kernel resolves the link address of
   * a new peer. The message is copied. Whether it arrives is not known.
   *
   * @param p The message, at most {@linkcode UdConn.maxMessage} bytes.
   * @param addr The peer: the address of a received datagram, or the {@linkcode UdConn.addr} of another connection.
   * @returns The number of bytes.
   * @throws {RangeError} If the message is too long, or a number of the address is out of range.
   * @throws {TypeError} If an argument has the wrong type.
   * @throws {VerbsError} If the peer cannot be reached.
   * @throws {Deno.errors.BadResource} If the connection is closed.
   */
  async send(p: Uint8Array, addr: UdAddress, options: WaitOptions = {}): Promise<number> {
    const { signal } = options;
    signal?.throwIfAborted();
    if (!(p instanceof Uint8Array)) {
      throw new TypeError("Cannot send: the message is no Uint8Array");
    }
    if (p.length > this.maxMessage) {
      throw new RangeError(
        `Cannot send: the message has ${p.length} bytes, and the MTU allows ${this.maxMessage}`,
      );
    }
    const target = addr instanceof UdPeer ? addr : checkUdAddress(addr);
    if (this.#closed) throw closedError("send");
    const slot = this.#sender.takeSlot() ?? await this.#sender.waitForSlot(signal);
    try {
      const ah = target instanceof UdPeer
        ? target.knownHandle() ?? await target.handle(this.#path, signal)
        : await this.#handleOf(target, signal);
      if (this.#closed) throw closedError("send");
      this.#sender.post(slot, p, ah, target.qpn, target.qkey);
    } catch (error) {
      this.#sender.giveBack(slot);
      throw error;
    }
    return p.length;
  }

  async #handleOf(address: UdAddress, signal: AbortSignal | undefined): Promise<AddressHandle> {
    const key = `${address.gid} ${address.lid}`;
    return await this.#handles.get(key, () => attrOf(this.#local, address), signal);
  }

  /** A send has failed, so an address may have changed: all handles are made again. */
  #refresh(): void {
    this.#handles.clear();
    this.#path.invalidate();
  }

  /**
   * Joins a multicast group. The connection then receives the datagrams of the group.
   *
   * @param gid The GID of the group as text.
   * @param lid The LID of the group; 0 on RoCE, and if left out.
   * @returns The address to send to all members.
   * @throws {SyntaxError} If the text is no GID.
   * @throws {VerbsError} If the device refuses.
   */
  joinMulticast(gid: string, lid: number = 0): UdAddress {
    this.#qp.attachMcast(Gid.parse(gid), lid);
    return { transport: "ud", gid, lid, qpn: MULTICAST_QPN, qkey: this.addr.qkey };
  }

  /**
   * Leaves a multicast group.
   *
   * @throws {VerbsError} If the connection is not a member.
   */
  leaveMulticast(gid: string, lid: number = 0): void {
    this.#qp.detachMcast(Gid.parse(gid), lid);
  }

  /** Datagrams as they come, until the connection is closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<
    [Uint8Array<ArrayBuffer>, UdAddress],
    void,
    void
  > {
    while (!this.#closed) {
      try {
        yield await this.#receiver.receive(undefined, undefined);
      } catch (error) {
        if (this.#closed) return;
        throw error;
      }
    }
  }

  /** Closes the connection and its device. Iterators end; calls that wait reject. Closing again does nothing. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#receiver.close(closedError("receive"));
    this.#sender.close(closedError("send"));
    this.#context.close();
  }

  /** Closes the connection, as {@linkcode UdConn.close} does. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Closes the connection and waits until nothing uses its device any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.all([this.#receiver.ended, this.#sender.ended]);
  }
}

function closedError(action: string): Error {
  return new Deno.errors.BadResource(`Cannot ${action}: the connection is closed`);
}

function chooseGid(
  context: Context,
  port: number,
  gidIndex: number | undefined,
): { gid: Gid; gidIndex: number; reason: string } {
  if (gidIndex === undefined) return context.recommendGid(port);
  return { gid: context.queryGid(port, gidIndex), gidIndex, reason: "the caller chose it" };
}

/**
 * Opens a connection for datagrams.
 *
 * @example An echo server
 * ```ts
 * import { listenUd } from "@rdma/ibverbs/net";
 *
 * using conn = await listenUd({ qkey: 0x1111_1111 });
 * console.log(JSON.stringify(conn.addr)); // what clients send to
 * for await (const [message, from] of conn) await conn.send(message, from);
 * ```
 *
 * @throws {Deno.errors.NotFound} If there is no such device, or the port has no usable GID.
 * @throws {TypeError} If an option has the wrong type.
 * @throws {RangeError} If a number is out of range, or the device has no such port.
 * @throws {VerbsError} If the device refuses.
 */
// deno-lint-ignore require-await -- it rejects, it does not throw; and later devices may be opened without blocking
export async function listenUd(options: UdOptions): Promise<UdConn> {
  using stack = new DisposableStack();
  const context = stack.use(Context.open(options.device));
  const conn = new UdConn(context, options);
  stack.move();
  return conn;
}
