import type { IbvContext, RdmaCmId, RdmaEventChannel } from "../../ffi/handles.ts";
import { constants, structs } from "../../ffi/layout.ts";
import { handleAddress, handleAt, nativeView } from "../../ffi/pointers.ts";
import { nonblockingRdmacm, rdmacm } from "../../ffi/rdmacm.ts";
import { allocStruct, readField, readNative } from "../../ffi/struct.ts";
import { type AbortOptions, checkSignal, signalOf } from "../../wait/abort.ts";
import {
  boolean,
  integer,
  nothingBehind,
  positiveInt,
  snapshot,
  uint64,
} from "../../internal/checks.ts";
import { REASON_MS } from "../../internal/cm_reasons.ts";
import { made, partsIn } from "../../internal/made.ts";
import { Deadline } from "../../wait/deadline.ts";
import type { Cause } from "../../wait/state.ts";
import { inTurn } from "../../wait/turns.ts";
import { abortable } from "../core/abortable.ts";
import { causeOf } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { failure, VerbsError } from "../core/errors.ts";
import { handleOf, type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen, isOpen, moveTo } from "../core/resource.ts";
import { untilClosed } from "../core/until_closed.ts";
import { EventType } from "../device/async_events.ts";
import type { DeviceInfo } from "../device/device.ts";
import { type Ece, eceCodec, type QpModifyAttr } from "../queue_pair/qp_attr.ts";
import { QpState } from "../queue_pair/qp_enums.ts";
import type { QueuePair } from "../queue_pair/queue_pair.ts";
import {
  type AddrInfo,
  type AddrInfoHints,
  answersAt,
  type LookUp,
  lookUpError,
  readLookUp,
} from "./addr_info.ts";
import { hintBind, hintResolve } from "./address_causes.ts";
import { EVENT_CAUSES, REQUEST_CAUSES } from "./cm_causes.ts";
import { CmEvents, type NativeEvent, OF_PEERS } from "./cm_events.ts";
import { type CmOptions, isOfDatagrams, readCmOptions, serviceOf } from "./cm_options.ts";
import { CmStates } from "./cm_states.ts";
import {
  checkPrivateData,
  type ConnParam,
  type ConnParamInit,
  connParamOf,
  readConnParam,
  readUdParam,
  type UdParam,
} from "./conn_param.ts";
import * as connected from "./connected_qp.ts";
import { CmEventType, type CmState, PortSpace } from "./enums.ts";
import { callCm, type CmError, eventError, hintNoDevice } from "./errors.ts";
import { createId, deviceInfoOf } from "./functions.ts";
import { Groups } from "./groups.ts";
import { readResolveOptions, type ResolveOptions } from "./resolve_options.ts";
import { groupSockaddrOf, readSockaddr, sockaddrOf, type SocketAddress } from "./socket_address.ts";

/**
 * A connection event (`struct rdma_cm_event`). It is a copy, and is acknowledged already.
 *
 * @category Events
 */
export interface CmEvent {
  /** Kind of event. */
  readonly event: CmEventType;
  /** The id that the event is about. For a request it is a new id, to accept or to reject. */
  readonly id: CmId;
  /** The id that listens, if the event is a request. */
  readonly listenId: CmId | undefined;
  /** 0, or what failed: a negative errno value, or for REJECTED the reason as InfiniBand numbers them. */
  readonly status: number;
  /** The connection parameters from the peer. It is `undefined` where the event has none. */
  readonly conn: ConnParam | undefined;
  /** How datagrams reach the peer or the group. It is `undefined` where the event has none. */
  readonly ud: UdParam | undefined;
  /** What the program gave to `CmId.writeCmEvent`. It is `undefined` for all events except USER. */
  readonly arg: bigint | undefined;
}

const EVENTS = new WeakMap<EventChannel, CmEvents<CmEvent>>();

function eventsOf(channel: EventChannel): CmEvents<CmEvent> {
  return EVENTS.get(channel)!;
}

/**
 * A channel of connection events (`struct rdma_event_channel`). Each `CmId` belongs to one. Any number of ids may share
 * a channel, and any number of channels share one thread that waits.
 *
 * A method of an id that waits gets the event that it waits for. All other events go to the loops over the channel,
 * each event to one of them. Events are read only while the program waits for one. A program that waits for none may
 * end.
 *
 * @example A server
 * ```ts
 * import { CmEventType, CmId, EventChannel } from "@rdma/ibverbs/cm";
 *
 * async function serve(port: number): Promise<void> {
 *   using channel = new EventChannel();
 *   using listener = new CmId(channel);
 *   listener.bindAddr({ hostname: "0.0.0.0", port });
 *   listener.listen();
 *   for await (const { event, id } of channel) {
 *     if (event === CmEventType.CONNECT_REQUEST) id.reject(); // or accept()
 *   }
 * }
 * ```
 *
 * @category Events
 */
