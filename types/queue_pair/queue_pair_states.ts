import type { IbvQp } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { allocStruct, readField, readNative } from "../../ffi/struct.ts";
import { integer, snapshot, uint24, uint32 } from "../../internal/checks.ts";
import { inTurn } from "../../internal/turns.ts";
import {
  type BlockingCall,
  callLater,
  callNow,
  type PeerOptions,
  peerOptions,
} from "../core/abortable.ts";
import { nameOf } from "../core/enums.ts";
import { call, checked } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen, isOpen, type Resource } from "../core/resource.ts";
import { nameIn, namesIn, shown } from "../core/shown.ts";
import { registerElement } from "../device/async_events.ts";
import { checkPort, type Context } from "../device/context.ts";
import { LinkLayer, Mtu, mtuBytes } from "../device/port.ts";
import { AccessFlags } from "../memory/reg_mr.ts";
import { WrOpcode } from "../work/work_request.ts";
import {
  attrFor,
  choose,
  type Chosen,
  connection,
  datagramPath,
  qpAddressOf,
  type QpInitialization,
  RC_CHOICES,
  type RcActivation,
  UC_CHOICES,
  type UcActivation,
  type UdActivation,
} from "./activation.ts";
import { hintModify } from "./hints.ts";
import type { AhAttrInit } from "../address/ah_attr.ts";
import type { QpAddress } from "./qp_address.ts";
import {
  type Ece,
  eceCodec,
  type QpAttr,
  qpAttrCodec,
  type QpAttrInit,
  qpAttrReader,
  type QpCap,
  qpCapCodec,
  type QpRateLimitAttr,
  rateLimitCodec,
} from "./qp_attr.ts";
import { MigState, QpAttrMask, QpState, QpType } from "./qp_enums.ts";

/** All attributes that `ibv_query_qp` reports, the lowest bits. It refuses newer ones, which can only be set. */
const ALL = Object.values(QpAttrMask)
  .filter((bit) => bit < QpAttrMask.RATE_LIMIT)
  .reduce((all: number, bit) => all | bit, 0);

export interface QpKind<Q extends QueuePairStates> extends NativeKind<IbvQp, Q> {
  /**
   * Runs after each modification, with the largest message in bytes, and whether no send is outstanding any more. It must
   * not throw.
   */
  readonly modified: (qp: Q, maxMessage: number, endsSends: boolean) => void;
}

/** Whether the program has chosen what peers may do with a queue pair since it was reset: nothing else grants it then. */
export let hasOwnAccess: (qp: QueuePairStates) => boolean;

/**
 * The states and the attributes of a queue pair. {@linkcode QueuePair} inherits them.
 *
 * @category Queue pairs
 */
export abstract class QueuePairStates extends NativeResource<IbvQp> {
  /** The device that the queue pair belongs to. */
  readonly context: Context;
  /** The transport service. */
  readonly type: QpType;
  /** The number of the queue pair, 24 bits. Peers address it by this number. */
  readonly qpNum: number;
  readonly #context: Context;
  readonly #type: QpType;
  readonly #kind: QpKind<QueuePairStates>;
  #port: number | undefined;
  /** What {@linkcode QueuePairStates.init} has chosen. */
  #chosen: Chosen | undefined;
  #hasOwnAccess = false;

  static {
    hasOwnAccess = (qp) => qp.#hasOwnAccess;
  }

  /** @ignore */
  protected constructor(
    kind: QpKind<never>,
    handle: IbvQp,
    parents: readonly Resource[],
    context: Context,
    type: QpType,
  ) {
    super(kind, handle, parents);
    registerElement(this);
    this.#kind = kind as unknown as QpKind<QueuePairStates>;
    this.context = this.#context = context;
    this.type = this.#type = type;
    this.qpNum = readNative(handle, structs.ibv_qp.fields.qp_num);
  }

