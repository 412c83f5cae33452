import { partsIn } from "../../internal/made.ts";
import { endOf } from "../../internal/program_end.ts";
import type { IbvQp } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { hasContextOp } from "../../ffi/library/ops.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { integer, nothingBehind, uint16, uint32 } from "../../internal/checks.ts";
import type { AhAttrInit } from "../address/ah_attr.ts";
import { bytesOfGid, Gid } from "../address/gid.ts";
import { CompletionCounter, QpAttachCompCntrOp } from "../completion/completion_counter.ts";
import { type CompletionQueue, cqCore, drain } from "../completion/completion_queue.ts";
import { registerFailing, unregisterFailing } from "../completion/failure_hints.ts";
import { SendTracker, UnorderedSends } from "../completion/send_tracker.ts";
import type { PeerOptions } from "../core/abortable.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { causeOf } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { nameOf, namesOf } from "../core/enums.ts";
import { call, type CheckOptions, lacking } from "../core/errors.ts";
import { handleOf, type NativeKind, NativeResource } from "../core/native_resource.ts";
import { lifetimeOf, release, retain, rootOf } from "../core/resource.ts";
import { unregisterElement } from "../device/async_events.ts";
import type { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import { hasEndingWindow, type MemoryWindow } from "../memory/memory_window.ts";
import { pdCore, ProtectionDomain } from "../memory/protection_domain.ts";
import type { RwqIndirectionTable } from "../rss/rwq_indirection_table.ts";
import type { RxHash } from "../rss/rx_hash.ts";
import type { SharedReceiveQueue } from "../srq/shared_receive_queue.ts";
import type { XrcDomain } from "../srq/xrc_domain.ts";
import { DATAGRAM, FIELDS, opcodesOf } from "../work/attributes.ts";
import { type Receives, RecvPoster, SendPoster, type SendRules } from "../work/posting.ts";
import type { SendRequestList } from "../work/requests.ts";
import { type SendRequest, WrOpcode } from "../work/work_request.ts";
import type {
  InitOptions,
  PathChoices,
  RcActivation,
  UcActivation,
  UdActivation,
} from "./activation.ts";
import { bindMw, type MwBind } from "./bind_mw.ts";
import {
  COUNTER_CAUSES,
  createCause,
  DESTROY_CAUSES,
  GROUP_CAUSES,
  RECV_CAUSES,
  SEND_CAUSES,
  UNSENT_CAUSES,
} from "./hints.ts";
import type { QpAddress } from "./qp_address.ts";
import {
  type Ece,
  eceCodec,
  type QpCap,
  type QpModifyAttr,
  type QpRateLimitAttr,
  rateLimitCodec,
} from "./qp_attr.ts";
import { QpAttrMask, type QpState, QpType } from "./qp_enums.ts";
import {
  type AnyQpInitAttr,
  describeQpInit,
  isBasic,
  type QpInitAttr,
  readCap,
  writeQpInit,
} from "./qp_init_attr.ts";
import { describeQp, QpStates, type QueriedQp } from "./qp_states.ts";

export interface QpCore {
  readonly type: QpType;
  readonly cap: QpCap;
  readonly sendOpsFlags: number | undefined;
  readonly states: QpStates;
  /** Posts the sends; `undefined` if there is no send queue. */
  readonly sender: SendPoster | undefined;
}

export let qpCore: (qp: QueuePair) => QpCore;

/** A transport of reliable datagrams that complete in any order, which a provider adds. */
export interface QpProvider {
  /** The transport in messages. */
  readonly transport: string;
  /** The opcodes of `QueuePair.postSend`, one bit each. */
  readonly opcodes: number;
  /** The opcodes of builders, one bit each. */
  readonly built: number;
  /** Makes the native object from a `struct ibv_qp_init_attr_ex`. */
  readonly create: (context: Context, view: DataView<ArrayBuffer>, options: CheckOptions) => IbvQp;
  /** The largest RDMA read or write in bytes. */
  readonly maxRdma: () => number;
}

/** The attributes of a queue pair that a function of the provider creates, for the constructors. */
export interface ProviderQp<Init extends QpInitAttr = QpInitAttr> {
  readonly init: Init;
  readonly provider: QpProvider | undefined;
}

/**
 * A queue pair (`struct ibv_qp`): a send queue and a receive queue. It sends and receives messages, as a socket does. A
 * new queue pair is in state RESET, in which nothing can be posted.
 *
 * How to make it ready depends on its type:
 *
 * - UD (datagrams): `QueuePair.activateUd`. Then post receives. Then
 *   send.
 * - RC and UC (connections), at both ends: `QueuePair.init`. Then post
 *   receives. Then exchange `QueuePair.address` with the peer by other
 *   means. Then `QueuePair.activateRc` or
 *   `QueuePair.activateUc`. Then send.
 * - RAW_PACKET (Ethernet frames): `QueuePair.modify` for each state.
 *   The port is an Ethernet port.
 *
 * `init()` and the activations are `modify()` with a choice for every attribute. `init()` goes from RESET to INIT, and
 * `activateRc()` and `activateUc()` go on to RTR and RTS with the address of the peer. `activateUd()` calls `init()`
 * itself and goes all the way, because datagrams have no peer to wait for.
 *
 * `QueuePair.postRecv` and
 * `QueuePair.postSend` return at once. The result of a request comes through
 * the completion queue of its queue. The memory of a request must not change before that.
 *
 * @example A datagram queue pair that is ready to send
 * ```ts
 * import { CompletionQueue, Context, ProtectionDomain, QpType, QueuePair } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * using cq = new CompletionQueue(context, { cqe: 128 });
 * const cap = { maxSendWr: 64, maxRecvWr: 64 };
 * using qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
 * qp.activateUd({ portNum: 1, qkey: 0x1111_1111 });
 * ```
 *
 * @example An RDMA write with immediate data, and the peer that receives it
 * ```ts
 * import { type MemoryRegion, type QueuePair, WrOpcode } from "@rdma/ibverbs";
 *
 * // remoteAddr and rkey are `addr` and `rkey` of a region of the peer.
 * function write(qp: QueuePair, mr: MemoryRegion, remoteAddr: bigint, rkey: number): void {
 *   const opcode = WrOpcode.RDMA_WRITE_WITH_IMM;
 *   qp.postSend({ opcode, sge: mr.sge(0, 64), remoteAddr, rkey, immData: 7 });
 * }
 *
 * function expectWrite(qp: QueuePair): void {
 *   qp.postRecv({ wrId: 1 }); // no memory: the data goes to remoteAddr
 * }
 * ```
 *
 * @category Queue pairs
 */
export class QueuePair extends NativeResource<IbvQp> {
  static readonly #KIND: NativeKind<IbvQp, QueuePair> = {
    name: "queue pair",
    isInUse: hasEndingWindow,
    destroy: (handle, qp) => qp.#destroy(handle),
    describe: describeQp,
  };

  /** The device that the queue pair belongs to. */
  readonly context: Context;
  /** The transport service. */
  readonly qpType: QpType;
  /** The number of the queue pair, 24 bits. Peers address it by this number. */
  readonly qpNum: number;
  /** The protection domain. */
  readonly pd: ProtectionDomain;
  /** The completion queue of the sends, as it was given. */
  readonly sendCq: CompletionQueue | undefined;
  /** The completion queue of the receives, as it was given. */
  readonly recvCq: CompletionQueue | undefined;
  /** The shared receive queue that the queue pair takes its receives from. */
  readonly srq: SharedReceiveQueue | undefined;
  /** XRC_RECV: the domain. */
  readonly xrcd: XrcDomain | undefined;
  /** RSS: the table of the work queues that receive. */
  readonly rwqIndTbl: RwqIndirectionTable | undefined;
  /** RSS: how packets are hashed. */
  readonly rxHashConf: RxHash | undefined;
  /** The sizes of the queues, as the device granted them. */
  readonly cap: QpCap;
  /** `SendOpsFlags`, combined: the operations of the `ibv_wr_*` verbs, if they were given. */
  readonly sendOpsFlags: number | undefined;
  readonly #sendCq: CompletionQueue | undefined;
  /** The domain whose rights apply. */
  readonly #base: ProtectionDomain;
  readonly #states: QpStates;
  readonly #core: QpCore;
  readonly #sender: SendPoster | undefined;
  readonly #receiver: RecvPoster | undefined;
  readonly #postSend: ReturnType<typeof verbs>["ibv_post_send"];
  readonly #postRecv: ReturnType<typeof verbs>["ibv_post_recv"];
  /** The counters that the kernel does not destroy before the queue pair. */
  readonly #counters: CompletionCounter[] = [];
  /** The multicast groups, which it must leave before it is destroyed. */
  readonly #groups: Map<string, readonly [gid: Uint8Array<ArrayBuffer>, lid: number]> = new Map();

  static {
    qpCore = (qp) => qp.#core;
  }

  /**
   * Makes a queue pair (`ibv_create_qp`, or `ibv_create_qp_ex` if an attribute needs it).
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing, is unknown, is disposed, or belongs to another
   * context.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device refuses: EPERM for raw packets without CAP_NET_RAW, EOPNOTSUPP for a transport or
   * an attribute that it does not have.
   */
  constructor(pd: ProtectionDomain, init: QpInitAttr) {
    const { context, base } = pdCore(instance(pd, ProtectionDomain, "pd"));
    const other = partsIn<ProviderQp>(init);
    const provider = other?.provider;
    const { view, mask, given, writeHandles } = writeQpInit(pd, other?.init ?? init);
    checkPostOps(context, given);
    writeHandles();
    const options: CheckOptions = {
      detail: () => describeQpInit(given),
      hint: (code) => createCause(code, { context, init: given }),
      countOf: countsOf(context),
    };
    const handle = provider !== undefined
      ? provider.create(context, view, options)
      : isBasic(mask)
      ? call("ibv_create_qp", "create queue pair", [pd.unsafeHandle, view], options)
      : call("ibv_create_qp_ex", "create queue pair", [context.unsafeHandle, view], options);
    const { qpType, sendCq, recvCq, srq, xrcd, rwqIndTbl, rxHashConf, sqSigAll = false } = given;
    const parents = [pd, sendCq, recvCq, srq, xrcd, rwqIndTbl].filter((part) => part !== undefined);
    super(QueuePair.#KIND, handle, parents);
    const states = this.#states = new QpStates(this, context, qpType, (maxMessage, endsSends) => {
      this.#noteRules(maxMessage);
      if (endsSends) this.#endSends();
    });
    this.context = context;
    this.qpType = qpType;
    this.qpNum = states.qpNum;
    this.#base = base;
    this.pd = pd;
    this.sendCq = sendCq;
    this.recvCq = recvCq;
    this.srq = srq;
    this.xrcd = xrcd;
    this.rwqIndTbl = rwqIndTbl;
    this.rxHashConf = rxHashConf;
    const cap = this.cap = readCap(view);
    const sendOpsFlags = this.sendOpsFlags = given.sendOpsFlags;
    this.#sendCq = sendCq;
    this.#postSend = verbs().ibv_post_send;
    this.#postRecv = verbs().ibv_post_recv;
    if (sendCq !== undefined) {
      const sender = this.#sender = this.#makeSender(cap, sqSigAll, provider);
      if (sender.tracker !== undefined) cqCore(sendCq).senders.set(this.qpNum, sender.tracker);
    }
    if (recvCq !== undefined && srq === undefined) this.#receiver = this.#makeReceiver(cap);
    this.#core = { type: qpType, cap, sendOpsFlags, states, sender: this.#sender };
    registerFailing(this.qpNum, (code) => this.#hintFailure(code));
  }

  /** The handle. A method that is called on an object of another class throws here. */
  get #handle(): IbvQp {
    return this.unsafeHandle;
  }

  /** Why a request has failed, as far as the current state of the device shows it. */
  #hintFailure(code: string): string | undefined {
    try {
      const isConnected = this.qpType === QpType.RC || this.qpType === QpType.UC;
      const { PORT, AV } = QpAttrMask;
      const { attr } = this.query(isConnected ? PORT | AV : PORT);
      return causeOf(UNSENT_CAUSES, code, { ...attr, qpType: this.qpType, context: this.context });
    } catch {
      // The device may be gone: the usual cause is reported.
      return undefined;
    }
  }

  #makeSender(cap: QpCap, allSignaled: boolean, provider: QpProvider | undefined): SendPoster {
    const hint = (code: string): string | undefined =>
      causeOf(SEND_CAUSES, code, { state: this.state, size: cap.maxSendWr });
    const opcodes = provider?.opcodes ?? opcodesOf(this.qpType);
    const rules: SendRules = {
      transport: provider?.transport ?? nameOf(QpType, this.qpType),
      opcodes,
      built: provider?.built ?? opcodes,
      needs: provider === undefined ? NEEDS[this.qpType] ?? 0 : DATAGRAM,
      pd: this.#base,
      maxMessage: Infinity,
      maxRdma: provider?.maxRdma,
      maxInline: cap.maxInlineData,
      allSignaled,
    };
    const verb = { verb: "ibv_post_send", action: "post send", hint };
    const tracker = provider !== undefined
      ? new UnorderedSends()
      : this.qpType === QpType.UD
      ? new SendTracker()
      : undefined;
    return new SendPoster(this, verb, rules, cap.maxSendSge, tracker);
  }

  #makeReceiver({ maxRecvSge, maxRecvWr }: QpCap): RecvPoster {
    const hint = (code: string): string | undefined =>
      causeOf(RECV_CAUSES, code, { state: this.state, size: maxRecvWr });
    const rules = { maxSge: maxRecvSge, needsGrh: this.qpType === QpType.UD };
    return new RecvPoster({ verb: "ibv_post_recv", action: "post receive", hint }, rules);
  }

  #noteRules(maxMessage: number): void {
    const sender = this.#sender;
    if (sender === undefined || sender.rules.maxMessage === maxMessage) return;
    sender.rules = { ...sender.rules, maxMessage };
  }

  /** The device has flushed all sends. Their completions may still be in the completion queue. */
  #endSends(): void {
    const tracker = this.#sender?.tracker;
    if (tracker === undefined) return;
    if (tracker.awaitsCompletion) drain(this.#sendCq!);
    tracker.ended();
  }

  /** The state, as this process last set or queried it. `QueuePair.query` asks the device. */
  get state(): QpState {
    return this.#states.state;
  }

  /**
   * Sets the attributes that are given (`ibv_modify_qp`). The mask follows from them. On RoCE the kernel resolves the link
   * address of the peer when `ahAttr` is given, which may block for a second: `QueuePair.modifyAsync` does
   * not block.
   *
   * @throws {TypeError} If no attribute is given, one is unknown, or one has the wrong type.
   * @throws {RangeError} If a number is out of range, or the device has no such port.
   * @throws {VerbsError} If the device refuses. The hint names missing attributes or a wrong order of states.
   */
  modify(attr: QpModifyAttr): void {
    nothingBehind(arguments[1], "modify(attr): the mask is computed");
    this.#states.modify(attr);
  }

  /**
   * `QueuePair.modify` on another thread. The queue pair exists until the call ends, even if it is disposed meanwhile.
   * A modification that ends sends, such as one to RESET, is done at once and on this thread.
   *
   * If the signal aborts, the call rejects with the signal's reason. A modification that has begun goes on: reset or close
   * the queue pair to undo it.
   *
   * @throws As `QueuePair.modify`; {TypeError} if the queue pair is disposed in the meantime.
   */
  async modifyAsync(attr: QpModifyAttr, options: PeerOptions = {}): Promise<void> {
    await this.#states.modifyAsync(attr, options);
  }

  /**
   * Moves the queue pair from RESET to INIT, with a port and a GID of its own. It is the first half of the way to RTS:
   * `QueuePair.activateRc` and `QueuePair.activateUc` are the second, and
   * `QueuePair.activateUd` is both. Receives can be posted in between, and
   * `QueuePair.address` is what a peer must know.
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
   * @throws As `QueuePair.modify`; {TypeError} if an attribute is missing.
   */
  init(options: InitOptions): void {
    this.#states.init(options);
  }

  /**
   * What a peer must know to connect to this queue pair, or to send datagrams to it. It is a JSON value.
   *
   * @throws {TypeError} Before `QueuePair.init` or `QueuePair.activateUd`; on RoCE, if they were
   * called without `gidIndex`.
   * @throws {VerbsError} If the device does not answer.
   */
  get address(): QpAddress {
    return this.#states.address;
  }

  /**
   * Makes an RC queue pair ready to receive and to send: it moves from INIT to RTR and RTS. It does the same for the
   * queue pairs of an extended reliable connection (XRC).
   *
   * @param peer The address of the peer, which the peer's `QueuePair.address` gave.
   * @param options Choices that differ from the defaults.
   * @throws As `QueuePair.init`; {TypeError} if the queue pair is of another type, or `init()` was not
   * called.
   */
  activateRc(peer: QpAddress, options: RcActivation = {}): void {
    this.#states.activate("activateRc", peer, options);
  }

  /**
   * `QueuePair.activateRc` on another thread, as `QueuePair.modifyAsync`: on RoCE the kernel
   * may look for the link address of the peer for a second.
   *
   * @throws As `QueuePair.activateRc` and `QueuePair.modifyAsync`.
   */
  async activateRcAsync(
    peer: QpAddress,
    options: RcActivation = {},
    waiting: PeerOptions = {},
  ): Promise<void> {
    await this.#states.activateAsync("activateRc", peer, options, waiting);
  }

  /**
   * Makes a UC queue pair ready to receive and to send: it moves from INIT to RTR and RTS.
   *
   * @param peer The address of the peer, which the peer's `QueuePair.address` gave.
   * @param options Choices that differ from the defaults.
   * @throws As `QueuePair.activateRc`.
   */
  activateUc(peer: QpAddress, options: UcActivation = {}): void {
    this.#states.activate("activateUc", peer, options);
  }

  /**
   * `QueuePair.activateUc` on another thread, as `QueuePair.activateRcAsync`.
   *
   * @throws As `QueuePair.activateUc` and `QueuePair.modifyAsync`.
   */
  async activateUcAsync(
    peer: QpAddress,
    options: UcActivation = {},
    waiting: PeerOptions = {},
  ): Promise<void> {
    await this.#states.activateAsync("activateUc", peer, options, waiting);
  }

  /**
   * Makes a UD queue pair ready to send and receive: it moves from RESET to INIT, RTR and RTS.
   *
   * @throws As `QueuePair.init`; {TypeError} if the queue pair is of another type.
   */
  activateUd(activation: UdActivation): void {
    this.#states.activateUd(activation);
  }

  /**
   * The attributes of an `AddressHandle` for a peer of a UD queue pair, from the port and the GID of this one.
   *
   * @example A datagram to a peer that has sent its address
   * ```ts
   * import { AddressHandle, type MemorySlice, type QpAddress, type QueuePair } from "@rdma/ibverbs";
   *
   * function send(qp: QueuePair, sge: MemorySlice, peer: QpAddress): void {
   *   using ah = new AddressHandle(qp.pd, qp.ahAttr(peer));
   *   qp.postSend({ sge, ah, remoteQpn: peer.qpNum, remoteQkey: peer.qkey! });
   * }
   * ```
   *
   * @param peer The address of the peer, which the peer's `QueuePair.address` gave.
   * @param options Choices that differ from the defaults.
   * @throws {TypeError} If the queue pair or the peer is of another type, `activateUd()` was not called, or an attribute
   * is missing, is unknown or has the wrong type.
   * @throws {RangeError} If a number of the peer's address is out of range.
   */
  ahAttr(peer: QpAddress, options: PathChoices = {}): AhAttrInit {
    return this.#states.ahAttr(peer, options);
  }

  /**
   * Asks the device for the attributes (`ibv_query_qp`).
   *
   * @param mask `QpAttrMask`, combined: the attributes that are needed. The device may report others too. The
   * default is all but RATE_LIMIT, which can only be set. Bits without a name are passed on, as C does.
   * @throws {RangeError} If the mask is not from 0 to 2^31 - 1.
   * @throws {VerbsError} EOPNOTSUPP for RATE_LIMIT and the bits above it, or if the device refuses.
   */
  query(mask?: number): QueriedQp {
    return this.#states.query(mask);
  }

  /**
   * Limits the rate at which a raw packet queue pair sends (`ibv_modify_qp_rate_limit`).
   *
   * @throws {TypeError} If an attribute is missing, is unknown or has the wrong type.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device has no rate limits (EOPNOTSUPP), or refuses.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  modifyRateLimit(attr: QpRateLimitAttr): void {
    const { view } = rateLimitCodec.write(attr);
    call("ibv_modify_qp_rate_limit", "limit rate of queue pair", [this.#handle, view]);
  }

  /**
   * Sets the options of an enhanced connection establishment (`ibv_set_ece`). It takes effect when the queue pair moves to
   * INIT or RTR.
   *
   * @throws As `QueuePair.modifyRateLimit`, for these options.
   * @experimental Not tested on any device: it has only run on a library that records calls.
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
   * @experimental Not tested on any device: it has only run on a library that records calls.
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
   * @param flags `DataInOrderFlags`, combined with `|`: only newer versions of libibverbs have them. The default is 0.
   * @returns 1 if it does, 0 if not or if that is not known. With the flag RETURN_CAPS: `DataInOrderCaps`, combined.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} EOPNOTSUPP if the installed libibverbs is older than rdma-core 36.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  queryDataInOrder(opcode: WrOpcode, flags: number = 0): number {
    integer(opcode, "opcode", 0, Math.max(...Object.values(WrOpcode)));
    uint32(flags, "flags");
    const args = [this.#handle, opcode, flags] as const;
    return call("ibv_query_qp_data_in_order", "query order of data", args);
  }

  /**
   * Posts receives, in order (`ibv_post_recv`): one, several, or a run of a prepared list.
   *
   * @param requests The receives.
   * @param start For a prepared list: the index of the first receive to post. The default is 0.
   * @param count For a prepared list: the number of receives to post. The default is all from `start` on.
   * @throws {RangeError} If a number is out of range; on UD, if a buffer has no room for the 40 bytes of the GRH.
   * @throws {TypeError} If an attribute has the wrong type or is unknown, a memory region is disposed, or the queue pair
   * has no receive queue.
   * @throws {VerbsError} If the queue is full (ENOMEM) or the state is wrong (EINVAL). Its `posted` is the number of
   * receives that were posted.
   */
  postRecv(requests: Receives, start?: number, count?: number): void {
    const receiver = this.#receiver;
    if (receiver === undefined) {
      const hint = this.srq === undefined ? "" : "; post it to the shared one: srq.postRecv()";
      throw noQueue("receive", `receive queue of its own${hint}`);
    }
    const run = receiver.prepare(requests, start, count);
    if (run === null) return;
    const result = this.#postRecv(this.unsafeHandle, run.first, receiver.badWr);
    if (result !== 0) throw receiver.error(result, run);
  }

  /**
   * Posts sends, in order (`ibv_post_send`): one, several, or a run of a prepared list. On UD each send keeps its address
   * handle until its completion is polled.
   *
   * @param requests The sends.
   * @param start For a prepared list: the index of the first send to post. The default is 0.
   * @param count For a prepared list: the number of sends to post. The default is all from `start` on.
   * @throws {RangeError} If a number is out of range, a UD message exceeds the MTU of the port, inline data exceeds
   * `cap.maxInlineData`, or an atomic is not on 8 aligned bytes.
   * @throws {TypeError} If an attribute is missing, is unknown or has the wrong type; if the transport does not have the
   * opcode; if a memory region or address handle is disposed or the handle belongs to another protection domain; if the
   * queue pair has no send queue.
   * @throws {VerbsError} If the queue is full (ENOMEM) or the state is wrong (EINVAL). Its `posted` is the number of
   * sends that were posted.
   */
  postSend(
    requests: SendRequest | readonly SendRequest[] | SendRequestList,
    start?: number,
    count?: number,
  ): void {
    const sender = this.#sender;
    if (sender === undefined) throw noQueue("send", "send queue");
    const run = sender.prepare(requests, start, count);
    if (run === null) return;
    const result = this.#postSend(this.unsafeHandle, run.first, sender.badWr);
    if (result !== 0) throw sender.error(result, run);
    sender.posted(run);
  }

  /**
   * Binds a memory window of type 1 to a part of a memory region, or ends its binding (`ibv_bind_mw`). The window has
   * another rkey afterwards. A window of type 2 is bound by a send request with the opcode BIND_MW.
   *
   * @param mw The window.
   * @param bind What it is bound to, and the attributes of the request.
   * @throws {TypeError} If an attribute is missing, is unknown or has the wrong type; if the window is of type 2; if
   * something is disposed or belongs to another protection domain.
   * @throws {RangeError} If a number is out of range, or the memory is not within the region.
   * @throws {VerbsError} If the device has no windows (EOPNOTSUPP), the queue is full (ENOMEM), or the device refuses.
   */
  bindMw(mw: MemoryWindow, bind: MwBind): void {
    bindMw(this.#base, () => this.unsafeHandle, mw, bind);
  }

  /**
   * Joins a multicast group (`ibv_attach_mcast`): the queue pair then receives the datagrams of the group (UD). Closing
   * the queue pair leaves its groups. On RoCE the host has to be in the group too, or it drops the packets:
   * `CmId.joinMulticast()` and `UdConn.join()` do that. Otherwise nobody receives on soft-RoCE (rxe), not even within
   * one host.
   *
   * @param gid The GID of the group, or its text.
   * @param lid The LID of the group on InfiniBand. The default is 0, as RoCE needs it.
   * @throws {TypeError} If `gid` is neither a GID nor a string, or the queue pair is disposed.
   * @throws {SyntaxError} If the text is no address.
   * @throws {RangeError} If `lid` does not fit 16 bits.
   * @throws {VerbsError} If the device refuses.
   */
  attachMcast(gid: Gid | string, lid: number = 0): void {
    const [name, bytes] = groupOf(gid, lid);
    const args = [this.#handle, bytes, lid] as const;
    const group = new Gid(bytes);
    call("ibv_attach_mcast", `join multicast group ${group}`, args, {
      hint: (code) =>
        causeOf(GROUP_CAUSES, code, {
          qpType: this.qpType,
          context: this.context,
          gid: group,
          lid,
        }),
      countOf: countsOf(this.context),
    });
    this.#groups.set(name, [bytes, lid]);
  }

  /**
   * Leaves a multicast group (`ibv_detach_mcast`). It also works on a queue pair whose `close()` failed.
   *
   * @param gid The GID of the group, or its text.
   * @param lid The LID with which it was joined. The default is 0.
   * @throws {TypeError} If `gid` is neither a GID nor a string, or the queue pair is destroyed.
   * @throws {SyntaxError} If the text is no address.
   * @throws {RangeError} If `lid` does not fit 16 bits.
   * @throws {VerbsError} If the queue pair is not in the group.
   */
  detachMcast(gid: Gid | string, lid: number = 0): void {
    const [name, bytes] = groupOf(gid, lid);
    const isDestroyed = lifetimeOf(this)!.state === "destroyed";
    const handle = isDestroyed ? this.#handle : handleOf(this);
    const group = new Gid(bytes);
    call("ibv_detach_mcast", `leave multicast group ${group}`, [handle, bytes, lid], {
      hint: (code) =>
        causeOf(GROUP_CAUSES, code, {
          qpType: this.qpType,
          context: this.context,
          gid: group,
          lid,
          hasJoined: this.#groups.has(name),
        }),
    });
    this.#groups.delete(name);
  }

  /**
   * Lets a counter count completions of the queue pair (`ibv_qp_attach_comp_cntr`), which is in state RESET or INIT.
   * Destroying the queue pair detaches it.
   *
   * @param opMask `QpAttachCompCntrOp`, combined with `|`: what is counted. Each operation has one counter.
   * @throws {TypeError} If the counter is disposed or of another context.
   * @throws {RangeError} If `opMask` does not fit 32 bits.
   * @throws {VerbsError} If the device refuses: EBUSY if an operation has a counter.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  attachCompCntr(counter: CompletionCounter, opMask: number): void {
    const { view } = attachCodec.write({ opMask });
    if (rootOf(instance(counter, CompletionCounter, "counter")) !== rootOf(this)) {
      throw new TypeError("Cannot attach completion counter: counter is of another context");
    }
    const args = [this.#handle, counter.unsafeHandle, view] as const;
    call("ibv_qp_attach_comp_cntr", "attach completion counter", args, {
      detail: () => namesOf(QpAttachCompCntrOp, opMask),
      hint: (code) => causeOf(COUNTER_CAUSES, code, {}),
    });
    retain(counter);
    this.#counters.push(counter);
  }

  #destroy(handle: IbvQp): void {
    // A group that cannot be left makes the destruction fail.
    for (const [name, [bytes, lid]] of this.#groups) {
      if (verbs().ibv_detach_mcast(handle, bytes, lid) === 0) this.#groups.delete(name);
    }
    call("ibv_destroy_qp", "destroy queue pair", [handle], {
      hint: (code) => causeOf(DESTROY_CAUSES, code, {}),
    });
    endOf(this);
    unregisterElement(this);
    unregisterFailing(this.qpNum);
    for (const counter of this.#counters.splice(0)) release(counter);
    this.#endSends();
    if (this.#sendCq !== undefined) cqCore(this.#sendCq).senders.delete(this.qpNum);
  }
}

const attachCodec: AttributeCodec<{ readonly opMask: number }> = codecOf(
  "ibv_qp_attach_comp_cntr_attr",
  "completion counter",
  { opMask: { required: true } },
);

/** Attributes that sends need to reach a receive of the peer, by transport. */
const NEEDS: { readonly [type: number]: number } = {
  [QpType.UD]: DATAGRAM,
  [QpType.XRC_SEND]: FIELDS.remoteSrqn.bit,
};

/** The name of a multicast group, and the bytes of its GID. */
function groupOf(gid: Gid | string, lid: number): [name: string, gid: Uint8Array<ArrayBuffer>] {
  const bytes = bytesOfGid(gid, "gid");
  return [`${bytes.toHex()} ${uint16(lid, "lid")}`, bytes];
}

/** Posting does not check that the ops exist: this is done once, here. */
function checkPostOps(context: Context, { sendCq, recvCq }: AnyQpInitAttr): void {
  const needed = [sendCq && "post_send", recvCq && "post_recv"] as const;
  for (const op of needed) {
    if (op !== undefined && !hasContextOp(context.unsafeHandle, op)) {
      throw lacking(`ibv_${op}`, "create queue pair");
    }
  }
}

function noQueue(what: string, queue: string): TypeError {
  return new TypeError(`Cannot post ${what}: the queue pair has no ${queue}`);
}
