import type { Optional } from "../../internal/optional.ts";
import { settled } from "../../wait/descriptors.ts";
import { textOf } from "../../internal/texts.ts";
import { toCaller } from "../../internal/caller.ts";
import { type AbortOptions, closeOnAbort, signalOf } from "../../wait/abort.ts";
import { byteArray, listOf } from "../../internal/checks.ts";
import { timers } from "../../wait/clock.ts";
import { noteClosed, noted } from "../../internal/left_open.ts";
import { paced } from "../../wait/paced.ts";
import { made, partsOf } from "../../internal/made.ts";
import { closeAtEnd } from "../../internal/program_end.ts";
import { requireDeno } from "../../internal/runtime.ts";
import { asPromise, inTurn, mayContinue, nextTurn } from "../../wait/turns.ts";
import { AccessFlags, type Gid, MemoryRegion, type QueuePair } from "../../mod.ts";
import { DeviceUse } from "../shared/device_use.ts";
import { readReceive, type ReceiveOptions } from "../shared/receive_options.ts";
import type { BorrowedDatagram } from "./borrowed_datagram.ts";
import { type Endpoint, makeEndpoint, udProviders } from "./endpoint.ts";
import { Groups, readGroup } from "./groups.ts";
import { lookUp, type LookupAddress, type LookupOptions, readLookup } from "./lookup.ts";
import { LookupServer } from "./lookup_server.ts";
import { assertManaged } from "./own_address.ts";
import { Peers } from "./peers.ts";
import { Receiver } from "./receiver.ts";
import { Recovery } from "./recovery.ts";
import { Routes } from "./routes.ts";
import { checkLength, type Outgoing, Sender } from "./sender.ts";
import type { UdAddress } from "./ud_address.ts";
import {
  type JoinOptions,
  readJoinOptions,
  readUdOptions,
  type UdOptions,
  type UdSettings,
} from "./ud_options.ts";

/**
 * Counters of a socket.
 *
 * @category Datagrams
 */
export interface UdStats {
  /** Datagrams received. */
  readonly received: number;
  /** Datagrams posted to be sent. */
  readonly sent: number;
  /**
   * Datagrams that were received and dropped: because `maxQueued` of them were waiting, because they were longer than
   * `UdConn.maxMessage`, or, on devices whose packets have no GRH, because the address handle that identified their
   * sender was closed before. Datagrams for which the device had no receive (`recvDepth`) are not among them: ConnectX
   * counts those of the port in `out_of_buffer`, others in a counter of another name, and soft-RoCE nowhere. The
   * command `doctor` of `@rdma/cli` names these counters while they rise.
   */
  readonly dropped: number;
  /** Receives that failed, other than those that a failure of another request ended. */
  readonly recvErrors: number;
  /** Datagrams that were lost here: their sends failed, or a reset of the queue pair ended them. */
  readonly sendErrors: number;
  /** How often the queue pair was reset because a request had failed. */
  readonly resets: number;
}

/** How a socket with the transport of a provider is opened. */
export interface Opening {
  /** The name of the device; undefined if that is the first one with an active port. */
  readonly deviceName: () => string | undefined;
  readonly endpoint: (device: DeviceUse) => Endpoint;
}

/** The queue pair number of multicast. */
const MULTICAST_QPN = 0xff_ffff;

/** The parts of a socket. */
interface UdParts {
  readonly device: DeviceUse;
  readonly settings: UdSettings;
  readonly endpoint: Endpoint;
}

/** Opens a socket on a device, which it shares. */
export let openUd: (settings: UdSettings, opening?: Optional<Opening>) => UdConn;

/**
 * A socket for datagrams, with `send`, `receive`, `addr` and `for await` as `Deno.DatagramConn` has them. `listenUd`
 * makes one. If a provider has reliable datagrams, another function makes a socket for them.
 *
 * Receives are always posted. Datagrams that no call takes wait in a bounded queue. A send waits while `sendDepth`
 * sends are in progress. After a change of the port's GIDs, address handles are made again.
 *
 * **Reliable datagrams.** Each message arrives once, or the call of `UdConn.send` rejects. A send that fails leaves
 * the queue pair as it is, and `UdStats.sendErrors` counts it.
 *
 * **The end of the program.** A socket keeps the program alive only while a call waits, such as
 * `UdConn.receive`, as Deno's sockets do. A program that has nothing else to do ends, and need not close it.
 *
 * **Outages.** A send fails when the address of this host is gone, and stops the queue pair. The socket then resets
 * the queue pair: the number, the qkey and the groups stay the same, and calls that wait continue. Datagrams in
 * progress are lost; `UdStats.sendErrors` counts those that were sent here. While the host has no address that reaches
 * a peer, `UdConn.send` to it rejects. `UdOptions.onOutage` is called once for each outage.
 *
 * @category Datagrams
 */
