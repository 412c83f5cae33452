import type { IbvContext, RdmaCmId } from "../../ffi/handles.ts";
import { constants, structs } from "../../ffi/layout.ts";
import { handleAt, nativeView } from "../../ffi/pointers.ts";
import { rdmacm } from "../../ffi/rdmacm.ts";
import { allocStruct, readNative } from "../../ffi/struct.ts";
import { boolean, integer, snapshot, uint8 } from "../../internal/checks.ts";
import { nameOf } from "../core/enums.ts";
import { type BlockingCall, callLater, callNow, type Cause } from "../core/abortable.ts";
import { checked } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import type { Resource } from "../core/resource.ts";
import { type DeviceInfo, TransportType } from "../device/device.ts";
import { type Ece, eceCodec, qpAttrCodec, type QpAttrInit } from "../queue_pair/qp_attr.ts";
import { hintModify } from "../queue_pair/hints.ts";
import { QpState } from "../queue_pair/qp_enums.ts";
import type { QueuePair } from "../queue_pair/queue_pair.ts";
import type { CmService } from "./conn_param.ts";
import { type CmState, PortSpace } from "./enums.ts";
import { callCm } from "./errors.ts";
import { deviceInfoOf } from "./functions.ts";
import { readSockaddr, type SocketAddress } from "./socket_address.ts";

const { fields, size } = structs.rdma_cm_id;

/**
 * Options of a {@linkcode CmId} (`rdma_set_option`). Those that are left out keep their values.
 *
 * @category Connections
 */
export interface CmOptions {
  /** Type of service of the connection's packets, 0 to 255. Set it before the address is resolved. */
  readonly tos?: number;
  /** Whether an address may be bound that an older id has used. Set it before the id is bound; `false` only then. */
  readonly reuseAddr?: boolean;
  /** Whether an id that is bound to an IPv6 address takes no IPv4. Set it before the id listens or resolves. */
  readonly afOnly?: boolean;
  /**
   * Time to wait for an acknowledgement, as an exponent 0 to 31: 4.096 us * 2^ackTimeout. Not for datagrams. Linux 5.3 or
   * newer.
   */
  readonly ackTimeout?: number;
}

interface OptionRule<V> {
  readonly option: number;
  readonly bytes: (value: V) => Uint8Array<ArrayBuffer>;
  /** Says what is in the way; the kernel only says EINVAL, when others are set already. */
  readonly obstacle: (id: CmIdentity, value: V) => string | undefined;
}

/** Writes a C `int`. */
function intOf(name: keyof CmOptions): (value: boolean) => Uint8Array<ArrayBuffer> {
  return (value) => Uint8Array.of(boolean(value, name) ? 1 : 0, 0, 0, 0);
}

const OPTIONS: { readonly [K in keyof CmOptions]-?: OptionRule<NonNullable<CmOptions[K]>> } = {
  tos: {
    option: constants.RDMA_OPTION_ID_TOS,
    bytes: (value) => Uint8Array.of(uint8(value, "tos")),
    obstacle: () => undefined,
  },
  reuseAddr: {
    option: constants.RDMA_OPTION_ID_REUSEADDR,
    bytes: intOf("reuseAddr"),
    obstacle: ({ state }, value) =>
      state === "IDLE" || value && state !== "LISTENING" ? undefined : `its state is ${state}`,
  },
  afOnly: {
    option: constants.RDMA_OPTION_ID_AFONLY,
    bytes: intOf("afOnly"),
    obstacle: ({ state }) =>
      state === "IDLE" || state === "BOUND" ? undefined : `its state is ${state}`,
  },
  ackTimeout: {
    option: constants.RDMA_OPTION_ID_ACK_TIMEOUT,
    bytes: (value) => Uint8Array.of(integer(value, "ackTimeout", 0, 31)),
    obstacle: (id) => serviceOf(id) === "UD" ? "it is for datagrams" : undefined,
  },
};

/** What changes in an id. */
export interface CmCore {
  state: CmState;
}

/**
 * What a connection identifier is and has: its state, addresses, device and options. {@linkcode CmId} inherits it.
 *
 * @category Connections
 */
export abstract class CmIdentity extends NativeResource<RdmaCmId> {
  /** What the port numbers count, and which transport the id has. */
  readonly portSpace: PortSpace;
  readonly #core: CmCore;
  #device: DeviceInfo | undefined;

  /** @ignore */
  protected constructor(
    kind: NativeKind<RdmaCmId, never>,
    handle: RdmaCmId,
    parents: readonly Resource[],
    core: CmCore,
  ) {
    super(kind, handle, parents);
    this.#core = core;
    this.portSpace = readNative(handle, fields.ps) as PortSpace;
  }