export class EventChannel extends NativeResource<RdmaEventChannel> {
  static readonly #KIND: NativeKind<RdmaEventChannel, EventChannel> = {
    name: "event channel",
    closing: (channel) => EVENTS.get(channel)?.close(),
    destroy: (handle) => {
      callCm("rdma_destroy_event_channel", "destroy event channel", [handle]);
    },
  };

  /**
   * Makes a channel (`rdma_create_event_channel`).
   *
   * @throws {Deno.errors.NotFound} If there is no librdmacm. The message names the package.
   * @throws {VerbsError} If there is no RDMA device (ENODEV), or the system refuses.
   */
  constructor() {
    const handle = callCm("rdma_create_event_channel", "create event channel", [], {
      hint: hintNoDevice,
    });
    super(EventChannel.#KIND, handle, []);
    try {
      EVENTS.set(this, new CmEvents<CmEvent>(this));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * The events that no method of an id waits for, as they come. Closing the channel ends the loop.
   *
   * @throws {TypeError} If the channel is disposed, or the signal is not an AbortSignal.
   * @throws {VerbsError} If reading fails.
   * @throws The reason of the signal, if it aborts.
   */
  events(options: AbortOptions = {}): AsyncGenerator<CmEvent, void, void> {
    const signal = signalOf(options);
    assertOpen(this);
    return untilClosed(this, signal, () => inTurn(() => eventsOf(this).next(signal)));
  }

  /**
   * Lets the program end although something waits for events of the channel, as `unref()` of Deno's sockets does.
   *
   * @throws {TypeError} If the channel is disposed.
   */
  unref(): void {
    assertOpen(this);
    eventsOf(this).hold(false);
  }

  /**
   * Keeps the program alive while something waits for events, as before `EventChannel.unref`.
   *
   * @throws {TypeError} If the channel is disposed.
   */
  ref(): void {
    assertOpen(this);
    eventsOf(this).hold(true);
  }

  /** Iterates over `EventChannel.events`. */
  [Symbol.asyncIterator](): AsyncGenerator<CmEvent, void, void> {
    return this.events();
  }
}

/**
 * Options of `CmId.resolveAddr`.
 *
 * @category Connections
 */
export interface ResolveAddrOptions extends ResolveOptions {
  /** The address to send from. The default is the one that the system chooses. */
  readonly srcAddr?: SocketAddress | undefined;
}

/**
 * Options of `CmId.reject`.
 *
 * @category Connections
 */
export interface RejectOptions {
  /** Data for the peer's program: at most 148 bytes, for UD 136, for iWARP 251. The default is none. */
  readonly privateData?: Uint8Array | undefined;
  /**
   * Whether the reason is that the options of the enhanced connection establishment do not fit (`rdma_reject_ece`). The default
   * is `false`.
   */
  readonly ece?: boolean | undefined;
}

/**
 * Options of `CmId.joinMulticast`.
 *
 * @category Connections
 */
export interface JoinMulticastOptions extends AbortOptions {
  /** Whether the program only sends to the group. The default is `false`. */
  readonly sendOnly?: boolean | undefined;
}

const TYPE = CmEventType;
const { fields } = structs.rdma_cm_id;
/** The default timeout of steps that ask the network. */
const RESOLVE_MS = 2000;
const OF_GROUPS: readonly CmEventType[] = [TYPE.MULTICAST_JOIN, TYPE.MULTICAST_ERROR];
const REFUSALS: readonly CmEventType[] = [TYPE.CONNECT_ERROR, TYPE.UNREACHABLE, TYPE.REJECTED];

/** Which group an event is about: the number of the join. */
const numbers = new WeakMap<CmEvent, bigint>();

/**
 * One end of a connection, or a listener for peers (`struct rdma_cm_id`). It finds the route by IP addresses, exchanges
 * the numbers of queue pairs, and reports the end of the connection. Messages go through a `QueuePair` of the program's
 * own, which the id only moves from state to state.
 *
 * A method that the state does not allow throws a TypeError that names the state. A method that waits takes a signal. If the
 * signal aborts, the wait ends and the step goes on: close the id to end it. Closing is possible at any time, also while a
 * method waits.
 *
 * @example A client
 * ```ts
 * import type { QueuePair } from "@rdma/ibverbs";
 * import { CmId, EventChannel } from "@rdma/ibverbs/cm";
 *
 * async function talk(hostname: string, makeQp: (device: string) => QueuePair): Promise<void> {
 *   using channel = new EventChannel();
 *   using id = new CmId(channel);
 *   await id.resolveAddr({ hostname, port: 7471 });
 *   await id.resolveRoute();
 *   using qp = makeQp(id.device!.name);
 *   await id.connect(qp);
 *   await id.establish();
 *   // messages
 *   await id.disconnect({ timeout: 1000 });
 * }
 * ```
 *
 * @category Connections
 */
export class CmId extends NativeResource<RdmaCmId> {
  static readonly #KIND: NativeKind<RdmaCmId, CmId> = {
    name: "connection identifier",
    closing: (id) => id.#closing(),
    destroy: (handle) => {
      callCm("rdma_destroy_id", "destroy connection identifier", [handle]);
    },
    describe: ({ state, portSpace, localAddr, peerAddr }) => ({
      state,
      portSpace: nameOf(PortSpace, portSpace),
      localAddr,
      peerAddr,
    }),
  };

  /** The port space, which decides the transport. */
  readonly portSpace: PortSpace;
  readonly #states: CmStates<CmEvent>;
  /** The queue pair of the connection. */
  #qp: QueuePair | undefined;
  #channel: EventChannel;
  /** Aborts when the id is closed. It is made on first use. */
  #ending: AbortController | undefined;
  /** The multicast groups that the id has not left. */
  readonly #groups: Groups;
  readonly #address: bigint;
  #device: DeviceInfo | undefined;
  /** The attributes of a state of this connection. */
  readonly #attrOf = (qpState: QpState): connected.StateAttr =>
    connected.attrOf(this.#handle, qpState, (code) => this.#whyUnknown(code));

  /**
   * Makes an id (`rdma_create_id`).
   *
   * @param channel The channel of its events.
   * @param portSpace The port space, which decides the transport: `PortSpace.TCP` is RC, `PortSpace.UDP` is UD. The
   * default is TCP.
   * @throws {TypeError} If an argument has the wrong type, or the channel is disposed.
   * @throws {RangeError} If there is no such port space.
   * @throws {VerbsError} If the system refuses.
   */
  constructor(channel: EventChannel, portSpace: PortSpace = PortSpace.TCP) {
    instance(channel, EventChannel, "channel");
    nothingBehind(arguments[2], "new CmId(channel, portSpace)");
    const request = partsIn<RdmaCmId>(portSpace);
    const handle = request ?? createId(channel, portSpace);
    super(CmId.#KIND, handle, [channel]);
    this.portSpace = readNative(handle, fields.ps) as PortSpace;
    this.#states = new CmStates(this, this.portSpace, request ? "REQUESTED" : "IDLE");
    this.#groups = new Groups(this.portSpace);
    this.#channel = channel;
    this.#address = handleAddress(handle);
    this.#events.handlers.set(this.#address, (event) => this.#receive(event));
  }

  /** The handle. A method that is called on an object of another class throws here. */
  get #handle(): RdmaCmId {
    return this.unsafeHandle;
  }

  get #events(): CmEvents<CmEvent> {
    return eventsOf(this.#channel);
  }

  /** The channel of the id's events. */
  get channel(): EventChannel {
    return this.#channel;
  }

  /** The queue pair of the connection; `undefined` if there is none, or the program has given only its number. */
  get qp(): QueuePair | undefined {
    return this.#qp;
  }

  /** The state. It changes when a method is called, and when an event is read. */
  get state(): CmState {
    return this.#states.now;
  }

  /**
   * The device of the connection: `Context.open(id.device.name)` opens it for the queue pair. It is `undefined` as long as
   * the id has none: before the address is resolved, or where it listens on all devices.
   */
  get device(): DeviceInfo | undefined {
    const context = handleAt<IbvContext>(readNative(this.#handle, fields.verbs));
    // An id that has a device keeps it.
    return context === null ? undefined : this.#device ??= deviceInfoOf(context);
  }

  /** The port of the device, from 1; 0 as long as the id has no device. */
  get portNum(): number {
    return readNative(this.#handle, fields.port_num);
  }

  /** The address of this side (`rdma_get_local_addr`); `undefined` if there is none yet. */
  get localAddr(): SocketAddress | undefined {
    return this.#addressAt(fields["route.addr.src_storage"]);
  }

  /** The address of the peer (`rdma_get_peer_addr`); `undefined` if there is none yet. */
  get peerAddr(): SocketAddress | undefined {
    return this.#addressAt(fields["route.addr.dst_storage"]);
  }

  #addressAt({ offset }: { readonly offset: number }): SocketAddress | undefined {
    return readSockaddr(nativeView(this.#handle, structs.rdma_cm_id.size), offset);
  }

  /** The port of this side (`rdma_get_src_port`), 0 if there is none yet. */
  get srcPort(): number {
    return hostOrder(rdmacm().rdma_get_src_port(this.#handle));
  }

  /** The port of the peer (`rdma_get_dst_port`), 0 if there is none yet. */
  get dstPort(): number {
    return hostOrder(rdmacm().rdma_get_dst_port(this.#handle));
  }

  /**
   * Sets options (`rdma_set_option`). It checks all of them before it sets the first.
   *
   * @throws {TypeError} If an option is unknown or has the wrong type, or cannot be set any more; `ackTimeout` if the id is for
   * datagrams.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the system refuses. Options before this one, in the order above, are set.
   */
  setOptions(options: CmOptions): void {
    for (const { name, option, value } of readCmOptions(this, options)) {
      const length = BigInt(value.length);
      const args = [this.#handle, constants.RDMA_OPTION_ID, option, value, length] as const;
      callCm("rdma_set_option", `set ${name}`, args);
    }
  }

  /**
   * Sets the options of an enhanced connection establishment that the next message to the peer carries
   * (`rdma_set_local_ece`): those that `QueuePair.queryEce()` gives.
   *
   * @throws {TypeError} If an attribute is missing, is unknown or has the wrong type.
   * @throws {VerbsError} If librdmacm refuses.
   */
  setLocalEce(ece: Ece): void {
    const { view } = eceCodec.write(ece);
    callCm("rdma_set_local_ece", "set connection options", [this.#handle, view]);
  }

  /**
   * The options of an enhanced connection establishment that the last message of the peer carried (`rdma_get_remote_ece`):
   * `QueuePair.setEce()` takes them.
   *
   * @throws {VerbsError} If librdmacm refuses.
   */
  getRemoteEce(): Ece {
    const view = allocStruct(structs.ibv_ece);
    callCm("rdma_get_remote_ece", "get connection options", [this.#handle, view]);
    return eceCodec.read(view);
  }

  /**
   * The attributes that move a queue pair of this connection to a state (`rdma_init_qp_attr`): `QueuePair.modify()` takes
   * them. The methods that connect use it; call it to change an attribute on the way. For datagrams only INIT has
   * attributes.
   *
   * @param qpState INIT, RTR or RTS.
   * @throws {RangeError} If it is another state.
   * @throws {VerbsError} If the connection does not know them yet (EINVAL).
   */
  initQpAttr(qpState: QpState): QpModifyAttr {
    const { INIT, RTR, RTS } = QpState;
    if (qpState !== INIT && qpState !== RTR && qpState !== RTS) {
      throw new RangeError(
        `Cannot use qpState ${nameOf(QpState, qpState)}: it is not INIT, RTR or RTS`,
      );
    }
    return connected.readStateAttr(this.#attrOf(qpState));
  }

  /**
   * Gives the id an address of its own (`rdma_bind_addr`). Port 0 lets the system choose one, which is then
   * `CmId.srcPort`. An id that has the address of a device belongs to that device from then on.
   *
   * **A loopback address stands for all addresses**, as in C: an id that listens on `127.0.0.1` or `::1` takes peers of all
   * networks. `device` of such an id is undefined.
   *
   * @throws {SyntaxError} If the host name is no IP address.
   * @throws {TypeError} If the state is not IDLE, or an argument has the wrong type.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the port is in use (EADDRINUSE; EADDRNOTAVAIL if one of the two ids is bound to all
   * addresses), or no RDMA device has the address (ENODEV, EADDRNOTAVAIL).
   */
  bindAddr(address: SocketAddress): void {
    const sockaddr = sockaddrOf(address);
    this.#states.assert("bindAddr");
    callCm("rdma_bind_addr", "bind address", [this.unsafeHandle, sockaddr], {
      hint: (code) => hintBind(code, readSockaddr(sockaddr)!),
    });
    this.#states.enter("bindAddr");
  }

  /**
   * Finds the device that leads to a peer (`rdma_resolve_addr`), and the peer's hardware address.
   *
   * @param address The address of the peer.
   * @param options The longest time, and the address to send from.
   * @throws {SyntaxError} If a host name is no IP address: `getAddrInfo` finds one.
   * @throws {TypeError} If the state is not IDLE or BOUND.
   * @throws {RangeError} If a number is out of range.
   * @throws {CmError} If the address cannot be resolved. Then it can be tried again.
   * @throws {VerbsError} If the system refuses.
   */
  async resolveAddr(
    address: SocketAddress,
    options: ResolveAddrOptions = {},
  ): Promise<void> {
    return await inTurn(async () => {
      nothingBehind(arguments[2], "resolveAddr(address, { srcAddr, timeout })");
      const sockaddr = sockaddrOf(address);
      const { srcAddr, ...rest } = snapshot(options, "options", ["timeout", "signal", "srcAddr"]);
      const from = srcAddr === undefined ? null : sockaddrOf(srcAddr);
      const { timeout = RESOLVE_MS, signal } = readResolveOptions(rest);
      this.#states.assert("resolveAddr");
      signal?.throwIfAborted();
      const args = [this.unsafeHandle, from, sockaddr, timeout] as const;
      callCm("rdma_resolve_addr", "resolve address", args, {
        hint: (code) => hintResolve(code, from && readSockaddr(from), readSockaddr(sockaddr)),
      });
      this.#states.enter("resolveAddr");
      await this.#step("resolve address", [TYPE.ADDR_RESOLVED], [TYPE.ADDR_ERROR], signal);
    });
  }

  /**
   * Finds the route to the peer (`rdma_resolve_route`).
   *
   * @throws {TypeError} If the state is not ADDR_RESOLVED.
   * @throws {RangeError} If the time is out of range.
   * @throws {CmError} If there is no route. Then it can be tried again.
   * @throws {VerbsError} If the system refuses.
   */
  async resolveRoute(options: ResolveOptions = {}): Promise<void> {
    return await inTurn(async () => {
      const { timeout = RESOLVE_MS, signal } = readResolveOptions(options);
      this.#states.assert("resolveRoute");
      signal?.throwIfAborted();
      const args = [this.unsafeHandle, timeout] as const;
      callCm("rdma_resolve_route", "resolve route", args, {
        hint: (code) => hintResolve(code, this.peerAddr),
      });
      this.#states.enter("resolveRoute");
      await this.#step("resolve route", [TYPE.ROUTE_RESOLVED], [TYPE.ROUTE_ERROR], signal);
    });
  }

  /**
   * Looks up addresses by the names of a host and of a service (`rdma_resolve_addrinfo`), and waits for the answer, which
   * `CmId.queryAddrInfo` gives. With the flag SA of `AddrInfoFlags` it asks the subnet administration of
   * InfiniBand for a service, whose name is `service`; the id must be bound then. `getAddrInfo` does the same without
   * an id, and for older systems.
   *
   * It needs rdma-core 60 and Linux 6.17, or newer ones.
   *
   * @param node The name of the host; `undefined` with the flag PASSIVE or SA.
   * @param service The name of the service, or the port as text; `undefined` for port 0.
   * @param hints What to look for.
   * @throws {TypeError} If an argument has the wrong type, or the state is not IDLE, BOUND, ADDR_RESOLVED or ROUTE_RESOLVED.
   * @throws {CmError} If there is no answer. `status` is that of the event, or what `getaddrinfo(3)` returns.
   * @throws {VerbsError} If an answer is still being looked for or was not taken (EBUSY), librdmacm is older (EOPNOTSUPP), or
   * the system refuses.
   */
  async resolveAddrInfo(
    node: string | undefined,
    service?: string,
    hints: AddrInfoHints = {},
  ): Promise<void> {
    return await inTurn(async () => {
      const lookUp = readLookUp(node, service, hints);
      const { signal, action } = lookUp;
      this.#states.assert("resolveAddrInfo", action);
      signal?.throwIfAborted();
      const failed = new AbortController();
      const ends = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
      // The event may come before the call on the other thread returns. Neither is in progress afterwards.
      const event = this.#step(action, [TYPE.ADDRINFO_RESOLVED], [TYPE.ADDRINFO_ERROR], ends);
      const called = this.#lookUp(lookUp).catch((error) => failed.abort(error));
      await event;
      await called;
    });
  }

  async #lookUp({ host, port, view, action }: LookUp): Promise<void> {
    await abortable({
      owner: this,
      signal: undefined,
      start: () => nonblockingRdmacm().rdma_resolve_addrinfo(this.unsafeHandle, host, port, view),
      finish: ({ value, errno }) => {
        if (value === 0) return;
        throw errno > 0
          ? failure("rdma_resolve_addrinfo", action, errno)
          // librdmacm puts into errno what getaddrinfo(3) has returned.
          : lookUpError(action, errno);
      },
    });
  }

  /**
   * The answer of `CmId.resolveAddrInfo` (`rdma_query_addrinfo`), which can be taken once. The addresses of services
   * of InfiniBand are no IP addresses: `dstAddr` is `undefined` then.
   *
   * @throws {TypeError} If the id is disposed.
   * @throws {VerbsError} If there is no answer (ENOENT), or librdmacm is older than rdma-core 60 (EOPNOTSUPP).
   */
  queryAddrInfo(): AddrInfo[] {
    const list = new BigUint64Array(1);
    callCm("rdma_query_addrinfo", "take addresses", [this.unsafeHandle, list]);
    return answersAt(list);
  }

  /**
   * Makes an event of the program's own (`rdma_write_cm_event`). Loops over the channel of the id get it. It needs
   * rdma-core 60 and Linux 6.17, or newer ones.
   *
   * @param event The kind of event: `CmEventType.USER`.
   * @param status The status of the event, -2^31 to 2^31 - 1.
   * @param arg The value of `CmEvent.arg`, 64 bits.
   * @throws {TypeError} If an argument has the wrong type, or the id is disposed.
   * @throws {RangeError} If the event is another one, or a number is out of range.
   * @throws {VerbsError} If librdmacm is older (EOPNOTSUPP), or the kernel is (EINVAL).
   */
  writeCmEvent(event: CmEventType, status: number, arg: bigint | number): void {
    if (event !== TYPE.USER) {
      throw new RangeError(`Cannot use event ${nameOf(CmEventType, event)}: it is not USER`);
    }
    integer(status, "status", -0x8000_0000, 0x7fff_ffff);
    const value = uint64(arg, "arg");
    callCm("rdma_write_cm_event", "write event", [this.unsafeHandle, event, status, value], {
      hint: (code) => causeOf(EVENT_CAUSES, code, {}),
    });
  }

  /**
   * Listens for peers (`rdma_listen`). Each request is an event CONNECT_REQUEST of the channel, with an id of its own.
   * While as many requests as the backlog wait in the channel, further ones are rejected.
   *
   * @param backlog The most requests that wait, 1 to 2^31 - 1. The default is 128.
   * @throws {TypeError} If the state is not IDLE or BOUND.
   * @throws {RangeError} If the number is out of range.
   * @throws {VerbsError} If the system refuses.
   */
  listen(backlog: number = 128): void {
    positiveInt(backlog, "backlog");
    this.#states.assert("listen");
    callCm("rdma_listen", "listen", [this.unsafeHandle, backlog]);
    this.#events.backlogs.set(this, backlog);
    this.#states.enter("listen");
  }

  /**
   * Moves a queue pair as far as it can go before the peer is known: for RC to INIT, for UD to RTS. Receives can be posted
   * then, before the first message can arrive. `CmId.connect` and `CmId.accept` do it themselves for a
   * queue pair in RESET.
   *
   * @throws {TypeError} If the queue pair is of another device or another transport, or the id has no device yet.
   * @throws {VerbsError} If the device refuses.
   */
  prepare(qp: QueuePair): void {
    const isUd = isOfDatagrams(this.portSpace);
    connected.checkQp(qp, this.device, isUd);
    connected.prepare(qp, isUd, this.#attrOf);
  }

  /**
   * Asks the peer to connect (`rdma_connect`), and waits for the answer. RC needs `CmId.establish` afterwards; in
   * between the program can look at the answer. Over iWARP, and for UD, the connection is established already. iWARP
   * moves the queue pair itself: `qp.state`, which is what this process has set, stays INIT.
   *
   * @param qp The queue pair of this side. It moves to INIT; for UD to RTS. Or its number, 24 bits: then the program moves the
   * queue pair itself, also to ERR at the end.
   * @param param The connection parameters for the peer.
   * @returns The answer. For UD, its `ud` is how datagrams reach the peer.
   * @throws {TypeError} If the state is not ROUTE_RESOLVED, or the queue pair does not fit.
   * @throws {RangeError} If the private data is too long, or a number is out of range.
   * @throws {CmError} If the peer rejects the request or does not answer.
   * @throws {VerbsError} If the system or the device refuses.
   */
  async connect(
    qp: QueuePair | number,
    param: ConnParamInit = {},
    options: AbortOptions = {},
  ): Promise<CmEvent> {
    return await inTurn(async () => {
      const signal = signalOf(options);
      const view = connParamOf(qp, param, "request", serviceOf(this));
      this.#states.assert("connect");
      signal?.throwIfAborted();
      if (typeof qp !== "number") this.prepare(qp);
      callCm("rdma_connect", "connect", [this.unsafeHandle, view]);
      this.#qp = typeof qp === "number" ? undefined : qp;
      this.#states.enter("connect");
      return await this.#step(
        "connect",
        [TYPE.CONNECT_RESPONSE, TYPE.ESTABLISHED],
        REFUSALS,
        signal,
      );
    });
  }

  /**
   * Ends what `CmId.connect` began (`rdma_establish`): the queue pair moves to RTR and RTS, and the peer is informed.
   * States that the program has moved it to itself, by `CmId.initQpAttr`, are skipped. It does nothing where the
   * connection is established already.
   *
   * **What the peer may do** is REMOTE_WRITE, and with `responderResources` REMOTE_READ and REMOTE_ATOMIC too, as in C: unless
   * the program has set `qpAccessFlags` itself, at any time since the queue pair was in RESET.
   *
   * The queue pair is moved on another thread, because on RoCE the kernel looks for the link address of the peer, which may take
   * a second. If the signal aborts, the step goes on: close the id to end it.
   *
   * @throws {TypeError} If the peer has not answered, the queue pair is disposed or is being moved, or the id is closed
   * meanwhile.
   * @throws {CmError} If the connection ends meanwhile.
   * @throws {VerbsError} If the device or the system refuses.
   * @throws The reason of the signal, if it aborts.
   */
  async establish(options: AbortOptions = {}): Promise<void> {
    return await inTurn(async () => {
      const signal = signalOf(options);
      this.#states.assert("establish");
      signal?.throwIfAborted();
      const { state, qp } = this;
      if (state === "ESTABLISHED") return;
      const action = "establish connection";
      await this.#orEnd(action, async () => {
        if (qp !== undefined) await this.#completeLater(qp, "program", signal);
        this.#assertOn(action);
        callCm("rdma_establish", action, [this.unsafeHandle]);
        this.#states.enter("establish");
      }, signal);
    });
  }

  /**
   * Accepts the request that made this id (`rdma_accept`): the queue pair moves to RTS, and the peer gets its number. States
   * that the program has moved it to itself are skipped. It waits until the peer has established the connection. The queue
   * pair is moved on another thread, because on RoCE the kernel looks for the link address of the peer, who is a stranger: see
   * `PeerOptions`.
   *
   * @param qp The queue pair of this side. For UD one queue pair may serve all peers. Or its number, 24 bits: then the program
   * moves the queue pair itself, to RTS before it accepts, and to ERR at the end.
   * @param param What the peer gets to know.
   * @throws {TypeError} If the state is not REQUESTED, or the queue pair does not fit.
   * @throws {RangeError} If the private data is too long, or a number is out of range.
   * @throws {CmError} If the peer goes away meanwhile.
   * @throws {VerbsError} If the system or the device refuses; EINVAL if the peer has taken back its request.
   */
  async accept(
    qp: QueuePair | number,
    param: ConnParamInit = {},
    options: AbortOptions = {},
  ): Promise<void> {
    return await inTurn(async () => {
      const signal = signalOf(options);
      const view = connParamOf(qp, param, "reply", serviceOf(this));
      this.#states.assert("accept");
      signal?.throwIfAborted();
      const service = serviceOf(this);
      const own = typeof qp === "number" ? undefined : qp;
      const action = "accept connection";
      let established: Promise<CmEvent> | undefined;
      await this.#orEnd(action, async () => {
        if (own !== undefined) this.prepare(own);
        // iWARP moves the queue pair itself.
        if (own !== undefined && service === "RC") {
          await this.#completeLater(own, "connection", signal);
        }
        this.#assertOn(action);
        callCm("rdma_accept", action, [this.unsafeHandle, view], {
          hint: (code) => this.#whyUnknown(code),
        });
        this.#qp = own;
        this.#states.enter(service === "UD" ? "acceptDatagrams" : "accept");
        // A request for datagrams ends with the reply.
        if (service === "UD") return;
        // At once: who waits on the channel reads the event, which is lost for a step that begins later.
        const failures = [...REFUSALS, TYPE.DISCONNECTED];
        established = this.#step(action, [TYPE.ESTABLISHED], failures, signal);
        established.catch(() => {});
      }, signal);
      await established;
    });
  }

  /**
   * Rejects the request that made this id (`rdma_reject`), or the answer that `CmId.connect` received. The id can only
   * be closed afterwards.
   *
   * @param given Data for the peer's program, or options.
   * @throws {TypeError} If the state is not REQUESTED or RESPONDED, or an argument has the wrong type.
   * @throws {RangeError} If the private data is too long.
   * @throws {VerbsError} If the system refuses; EINVAL if the peer has taken back its request.
   */
  reject(given?: Uint8Array | RejectOptions): void {
    nothingBehind(arguments[1], "reject({ privateData, ece })");
    const { privateData, ece = false } = readRejection(given);
    const hasEce = boolean(ece, "ece");
    const bytes = checkPrivateData(privateData, "rejection", serviceOf(this));
    this.#states.assert("reject");
    const name = hasEce ? "rdma_reject_ece" : "rdma_reject";
    callCm(name, "reject connection", [this.unsafeHandle, bytes, bytes.length], {
      hint: (code) => this.#whyUnknown(code),
    });
    this.#states.enter("reject");
    this.#events.endSteps(this, "the connection was rejected");
    connected.stop(this.#qp);
  }

  /**
   * Reports that the first message has arrived before the peer's confirmation (`rdma_notify`).
   *
   * @throws {TypeError} If the state is not ACCEPTING or ESTABLISHED.
   * @throws {VerbsError} If the system refuses.
   */
  notify(event: EventType = EventType.COMM_EST): void {
    integer(event, "event", 0, 0x7fff_ffff);
    this.#states.assert("notify");
    callCm("rdma_notify", "notify", [this.unsafeHandle, event]);
  }

  /**
   * Ends the connection (`rdma_disconnect`). The queue pair moves to ERR: requests that have not completed end with an error.
   * Then it waits until the peer has answered.
   *
   * @param options The most milliseconds to wait for the peer, 1 to 2^31 - 1. Without it the wait may take minutes, if the
   * peer does not answer.
   * @returns Whether the peer has answered.
   * @throws {TypeError} If there is no connection, which ids for datagrams never have.
   * @throws {RangeError} If the time is out of range.
   * @throws {VerbsError} If the system refuses.
   */
  async disconnect(options: ResolveOptions = {}): Promise<boolean> {
    return await inTurn(async () => {
      const { timeout, signal } = readResolveOptions(options);
      this.#states.assert("disconnect");
      signal?.throwIfAborted();
      if (this.state === "DISCONNECTED") return true;
      connected.stop(this.#qp);
      callCm("rdma_disconnect", "disconnect", [this.unsafeHandle]);
      this.#states.enter("disconnect");
      if (timeout === undefined) {
        await this.disconnected({ signal });
        return true;
      }
      const late = new Error("the peer does not answer");
      using deadline = new Deadline(timeout, () => late, [signal]);
      try {
        await this.disconnected({ signal: deadline.signal });
        return true;
      } catch (error) {
        if (error !== late) throw error;
        return false;
      }
    });
  }

  /**
   * Waits until the connection has ended. If the peer ends it, the queue pair moves to ERR and the peer gets its answer when
   * the event is read: while this method waits, or anything else waits for events of the channel.
   *
   * @throws {TypeError} If there is no connection and no request, or the id is for datagrams; if this side rejects the
   * answer or the request meanwhile.
   * @throws {CmError} If the connection fails or has failed, the device goes away, or the neighbour that leads to the peer gets
   * another hardware address (Linux 6.0 or newer). Then the connection still exists, and its packets get lost:
   * `CmId.disconnect` ends it.
   * @throws The reason of the signal, if it aborts.
   */
  async disconnected(options: AbortOptions = {}): Promise<void> {
    return await inTurn(async () => {
      const signal = signalOf(options);
      this.#states.assert("disconnected");
      const { now: state, end } = this.#states;
      signal?.throwIfAborted();
      if (state === "DISCONNECTED") return;
      if (end !== undefined) throw this.#error("wait for the end", end);
      // After disconnecting only its end comes, with an answer of the peer or without one.
      const failures = state === "DISCONNECTING" ? [] : REFUSALS;
      await this.#step("wait for the end", [TYPE.DISCONNECTED], failures, signal);
    });
  }

  /**
   * Joins a multicast group (`rdma_join_multicast`), also at the switches in between. If the queue pair is to receive,
   * attach it afterwards: `QueuePair.attachMcast()` with the GID of the result.
   *
   * @param address The IP address of the group, such as `"239.1.2.3"`. Over RoCE Linux supports only IPv4 groups. An
   * IPv6 address may have a network interface behind it: `ff12::1%eth0`.
   * @returns How datagrams reach the group: `ahAttr` for `new AddressHandle(pd, ahAttr)`, and the queue pair number and
   * qkey for sends.
   * @throws {TypeError} If the id has no device yet.
   * @throws {RangeError} If the address is that of a host.
   * @throws {CmError} If the group cannot be joined.
   * @throws {VerbsError} If the system refuses, for instance EINVAL if the id is not for datagrams, or ENOSYS over iWARP.
   */
  async joinMulticast(
    address: string,
    options: JoinMulticastOptions = {},
  ): Promise<UdParam> {
    return await inTurn(async () => {
      const given = snapshot(options, "options", ["signal", "sendOnly"]);
      const signal = checkSignal(given.signal);
      const sendOnly = given.sendOnly !== undefined && boolean(given.sendOnly, "sendOnly");
      const sockaddr = groupSockaddrOf(address);
      this.#states.assert("joinMulticast");
      if (this.device === undefined) {
        const { hostname } = this.localAddr!;
        throw new TypeError(
          `Cannot join group: the id has no device, because no device has ${hostname}`,
        );
      }
      signal?.throwIfAborted();
      const number = this.#groups.join(this.unsafeHandle, sockaddr, sendOnly);
      const isEnd = (event: CmEvent): boolean =>
        event.event === TYPE.DEVICE_REMOVAL || numbers.get(event) === number;
      const event = await this.#events.step(this, isEnd, signal, number);
      if (event.event !== TYPE.MULTICAST_JOIN) throw this.#error("join group", event);
      return event.ud!;
    });
  }

  /**
   * Leaves a multicast group (`rdma_leave_multicast`). A wait of `CmId.joinMulticast` for this group ends with a
   * TypeError. Closing the id leaves its groups too.
   *
   * @param address The address, as it was joined. If a group was joined several times, the last join is undone.
   * @throws {VerbsError} If the id has not joined it (EADDRNOTAVAIL).
   */
  leaveMulticast(address: string): void {
    const sockaddr = groupSockaddrOf(address);
    const left = this.#groups.leave(this.unsafeHandle, sockaddr);
    if (left !== undefined) this.#events.endSteps(this, "the group was left", left);
  }

  /**
   * Moves the id to another channel (`rdma_migrate_id`), together with its events that wait there: for instance to a
   * channel of its own, after it was accepted on that of the listener. Requests that wait for a listener move with it.
   *
   * @throws {TypeError} If the channel is disposed, or a method of the id is waiting.
   * @throws {VerbsError} If the system refuses.
   */
  migrate(channel: EventChannel): void {
    instance(channel, EventChannel, "channel");
    assertOpen(this);
    const from = this.#events;
    const old = this.#channel;
    if (from.isBusy(this)) throw new TypeError("Cannot migrate: a method of the id is waiting");
    callCm("rdma_migrate_id", "migrate", [this.unsafeHandle, channel.unsafeHandle]);
    if (channel === old) return;
    const handler = from.handlers.get(this.#address)!;
    from.handlers.delete(this.#address);
    moveTo(this, old, channel);
    this.#channel = channel;
    const to = this.#events;
    to.handlers.set(this.#address, handler);
    to.backlogs.set(this, from.backlogs.get(this) ?? 0);
    to.wake();
    for (const event of from.takeOf(this, true)) {
      // Requests to the id move to the new channel, as the kernel moves those that it has not reported yet.
      if (event.id !== this) event.id.migrate(channel);
      to.deliver(event);
    }
  }

  /** Moves the queue pair to RTS, in part on another thread. The wait ends with the id. */
  async #completeLater(
    qp: QueuePair,
    cause: Cause,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (this.state === "RESPONDED") connected.grant(qp, this.#attrOf);
    const ending = this.#ending ??= new AbortController();
    const ends = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
    this.#states.isMoving = true;
    try {
      await connected.beginLater(qp, this.#attrOf, cause, ends);
    } finally {
      this.#states.isMoving = false;
    }
    assertOpen(this);
    connected.complete(qp, this.#attrOf);
  }

  /**
   * Does a step of a connection. If the connection has ended, the system only says that it does not know it: the event
   * has the reason.
   */
  async #orEnd(
    action: string,
    step: () => Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await step();
    } catch (error) {
      const isUnknown = error instanceof VerbsError && ["EINVAL", "ENOTCONN"].includes(error.code);
      if (!isUnknown || !isOpen(this)) throw error;
      using deadline = new Deadline(REASON_MS, () => error, [signal]);
      await this.disconnected({ signal: deadline.signal }).catch(() => {});
      const { end } = this.#states;
      if (end !== undefined) throw this.#error(action, end);
      throw error;
    }
  }

  /** Linux has no event for a request that the peer takes back before it is answered. */
  #whyUnknown(code: string): string | undefined {
    if (this.state !== "REQUESTED" || isKnown(this.#handle)) return undefined;
    return causeOf(REQUEST_CAUSES, code, {});
  }

  /** Checks that the connection has not ended during a step. */
  #assertOn(action: string): void {
    const { end } = this.#states;
    if (end !== undefined) throw this.#error(action, end);
  }

  /** Waits for the end of a step. */
  async #step(
    action: string,
    ends: readonly CmEventType[],
    failures: readonly CmEventType[],
    signal: AbortSignal | undefined,
  ): Promise<CmEvent> {
    const all = [...ends, ...failures];
    const isEnd = ({ event: type }: CmEvent): boolean => all.includes(type) || this.#states.isOver;
    const event = await this.#events.step(this, isEnd, signal);
    if (ends.includes(event.event)) return event;
    throw this.#error(action, event);
  }

  #error(action: string, event: CmEvent): CmError {
    const { conn, ud } = event;
    const peer = isOpen(this) ? this.peerAddr : undefined;
    return eventError(action, event, this.#states.exists, (conn ?? ud)?.privateData, peer);
  }

  /** Reads an event of this id, or a request to it. */
  #receive({ event: type, status, id: address, view, privateData }: NativeEvent): CmEvent {
    const isRequest = type === TYPE.CONNECT_REQUEST;
    const id = isRequest ? this.#request(address) : this;
    const { offset } = structs.rdma_cm_event.fields.param;
    const isGroup = OF_GROUPS.includes(type);
    const hasParam = isGroup || OF_PEERS.includes(type);
    const isUd = hasParam && (isGroup || serviceOf(this) === "UD");
    const event: CmEvent = {
      event: type,
      id,
      listenId: isRequest ? this : undefined,
      status,
      conn: hasParam && !isUd ? readConnParam(view, offset, privateData) : undefined,
      ud: isUd ? readUdParam(view, offset, privateData) : undefined,
      arg: type === TYPE.USER ? readField(view, { offset, type: "u64" }) : undefined,
    };
    if (isGroup) numbers.set(event, this.#groups.answered(handleOf(this), view, type));
    this.#follow(event);
    return event;
  }

  #request(address: bigint): CmId {
    return new CmId(this.#channel, made(handleAt<RdmaCmId>(address)!));
  }

  /** Enters the state that an event leads to. */
  #follow(event: CmEvent): void {
    const { state } = this;
    if (!this.#states.follow(event)) return;
    connected.stop(this.#qp);
    if (this.state !== "DISCONNECTED" || state === "DISCONNECTING") return;
    try {
      // Without an answer the peer waits for minutes.
      callCm("rdma_disconnect", "answer", [this.unsafeHandle]);
    } catch {
      // The connection no longer exists.
    }
  }

  #closing(): void {
    const events = this.#events;
    const { isConnected } = this.#states;
    events.handlers.delete(this.#address);
    for (const { id } of events.takeOf(this, true)) {
      // Requests that nobody has taken are closed. The other events of this id are only dropped.
      if (id !== this) closeQuietly(id);
    }
    const why = "the connection identifier was disposed";
    events.endSteps(this, why);
    this.#ending?.abort(new TypeError(`Cannot move queue pair: ${why}`));
    this.#groups.leaveAll(handleOf(this));
    if (isConnected) connected.stop(this.#qp);
  }
}

/** Whether the system knows the connection of an id. */
function isKnown(id: RdmaCmId): boolean {
  try {
    connected.attrOf(id, QpState.INIT);
    return true;
  } catch {
    return false;
  }
}

function closeQuietly(id: CmId): void {
  try {
    id.close();
  } catch {
    // The channel tries to close it again, and reports the error.
  }
}

function hostOrder(value: number): number {
  return (value & 0xff) << 8 | value >> 8;
}

/** Reads the argument of reject(): private data alone, or options. */
function readRejection(given: Uint8Array | RejectOptions | undefined): RejectOptions {
  if (given === undefined || ArrayBuffer.isView(given)) return { privateData: given };
  return snapshot(given, "options", ["privateData", "ece"]);
}