export class UdConn
  implements Disposable, AsyncDisposable, AsyncIterable<[Uint8Array<ArrayBuffer>, UdAddress]> {
  /**
   * The longest message in bytes: the MTU that the port had when the socket was opened, or what a packet of the device
   * holds. Peers on links with a larger MTU may send longer ones. Those are dropped and counted; if datagrams are reliable,
   * they are received.
   */
  readonly maxMessage: number;
  readonly #settings: UdSettings;
  readonly #endpoint: Endpoint;
  readonly #device: DeviceUse;
  readonly #qp: QueuePair;
  readonly #routes: Routes;
  readonly #peers: Peers;
  readonly #receiver: Receiver;
  readonly #sender: Sender;
  readonly #recovery: Recovery;
  readonly #groups: Groups;
  #lookups: LookupServer | undefined;
  #port: number | undefined;
  readonly #closing: AbortController = new AbortController();
  #closed: () => void = () => {};

  /** @ignore Made by `listenUd`. */
  constructor(opened: "listenUd() opens sockets") {
    const { device, settings, endpoint } = partsOf<UdParts>(
      opened,
      "UdConn",
      "listenUd() opens sockets",
    );
    const {
      qkey,
      recvDepth,
      sendDepth,
      maxQueued,
      maxPeers,
      spinMicroseconds,
      onOutage,
    } = settings;
    this.#settings = settings;
    this.#device = device;
    this.#endpoint = endpoint;
    const { context, pd } = device;
    context.unref();
    const { transport, isReliable, qp, sendCq, recvCq, activate, batch, headroom, maxMessage } =
      endpoint;
    const { maxReceived, overflow } = endpoint;
    this.#qp = qp;
    this.#groups = new Groups(qp);
    this.maxMessage = maxMessage;
    this.#recovery = new Recovery({
      qp,
      activate,
      queues: () => [this.#receiver, this.#sender],
      refresh: () => this.#routes.refresh(),
      // In a task of its own, so that it may close the socket, and its errors are not ours.
      warn: (cause) => timers.queueMicrotask(() => onOutage(outage(context.device.name, cause))),
    });
    const memory = (slots: number, size: number, more = 0): MemoryRegion =>
      new MemoryRegion(pd, slots * size + more, AccessFlags.LOCAL_WRITE);
    const flush = (): void => this.#sender.flush();
    this.#routes = new Routes(pd, settings, this.#closing.signal, flush);
    this.#sender = new Sender({
      qp,
      cq: sendCq,
      mr: memory(sendDepth, maxMessage),
      slotSize: maxMessage,
      isReliable,
      routes: this.#routes,
      spinMicroseconds,
      onSent: () => this.#recovery.succeeded(),
      onError: (error) => this.#recovery.sendFailed(error),
    });
    const slotSize = Math.ceil((headroom + maxReceived) / 4) * 4;
    const mr = memory(recvDepth + maxQueued, slotSize, overflow);
    const peers = new Peers(qkey, maxPeers, transport, this.#routes.senders(mr));
    this.#peers = peers;
    this.#receiver = new Receiver({
      qp,
      cq: recvCq,
      batch,
      headroom,
      mr,
      slotSize,
      overflow,
      maxQueued,
      isReliable,
      peers,
      spinMicroseconds,
      onReceived: () => this.#recovery.succeeded(),
      onError: (error) => this.#recovery.recvFailed(error),
    });
  }

  static {
    openUd = (settings, opening = {}) => UdConn.#open(settings, opening);
  }

  static #open(settings: UdSettings, opening: Optional<Opening>): UdConn {
    const { deviceName = () => settings.device } = opening;
    const { endpoint = (device: DeviceUse) => makeEndpoint(device, settings) } = opening;
    requireDeno();
    settings.signal?.throwIfAborted();
    using stack = new DisposableStack();
    const { port } = settings;
    // Before the rest: another program may use the port.
    const lookups = port === undefined ? undefined : stack.use(new LookupServer(port));
    const device = stack.use(new DeviceUse(deviceName()));
    if (port !== undefined) {
      assertManaged({ provider: udProviders.of(device.context.device) }, "listen at a port");
    }
    const conn = new UdConn(made<UdParts>({ device, settings, endpoint: endpoint(device) }));
    if (lookups !== undefined) conn.#serveLookups(lookups);
    closeOnAbort(conn, settings.signal, conn.#closing.signal);
    conn.#closed = closeAtEnd(conn);
    stack.move();
    return conn;
  }

  #serveLookups(lookups: LookupServer): void {
    const { portNum } = this.#settings;
    const { device } = this.#device.context;
    lookups.serve({
      ...{ device: device.name, portNum },
      ...{ qpNum: this.#qp.qpNum, maxMessage: this.maxMessage },
    });
    this.#lookups = lookups;
    this.#port = lookups.port;
  }

  /**
   * The port at which peers find the socket by the address of this host; `undefined` if `UdOptions.port` was not
   * given.
   */
  get port(): number | undefined {
    return this.#port;
  }

  /** The address that peers send to. Its GID and LID follow those of the port. */
  get addr(): UdAddress {
    const { gid, lid } = this.#routes.local;
    const { qkey } = this.#settings;
    const { transport } = this.#endpoint;
    const { maxMessage } = this;
    return { transport, gid: gid.toString(), lid, qpNum: this.#qp.qpNum, qkey, maxMessage };
  }

  /** The index of the GID that datagrams are sent from. */
  get gidIndex(): number {
    return this.#routes.local.gidIndex;
  }

  /** Why this GID was chosen. */
  get gidReason(): string {
    return this.#routes.local.reason;
  }

  /** Counters since the socket was made; the last ones if it is closed. */
  get stats(): UdStats {
    this.#sender.poll();
    const { received, dropped, errors } = this.#receiver;
    const { sent, errors: sendErrors } = this.#sender;
    const { resets } = this.#recovery;
    return { received, sent, dropped, recvErrors: errors, sendErrors, resets };
  }

  /**
   * Waits for the next datagram.
   *
   * @param given The buffer that the message is written to, or options. A new buffer is made if there is none.
   * @returns The message, and the address of its sender. `UdConn.send` answers it without a look-up.
   * @throws {TypeError} If an argument has the wrong type.
   * @throws {RangeError} If the message is longer than the buffer. The next call gets it.
   * @throws {Deno.errors.BadResource} If the socket is closed, and all that was received is read.
   * @throws The reason of the signal, if it aborts.
   */
  receive(
    given?: Uint8Array<ArrayBuffer> | ReceiveOptions,
  ): Promise<[Uint8Array<ArrayBuffer>, UdAddress]> {
    if (arguments.length === 0) return this.#receiver.receive();
    return asPromise(() => {
      const { buffer, signal } = readReceive(given, arguments[1]);
      return this.#receiver.receive(buffer, signal);
    });
  }

  /**
   * Lets `UdConn.receive` and the loop over the socket keep the program alive while they wait, as before
   * `UdConn.unref`.
   */
  ref(): void {
    this.#receiver.hold(true);
  }

  /**
   * Lets the program end although `UdConn.receive` waits, as `unref()` of Deno's sockets does. It is for a reader in
   * the background. While no other wait keeps the program alive, datagrams are read within 16 ms.
   */
  unref(): void {
    this.#receiver.hold(false);
  }

  /**
   * Waits for the next datagram, and takes those that have come after it too. It makes no buffers and waits once for all
   * of them, so it costs much less than as many calls of `UdConn.receive`.
   *
   * @example Answer what has come
   * ```ts
   * import type { UdConn } from "@rdma/ibverbs/net";
   *
   * async function serve(conn: UdConn): Promise<void> {
   *   const room = new Uint8Array(64 * conn.maxMessage);
   *   while (true) await conn.sendMany(await conn.receiveMany(room));
   * }
   * ```
   *
   * @param p The buffer that the messages are written to, one after another. What does not fit is for the next call.
   * @param options The signal that ends the wait.
   * @returns The messages, which are parts of `p`, and the addresses of their senders: at least one.
   * @throws As `UdConn.receive`; {RangeError} if the first message is longer than `p`.
   */
  receiveMany(
    p: Uint8Array<ArrayBuffer>,
    options?: AbortOptions,
  ): Promise<[Uint8Array<ArrayBuffer>, UdAddress][]> {
    return asPromise(() => {
      const signal = signalOf(options);
      return this.#receiver.receiveMany(byteArray(p, "p"), signal);
    });
  }

  /**
   * Waits for the next datagram, and lends it where the device has written it, without a copy. Give it back with
   * `using`: until then it counts towards the `UdOptions.maxQueued` that may wait, and if more are borrowed, fewer
   * receives are posted.
   *
   * @param options The signal that ends the wait.
   * @returns The datagram, with the address of its sender.
   * @throws As `UdConn.receive`.
   */
  borrow(options?: AbortOptions): Promise<BorrowedDatagram> {
    return asPromise(() => this.#receiver.borrow(signalOf(options)));
  }

  /**
   * Sends datagrams in their order, together. It waits as `UdConn.send` does, and the messages must not change
   * before the promise resolves.
   *
   * @param datagrams The messages and the peers, as `UdConn.receiveMany` returns them.
   * @param options The signal that ends the wait. Datagrams before the wait are sent.
   * @returns The number of datagrams.
   * @throws As `UdConn.send`. If a message or an address is refused, none is sent. If some reliable messages have
   * not arrived, the others go on.
   */
  async sendMany(
    datagrams: readonly (readonly [Uint8Array, UdAddress])[],
    options?: AbortOptions,
  ): Promise<number> {
    return await inTurn(async () => {
      const signal = signalOf(options);
      signal?.throwIfAborted();
      this.#assertOpen("send");
      const checked = listOf(datagrams, "datagrams").map((datagram) => this.#check(datagram));
      await this.#sender.sendAll(checked, signal);
      return checked.length;
    });
  }

  #check(datagram: readonly [Uint8Array, UdAddress]): Outgoing {
    if (!Array.isArray(datagram)) {
      throw new TypeError("Cannot send: a datagram is not an array of a message and an address");
    }
    const { 0: message, 1: address } = datagram;
    const { length } = byteArray(message, "message");
    checkLength(length, this.maxMessage);
    return { message, peer: this.#peers.of(address, length) };
  }

  /**
   * Sends a datagram. It waits while `sendDepth` sends are in progress, and while the kernel resolves the link address
   * of a new peer. The message must not change before the promise resolves. The device sends it later; `UdConn.close` does
   * not wait for that. Whether it arrives is not known.
   *
   * **A peer has as many receives as its `recvDepth` says, 512 by default, and no more.** Datagrams that come faster
   * than the peer reads them are lost, and no counter of this end or of the peer's `UdConn.stats` shows it. Wait for an
   * answer now and then, or use `listenRc`.
   *
   * Datagrams that are sent without a wait in between are posted together, which costs less. Waiting for a datagram
   * posts them, and so does a pause of a few microtasks.
   *
   * If datagrams are reliable, it also waits until the message has arrived, and rejects if it cannot. Send several at
   * once, with `UdConn.sendMany` or without `await`: each send ends by itself, in any order. While the peer has no
   * receive for it, a message waits; the option `rnrRetry` or the signal ends that. A message whose wait the signal has
   * ended may still arrive.
   *
   * @param p The message, at most `UdConn.maxMessage` bytes.
   * @param addr The peer: the address of a received datagram, or the `UdConn.addr` of another socket.
   * @param options The signal that ends the wait.
   * @returns The number of bytes.
   * @throws {RangeError} If the message is too long for this socket or for the peer, a number of the address is out of
   * range, or the address is a group of another family of IP addresses than the socket's own GID.
   * @throws {TypeError} If an argument has the wrong type.
   * @throws {SyntaxError} If the GID of the address is not one.
   * @throws {VerbsError} If the peer cannot be reached, for instance because this host has no address now.
   * @throws {WorkCompletionError} If a reliable message has not arrived, for instance because there is no such queue pair.
   * @throws {Deno.errors.BadResource} If the socket is closed.
   * @throws The reason of the signal, if it aborts.
   */
  async send(p: Uint8Array, addr: UdAddress, options?: AbortOptions): Promise<number> {
    try {
      const { length } = byteArray(p, "message");
      const signal = options === undefined ? undefined : signalOf(options);
      signal?.throwIfAborted();
      checkLength(length, this.maxMessage);
      const waiting = this.#sender.send(p, this.#peers.of(addr, length), signal);
      if (waiting !== undefined) await waiting;
      return length;
    } catch (error) {
      throw toCaller(error, this.send);
    } finally {
      if (!mayContinue()) await nextTurn();
    }
  }

  #assertOpen(action: string): void {
    if (this.#closing.signal.aborted) throw closedError(action);
  }

  /**
   * Finds another socket by the address of its host, with librdmacm: one that `listenUd` has made with
   * `UdOptions.port`, or that of a program in C (`RDMA_PS_UDP`). It asks the kernel of that host, and does not use TCP.
   *
   * The route starts at the device and the GID of this socket, on Ethernet to an address of the same family (IPv4
   * or IPv6). Each datagram of a socket names its queue pair in the immediate data too, because programs in C such
   * as udaddy answer to it.
   *
   * @example A client
   * ```ts
   * import { listenUd } from "@rdma/ibverbs/net";
   *
   * async function ask(hostname: string, question: Uint8Array): Promise<Uint8Array> {
   *   using conn = await listenUd();
   *   const server = await conn.lookup({ hostname, port: 7471 });
   *   await conn.send(question, server);
   *   return (await conn.receive())[0];
   * }
   * ```
   *
   * @param address The name of the host or its address, and the port, 1 to 65535.
   * @param options How long it may take, whether it tries again, and the signal that ends the wait.
   * @returns The address to send to. It has `maxMessage` if the peer is a socket of this module.
   * @throws {TypeError} If an argument has the wrong type, or the socket has another qkey than the default of
   * `UdOptions.qkey`.
   * @throws {RangeError} If a number is out of range.
   * @throws {Deno.errors.ConnectionRefused} If nobody listens at the port, with `retryInterval` when `timeout` is over.
   * @throws {Deno.errors.TimedOut} If it takes longer than `timeout`.
   * @throws {Deno.errors.NotFound} If librdmacm is not installed.
   * @throws {Deno.errors.NotSupported} If another device leads there, the connection manager does not know the device, or the
   * GID of the socket is no IP address of a network interface.
   * @throws {CmError} If the name has no address, there is no route, or the peer refuses. See `@rdma/ibverbs/cm`.
   * @throws {VerbsError} If the system refuses.
   * @throws {Deno.errors.BadResource} If the socket is closed.
   * @throws The reason of the signal, if it aborts.
   */
  async lookup(
    address: LookupAddress,
    options?: LookupOptions,
  ): Promise<UdAddress> {
    return await inTurn(async () => {
      const lookup = readLookup(address, options);
      lookup.signal?.throwIfAborted();
      this.#assertOpen("look up");
      const { local } = this.#routes;
      const { qkey } = this.#settings;
      const own = { device: this.#device.context.device.name, local, qpNum: this.#qp.qpNum, qkey };
      return await lookUp(own, lookup, this.#closing.signal);
    });
  }

  /**
   * Joins a multicast group by its IP address, with librdmacm. The socket then receives the datagrams of the group.
   * The host accepts its packets, and the switches on the way learn of it (IGMP). For groups that this cannot join, see
   * `JoinOptions.deviceOnly`.
   *
   * On soft-RoCE (rxe) a datagram to the group reaches all members, also those of the sender's own host and the sender
   * itself. Many adapters do not return it to the sender.
   *
   * @example Send to a group
   * ```ts
   * import { listenUd } from "@rdma/ibverbs/net";
   *
   * async function greet(): Promise<void> {
   *   using conn = await listenUd({ qkey: 0x1111_1111 });
   *   const group = await conn.join("239.1.2.3");
   *   await conn.send(new TextEncoder().encode("hello all"), group);
   * }
   * ```
   *
   * @param address The IP address of the group, such as `"239.1.2.3"`. Over RoCE, Linux supports only IPv4 groups.
   * @param options The signal that ends the wait, and whether only the device joins.
   * @returns The address to send to all members.
   * @throws {TypeError} If an argument has the wrong type, or the socket is in the group.
   * @throws {SyntaxError} If the text is no IP address.
   * @throws {RangeError} If the address is not a multicast address, or the LID is out of range.
   * @throws {Deno.errors.NotFound} If librdmacm is not installed.
   * @throws {Deno.errors.NotSupported} If the device has no groups, or the GID of the socket is no IP address
   * of a network interface.
   * @throws {CmError} If the group cannot be joined.
   * @throws {VerbsError} If the system refuses, for instance EADDRNOTAVAIL.
   * @throws {Deno.errors.BadResource} If the socket is closed.
   * @throws The reason of the signal, if it aborts.
   */
  async join(address: string, options?: JoinOptions): Promise<UdAddress> {
    return await inTurn(async () => {
      const { signal, deviceOnly, lid } = readJoinOptions(options);
      signal?.throwIfAborted();
      const group = this.#groupOf(address, "join multicast group");
      if (deviceOnly) {
        this.#groups.attach(group, lid);
        return this.#groupAddress(group, lid);
      }
      const closing = this.#closing.signal;
      const ends = signal === undefined ? closing : AbortSignal.any([closing, signal]);
      return this.#groupAddress(
        await this.#groups.join(address, group, this.#routes.local, ends),
        0,
      );
    });
  }

  /**
   * Leaves a multicast group that `UdConn.join` has joined.
   *
   * @param address The IP address of the group, or the GID that `UdConn.join` has given.
   * @throws As `UdConn.join`; {TypeError} if the socket is not in the group.
   */
  leave(address: string): void {
    this.#groups.leave(address, this.#groupOf(address, "leave multicast group"));
  }

  #groupAddress(group: Gid, lid: number): UdAddress {
    const { qkey } = this.#settings;
    const { transport } = this.#endpoint;
    return { transport, gid: group.toString(), lid, qpNum: MULTICAST_QPN, qkey };
  }

  #groupOf(address: string, action: string): Gid {
    const group = readGroup(address, action);
    this.#assertOpen(action);
    return group;
  }

  /**
   * Datagrams as they come, until the socket is closed: what it could not answer any more is left to
   * `UdConn.receive`. Only what comes to a loop that waits, just as the socket is closed, is dropped.
   */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<
    [Uint8Array<ArrayBuffer>, UdAddress],
    void,
    void
  > {
    const closing = this.#closing.signal;
    try {
      while (!closing.aborted) {
        const datagram = await this.receive();
        // It has come as the socket was closed, and could not be answered.
        if (closing.aborted) return;
        yield datagram;
      }
    } catch (error) {
      if (!closing.aborted) throw error;
    }
  }

  /**
   * Closes the socket, and the device if nothing else of the program uses it. Calls that wait reject. What was received
   * can still be read: `UdConn.receive` gives it, and then rejects; iterators end at once. Closing again does nothing.
   *
   * @throws {VerbsError} If the system refuses. The socket can then be closed again.
   */
  close(): void {
    this.#stop();
    this.#end();
  }

  #stop(): void {
    this.#sender.close(closedError("send"));
    this.#closing.abort(closedError("use socket"));
    this.#receiver.close(closedError("receive"));
  }

  #end(): void {
    this.#lookups?.[Symbol.dispose]();
    this.#groups[Symbol.dispose]();
    this.#device[Symbol.dispose]();
    noteClosed(this);
    this.#closed();
  }

  /** Closes the socket, as `UdConn.close` does. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Closes the socket, and waits until its waits for events have ended. Calls that wait reject at once. Connections
   * that are closed together are closed one after the other, and the event loop runs in between. A look-up of a
   * peer's link address may use the device for some seconds longer.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await inTurn(async () => {
      this.#stop();
      await paced(() => this.#end());
      await Promise.all([this.#routes.ended, this.#lookups?.ended]);
      await settled();
    });
  }

  /** The address that peers send to, on one line. */
  toString(): string {
    if (this.#closing.signal.aborted) return "UdConn { closed }";
    const { gid, qpNum, qkey } = this.addr;
    return textOf("UdConn", { gid, qpNum, qkey, maxMessage: this.maxMessage });
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

function outage(device: string, cause: Error): Error {
  const message = `A UdConn of ${device} was reset after an error, and works on. ` +
    `Datagrams in progress are lost. ${cause.message}`;
  return new Error(message, { cause });
}

function closedError(action: string): Error {
  return new Deno.errors.BadResource(`Cannot ${action}: the socket is closed`);
}

/**
 * Opens a socket for datagrams.
 *
 * @example An echo server
 * ```ts
 * import { listenUd } from "@rdma/ibverbs/net";
 *
 * async function serve(): Promise<void> {
 *   using conn = await listenUd({ port: 7471 }); // clients find it by UdConn.lookup()
 *   for await (const [message, from] of conn) await conn.send(message, from);
 * }
 * ```
 *
 * @throws {Deno.errors.NotFound} If there is no such device, or the port has no usable GID.
 * @throws {TypeError} If an option has the wrong type or is unknown.
 * @throws {RangeError} If a number is out of range, or the device has no such port.
 * @throws {Deno.errors.AddrInUse} If another program uses `port`.
 * @throws {VerbsError} If the device refuses.
 * @throws The reason of the signal, if it has aborted.
 * @category Datagrams
 */
export async function listenUd(options: UdOptions = {}): Promise<UdConn> {
  return await noted(inTurn(() => {
    const settings = readUdOptions(options);
    return paced(() => openUd(settings));
  }));
}