  /** The handle of an object of this class. Called on an object of another class, a method stops here. */
  get #handle(): RdmaCmId {
    return this.unsafeHandle;
  }

  /** The state. It changes when a method is called, and when an event is read. */
  get state(): CmState {
    return this.#core.state;
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
  get localAddress(): SocketAddress | undefined {
    return this.#address(fields["route.addr.src_storage"]);
  }

  /** The address of the peer (`rdma_get_peer_addr`); `undefined` if there is none yet. */
  get peerAddress(): SocketAddress | undefined {
    return this.#address(fields["route.addr.dst_storage"]);
  }

  #address({ offset }: { readonly offset: number }): SocketAddress | undefined {
    return readSockaddr(nativeView(this.#handle, size), offset);
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
   * Sets options (`rdma_set_option`). It checks all before it sets one.
   *
   * @throws {TypeError} If an option is unknown or has the wrong type, or cannot be set any more; `ackTimeout` if the id is for
   * datagrams.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the system refuses. Options before this one, in the order above, are set.
   */
  setOptions(options: CmOptions): void {
    const names = Object.keys(OPTIONS) as (keyof CmOptions)[];
    const given = snapshot(options, "options", names);
    const values = names.filter((name) => given[name] !== undefined).map((name) => {
      const { option, bytes, obstacle } = OPTIONS[name] as OptionRule<unknown>;
      return { name, option, value: bytes(given[name]), obstacle };
    });
    for (const { name, obstacle } of values) {
      const reason = obstacle(this, given[name]);
      if (reason === undefined) continue;
      throw new TypeError(`Cannot set ${name} of connection identifier: ${reason}`);
    }
    for (const { name, option, value } of values) {
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
  initQpAttr(qpState: QpState): QpAttrInit {
    const { INIT, RTR, RTS } = QpState;
    if (qpState !== INIT && qpState !== RTR && qpState !== RTS) {
      throw new RangeError(
        `Cannot use qpState ${nameOf(QpState, qpState)}: it is not INIT, RTR or RTS`,
      );
    }
    const { view, mask } = attrOf(this, qpState);
    return qpAttrCodec.read(view, 0, mask);
  }
}

/** The attributes that librdmacm writes for a state, and their mask. */
function attrOf(
  id: CmIdentity,
  qpState: QpState,
): { readonly view: DataView<ArrayBuffer>; readonly mask: number } {
  const { view } = qpAttrCodec.write({ qpState });
  const mask = new Int32Array(1);
  const action = `find attributes of queue pair for ${nameOf(QpState, qpState)}`;
  callCm("rdma_init_qp_attr", action, [id.unsafeHandle, view, mask]);
  return { view, mask: mask[0]! };
}

/**
 * Moves a connected queue pair to a state with the attributes that librdmacm writes. They are passed on as they are: reading
 * and writing each of them in between took most of the time of a connection.
 */
export function moveConnected(qp: QueuePair, id: CmIdentity, qpState: QpState): void {
  callNow(moveTo(qp, id, qpState));
}

/** {@linkcode moveConnected} on another thread. The queue pair exists until the call ends. */
export async function moveConnectedLater(
  qp: QueuePair,
  id: CmIdentity,
  qpState: QpState,
  cause: Cause,
  signal: AbortSignal | undefined,
): Promise<void> {
  await callLater({ ...moveTo(qp, id, qpState), cause }, signal);
}

function moveTo(
  qp: QueuePair,
  id: CmIdentity,
  qpState: QpState,
): BlockingCall<"ibv_modify_qp", void> {
  const { view, mask } = attrOf(id, qpState);
  const from = qp.state;
  return {
    owner: qp,
    verb: "ibv_modify_qp",
    args: () => [qp.unsafeHandle, view, mask],
    finish: ({ value }) => {
      checked("ibv_modify_qp", { fails: "code" }, value, "modify queue pair", {
        detail: () => `RC ${qp.qpNum}, to ${nameOf(QpState, qpState)}`,
        hint: (code) =>
          hintModify(code, {
            type: qp.type,
            context: qp.context,
            from,
            given: qpAttrCodec.read(view, 0, mask),
          }),
      });
    },
  };
}

/** How the connections of an id are made: the limits of private data depend on it. */
export function serviceOf({ portSpace, device }: CmIdentity): CmService {
  if (portSpace === PortSpace.UDP || portSpace === PortSpace.IPOIB) return "UD";
  return device?.transportType === TransportType.IWARP ? "iWARP" : "RC";
}

function hostOrder(value: number): number {
  return (value & 0xff) << 8 | value >> 8;
}