  /** The handle of an object of this class. Called on an object of another class, a method stops here. */
  get #handle(): IbvQp {
    return this.unsafeHandle;
  }

  /** The state, as this process last set or queried it. {@linkcode QueuePairStates.query} asks the device. */
  get state(): QpState {
    return readNative(this.#handle, structs.ibv_qp.fields.state) as QpState;
  }

  /**
   * Sets the attributes that are given (`ibv_modify_qp`). The mask follows from them. On RoCE the kernel resolves the link
   * address of the peer when `ahAttr` is given, which may block for a second: {@linkcode QueuePairStates.modifyAsync} does
   * not block.
   *
   * @throws {TypeError} If no attribute is given, one is unknown, or one has the wrong type.
   * @throws {RangeError} If a number is out of range, or the device has no such port.
   * @throws {VerbsError} If the device refuses. The hint names missing attributes or a wrong order of states.
   */
  modify(attr: QpAttrInit): void {
    callNow(this.#modification(attr));
  }

  /**
   * {@linkcode QueuePairStates.modify} on another thread. The queue pair exists until the call ends, even if it is disposed
   * meanwhile. A modification that ends sends, such as one to RESET, waits for nobody: it is done at once.
   *
   * If the signal aborts, the call rejects with the signal's reason. A modification that has begun goes on: reset or close
   * the queue pair to undo it.
   *
   * @throws As {@linkcode QueuePairStates.modify}; {TypeError} if the queue pair is disposed in the meantime.
   */
  async modifyAsync(attr: QpAttrInit, options: PeerOptions = {}): Promise<void> {
    await inTurn(() => this.#modifyLater(attr, options));
  }

  async #modifyLater(attr: QpAttrInit, options: PeerOptions): Promise<void> {
    const { signal, forStranger } = peerOptions(options);
    const modification = this.#modification(attr);
    signal?.throwIfAborted();
    // What is posted during such a call would be taken for a send that it has ended.
    if (modification.endsSends) return callNow(modification);
    await callLater({ ...modification, cause: forStranger ? "connection" : "program" }, signal);
  }

  /** Reads and checks attributes. Returns what sets them. */
  #modification(
    attr: QpAttrInit,
  ): BlockingCall<"ibv_modify_qp", void> & { readonly endsSends: boolean } {
    const { view, mask, given } = qpAttrCodec.write(attr);
    if (mask === 0) throw new TypeError("Cannot modify queue pair: no attribute is given");
    const from = this.state;
    this.#checkPorts(given);
    const maxMessage = this.#maxMessage(given.portNum ?? this.#port);
    const ends = endsSends(from, given);
    const done = (): void => {
      this.#port = given.portNum ?? this.#port;
      if (given.qpState === QpState.RESET) this.#hasOwnAccess = false;
      if (given.qpAccessFlags !== undefined) this.#hasOwnAccess = true;
      this.#kind.modified(this, maxMessage, ends);
    };
    return {
      owner: this,
      verb: "ibv_modify_qp",
      args: () => [this.#handle, view, mask],
      finish: ({ value }) => {
        checked("ibv_modify_qp", { fails: "code" }, value, "modify queue pair", {
          detail: () =>
            `${nameOf(QpType, this.#type)} ${this.qpNum}, ${Object.keys(given).join(", ")}`,
          hint: (code) => hintModify(code, { type: this.type, context: this.context, from, given }),
        });
        done();
      },
      // Nobody waits for it, and yet it has changed the queue pair.
      discard: ({ value }) => {
        if (value === 0 && isOpen(this)) done();
      },
      endsSends: ends,
    };
  }

  #checkPorts({ portNum, altPortNum, ahAttr, altAhAttr }: QpAttrInit): void {
    for (const port of [portNum, altPortNum, ahAttr?.portNum, altAhAttr?.portNum]) {
      if (port !== undefined) checkPort(this.#context, port);
    }
  }

  /** A datagram is one packet. A longer message would be dropped without an error. */
  #maxMessage(port: number | undefined): number {
    const isDatagram = this.#type === QpType.UD || this.#type === QpType.DRIVER;
    if (!isDatagram || port === undefined) return Infinity;
    const { activeMtu, linkLayer, maxMsgSz } = this.#context.queryPort(port);
    // An Elastic Fabric Adapter: its packets are longer than any code of an MTU says.
    if (linkLayer === LinkLayer.UNSPECIFIED) return maxMsgSz;
    // A port that is down may not report an MTU.
    return Object.values<number>(Mtu).includes(activeMtu) ? mtuBytes(activeMtu) : Infinity;
  }

  /**
   * Moves the queue pair from RESET to INIT, with a port and a GID of its own. It is the first half of the way to RTS:
   * {@linkcode QueuePairStates.activateRc} and {@linkcode QueuePairStates.activateUc} are the second, and
   * {@linkcode QueuePairStates.activateUd} is both. Receives can be posted in between, and
   * {@linkcode QueuePairStates.address} is what a peer must know.
   *
   * @example Two queue pairs that connect to each other
   * ```ts
   * import { AccessFlags, type QpAddress, type QueuePair } from "@rdma/ibverbs";
   *
   * async function connect(qp: QueuePair, exchange: (mine: QpAddress) => Promise<QpAddress>): Promise<void> {
   *   qp.init({ portNum: 1, gidIndex: 1, qpAccessFlags: AccessFlags.REMOTE_WRITE });
   *   qp.activateRc(await exchange(qp.address));
   * }
   * ```
   *
   * @throws As {@linkcode QueuePairStates.modify}; {TypeError} if an attribute is missing.
   */
  init(initialization: QpInitialization): void {
    const chosen = choose(this.#type, this.#context, initialization);
    const { portNum, pkeyIndex, qpAccessFlags, qkey = 0 } = chosen;
    const attr = { portNum, pkeyIndex, qpAccessFlags, qkey };
    this.modify(attrFor(this.#type, QpState.INIT, attr));
    this.#chosen = chosen;
  }

  /**
   * What a peer must know to connect to this queue pair, or to send datagrams to it. It is a JSON value.
   *
   * @throws {TypeError} Before {@linkcode QueuePairStates.init} or {@linkcode QueuePairStates.activateUd}; on RoCE, if they were
   * called without `gidIndex`.
   * @throws {VerbsError} If the device does not answer.
   */
  get address(): QpAddress {
    return qpAddressOf(this.#type, this.qpNum, this.#context, this.#choices());
  }

  #choices(): Chosen {
    if (this.#chosen !== undefined) return this.#chosen;
    throw new TypeError("Cannot use queue pair: init() or activateUd() was not called");
  }

  /**
   * Makes an RC queue pair ready to receive and to send: it moves from INIT to RTR and RTS. It does the same for the
   * queue pairs of an extended reliable connection (XRC).
   *
   * @param peer The address of the peer, which the peer's {@linkcode QueuePairStates.address} gave.
   * @param options Choices that differ from the defaults.
   * @throws As {@linkcode QueuePairStates.init}; {TypeError} if the queue pair is of another type, or `init()` was not
   * called.
   */
  activateRc(peer: QpAddress, options: RcActivation = {}): void {
    this.#activate(this.#connectionRc("activateRc", peer, options));
  }

  /**
   * {@linkcode QueuePairStates.activateRc} on another thread, as {@linkcode QueuePairStates.modifyAsync}: on RoCE the kernel
   * may look for the link address of the peer for a second.
   *
   * @throws As {@linkcode QueuePairStates.activateRc} and {@linkcode QueuePairStates.modifyAsync}.
   */
  async activateRcAsync(
    peer: QpAddress,
    options: RcActivation = {},
    waiting: PeerOptions = {},
  ): Promise<void> {
    await this.#activateAsync(
      () => this.#connectionRc("activateRcAsync", peer, options),
      waiting,
    );
  }

  #connectionRc(method: string, peer: QpAddress, options: RcActivation): QpAttrInit {
    this.#assertType(method, [QpType.RC, QpType.XRC_SEND, QpType.XRC_RECV]);
    return this.#connection(peer, snapshot(options, "activation", RC_CHOICES));
  }

  /**
   * Makes a UC queue pair ready to receive and to send: it moves from INIT to RTR and RTS.
   *
   * @param peer The address of the peer, which the peer's {@linkcode QueuePairStates.address} gave.
   * @param options Choices that differ from the defaults.
   * @throws As {@linkcode QueuePairStates.activateRc}.
   */
  activateUc(peer: QpAddress, options: UcActivation = {}): void {
    this.#activate(this.#connectionUc("activateUc", peer, options));
  }

  /**
   * {@linkcode QueuePairStates.activateUc} on another thread, as {@linkcode QueuePairStates.activateRcAsync}.
   *
   * @throws As {@linkcode QueuePairStates.activateUc} and {@linkcode QueuePairStates.modifyAsync}.
   */
  async activateUcAsync(
    peer: QpAddress,
    options: UcActivation = {},
    waiting: PeerOptions = {},
  ): Promise<void> {
    await this.#activateAsync(
      () => this.#connectionUc("activateUcAsync", peer, options),
      waiting,
    );
  }

  #connectionUc(method: string, peer: QpAddress, options: UcActivation): QpAttrInit {
    this.#assertType(method, [QpType.UC]);
    return this.#connection(peer, snapshot(options, "activation", UC_CHOICES));
  }

  #assertType(method: string, types: readonly QpType[]): void {
    if (types.includes(this.#type)) return;
    throw new TypeError(
      `Cannot use ${method}(): the type of the queue pair is ${nameOf(QpType, this.#type)}`,
    );
  }

  #connection(peer: QpAddress, options: RcActivation): QpAttrInit {
    return connection(this.#type, this.#context, this.#choices(), peer, options);
  }

  /** Moves from INIT to RTR and RTS, with those of the attributes that the type has on the way. */
  #activate(attr: QpAttrInit): void {
    const [rtr, rts] = this.#way(attr);
    this.modify(rtr);
    this.modify(rts);
  }

  /** {@linkcode QueuePairStates.#activate} on another thread: only the way to RTR looks for the peer. */
  async #activateAsync(attr: () => QpAttrInit, options: PeerOptions): Promise<void> {
    await inTurn(async () => {
      const [rtr, rts] = this.#way(attr());
      await this.#modifyLater(rtr, options);
      this.modify(rts);
    });
  }

  #way(attr: QpAttrInit): [rtr: QpAttrInit, rts: QpAttrInit] {
    const rts = attrFor(this.#type, QpState.RTS, attr);
    // A wrong choice for RTS must not leave the queue pair in RTR.
    qpAttrCodec.write(rts);
    return [attrFor(this.#type, QpState.RTR, attr), rts];
  }

  /**
   * Makes a UD queue pair ready to send and receive: it moves from RESET to INIT, RTR and RTS.
   *
   * @throws As {@linkcode QueuePairStates.init}; {TypeError} if the queue pair is of another type.
   */
  activateUd(activation: UdActivation): void {
    this.#assertType("activateUd", [QpType.UD]);
    const names = ["portNum", "qkey", "gidIndex", "pkeyIndex", "sqPsn"] as const;
    const { sqPsn = 0, ...others } = snapshot(activation, "activation", names);
    this.init({ ...others, psn: uint24(sqPsn, "sqPsn") });
    this.#activate({ sqPsn });
  }

  /**
   * The attributes of an {@linkcode AddressHandle} for a peer of a UD queue pair, from the port and the GID of this one.
   *
   * @example A datagram to a peer that has told its address
   * ```ts
   * import { AddressHandle, type MemorySlice, type QpAddress, type QueuePair } from "@rdma/ibverbs";
   *
   * function send(qp: QueuePair, sge: MemorySlice, peer: QpAddress): void {
   *   using ah = new AddressHandle(qp.pd, qp.ahAttr(peer));
   *   qp.postSend({ sge, ah, remoteQpn: peer.qpn, remoteQkey: peer.qkey! });
   * }
   * ```
   *
   * @param peer The address of the peer, which the peer's {@linkcode QueuePairStates.address} gave.
   * @param options Choices that differ from the defaults.
   * @throws {TypeError} If the queue pair or the peer is of another type, `activateUd()` was not called, or an attribute
   * is missing, is unknown or has the wrong type.
   * @throws {RangeError} If a number of the peer's address is out of range.
   */
  ahAttr(peer: QpAddress, options: Omit<UcActivation, "pathMtu"> = {}): AhAttrInit {
    this.#assertType("ahAttr", [QpType.UD]);
    const attr = datagramPath(this.#choices(), peer, options);
    assertOpen(this);
    return attr;
  }

  /**
   * Asks the device for the attributes (`ibv_query_qp`).
   *
   * @param mask {@linkcode QpAttrMask}, combined: the attributes that are needed. The device may report others too. The
   * default is all but RATE_LIMIT, which can only be set.
   * @returns The attributes, 0 where the transport or the state has none; the sizes of the queues; whether every send has
   * a completion, signaled or not.
   * @throws {RangeError} If the mask has bits that are in no {@linkcode QpAttrMask}, or RATE_LIMIT.
   * @throws {VerbsError} If the device refuses.
   */
  query(
    mask: number = ALL,
  ): { readonly attr: QpAttr; readonly cap: QpCap; readonly sqSigAll: boolean } {
    integer(mask, "mask", 0, ALL);
    const attr = allocStruct(structs.ibv_qp_attr);
    const init = allocStruct(structs.ibv_qp_init_attr);
    call("ibv_query_qp", "query queue pair", [this.#handle, attr, mask, init]);
    const { fields } = structs.ibv_qp_init_attr;
    return {
      attr: shown(qpAttrReader.read(attr), {
        qpState: nameIn(QpState),
        curQpState: nameIn(QpState),
        pathMtu: nameIn(Mtu),
        pathMigState: nameIn(MigState),
        qpAccessFlags: namesIn(AccessFlags),
      }),
      cap: qpCapCodec.read(init, fields.cap.offset),
      sqSigAll: readField(init, fields.sq_sig_all) !== 0,
    };
  }

  /**
   * Limits the rate at which a raw packet queue pair sends (`ibv_modify_qp_rate_limit`).
   *
   * @throws {TypeError} If an attribute is missing, is unknown or has the wrong type.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device has no rate limits (EOPNOTSUPP), or refuses.
   * @experimental No device of the tests has it: it has only run on a library that records calls.
   */
  modifyRateLimit(attr: QpRateLimitAttr): void {
    const { view } = rateLimitCodec.write(attr);
    call("ibv_modify_qp_rate_limit", "limit rate of queue pair", [this.#handle, view]);
  }

  /**
   * Sets the options of an enhanced connection establishment (`ibv_set_ece`). It takes effect when the queue pair moves to
   * INIT or RTR.
   *
   * @throws As {@linkcode QueuePairStates.modifyRateLimit}, for these options.
   * @experimental No device of the tests has it: it has only run on a library that records calls.
   */
  setEce(ece: Ece): void {
    const { view } = eceCodec.write(ece);
    call("ibv_set_ece", "set connection options", [this.#handle, view]);
  }

  /**
   * Asks for the options of an enhanced connection establishment (`ibv_query_ece`): those that the device offers, or after
   * the connection those that are in use.
   *
   * @throws {VerbsError} If the device has no such options (EOPNOTSUPP).
   * @experimental No device of the tests has it: it has only run on a library that records calls.
   */
  queryEce(): Ece {
    const view = allocStruct(structs.ibv_ece);
    call("ibv_query_ece", "query connection options", [this.#handle, view]);
    return eceCodec.read(view);
  }

  /**
   * Whether the device writes the data of an operation into memory in order (`ibv_query_qp_data_in_order`).
   *
   * @param opcode The operation.
   * @param flags {@linkcode DataInOrderFlags}, combined with `|`: newer versions of libibverbs have them. The default is 0.
   * @returns 1 if it does, and 0 if not or if it is not known. With the flag RETURN_CAPS: {@linkcode DataInOrderCaps},
   * combined.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} EOPNOTSUPP if the installed libibverbs is older than rdma-core 36.
   * @experimental No device of the tests has it: it has only run on a library that records calls.
   */
  queryDataInOrder(opcode: WrOpcode, flags: number = 0): number {
    integer(opcode, "opcode", 0, Math.max(...Object.values(WrOpcode)));
    uint32(flags, "flags");
    const args = [this.#handle, opcode, flags] as const;
    return call("ibv_query_qp_data_in_order", "query order of data", args);
  }
}

/** Whether a modification ends all sends: a reset, or the recovery of a send queue in error. */
function endsSends(from: QpState, { qpState, curQpState }: QpAttrInit): boolean {
  if (qpState === QpState.RESET) return true;
  return qpState === QpState.RTS && (curQpState ?? from) === QpState.SQE;
}

export function describeQp({ type, qpNum, state }: QueuePairStates): Record<string, unknown> {
  return { type: nameOf(QpType, type), qpNum, state: nameOf(QpState, state) };
}
