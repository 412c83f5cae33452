import type { IbvQp } from "../../ffi/handles.ts";
import { hasContextOp } from "../../ffi/inlines.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { allocStruct, readField, readNative, writeField } from "../../ffi/struct.ts";
import { addSender, type CompletionQueue, removeSender } from "../completion/completion_queue.ts";
import type { Context } from "../device/context.ts";
import { check, checkHandle } from "../core/errors.ts";
import type { Gid } from "../address/gid.ts";
import { nameOf } from "../core/enums.ts";
import { mtuBytes } from "../device/port.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import {
  explainTransition,
  type QpAttr,
  type QpAttrInit,
  QpAttrMask,
  type QpCap,
  QpState,
  QpType,
  readCap,
  readQpAttr,
  writeCap,
  writeQpAttr,
} from "./qp_attr.ts";
import { hintCreate, hintModify, hintPost } from "./hints.ts";
import { RecvPoster } from "../work/recv_poster.ts";
import type { RecvRequests } from "../work/recv_requests.ts";
import { Refusal } from "../work/bad_wr.ts";
import { Resource } from "../core/resource.ts";
import type { RwqIndirectionTable } from "../rss/rwq_indirection_table.ts";
import type { RxHash } from "../rss/rx_hash.ts";
import {
  noteSends,
  noteSome,
  prepareSends,
  SendRequests,
  type SendRules,
} from "../work/send_requests.ts";
import { SendTracker } from "../completion/send_tracker.ts";
import { uint16, uint32 } from "../core/checks.ts";
import { asList, type RecvRequest, type SendRequest } from "../work/work_request.ts";

/** All that `ibv_query_qp` takes: it refuses what came later, which can only be set. */
const ALL = Object.values(QpAttrMask)
  .filter((bit) => bit < QpAttrMask.RATE_LIMIT)
  .reduce((all: number, bit) => all | bit, 0);

/** What a queue pair is to be like (`struct ibv_qp_init_attr`). */
export interface QpInit {
  /** Its transport service. */
  readonly type: QpType;
  /** Where its sends complete. */
  readonly sendCq: CompletionQueue;
  /** Where its receives complete; may be the same. */
  readonly recvCq: CompletionQueue;
  /** Sizes of its queues; the device may give more. One scatter/gather element and no inline data unless given. */
  readonly cap: Partial<QpCap>;
  /** Whether every send has a completion, signaled or not; false if left out. */
  readonly sqSigAll?: boolean;
}

/** What a queue pair was made of: without a completion queue for them, it takes no sends, or no receives. */
export interface QpParts extends Pick<QpInit, "type" | "sqSigAll"> {
  /** Where its sends complete. */
  readonly sendCq?: CompletionQueue | undefined;
  /** Where its receives complete. */
  readonly recvCq?: CompletionQueue | undefined;
  /** RSS: the table of work queues that receive in its place. */
  readonly rwqIndTbl?: RwqIndirectionTable | undefined;
  /** RSS: how packets are hashed. */
  readonly rxHashConf?: RxHash | undefined;
}

/** What {@linkcode QueuePair.activateUd} needs to know. */
export interface UdActivation {
  /** The port to use, from 1. */
  readonly port: number;
  /** The key that received datagrams must carry. */
  readonly qkey: number;
  /** Index into the port's P_Key table; 0 if left out, which mostly is the default partition. */
  readonly pkeyIndex?: number;
  /** First packet number, 24 bits; 0 if left out. */
  readonly sqPsn?: number;
}

/** What {@linkcode QueuePair.query} tells. */
export interface QpQuery {
  /** Attributes now; those that the transport or the state lacks are 0. */
  readonly attr: QpAttr;
  /** Sizes of the queues. */
  readonly cap: QpCap;
  /** Whether every send has a completion. */
  readonly sqSigAll: boolean;
}

/**
 * A queue pair (`struct ibv_qp`): sends and receives messages. Made by {@linkcode ProtectionDomain.createQp}, in state
 * RESET.
 *
 * @example A datagram queue pair, ready to send
 * ```ts
 * import { type Context, type QueuePair, QpType } from "@rdma/ibverbs";
 *
 * function datagrams(context: Context): QueuePair {
 *   const pd = context.allocPd();
 *   const cq = context.createCq({ cqe: 128 });
 *   const cap = { maxSendWr: 64, maxRecvWr: 64 };
 *   const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap });
 *   qp.activateUd({ port: 1, qkey: 0x1111_1111 });
 *   return qp;
 * }
 * ```
 */
export class QueuePair extends Resource<IbvQp> {
  /** Its name in messages. */
  protected override readonly kind = "queue pair";
  /** Its protection domain. */
  readonly pd: ProtectionDomain;
  /** Its transport service. */
  readonly type: QpType;
  /** Its number, 24 bits: what peers address. */
  readonly qpNum: number;
  /** Sizes of its queues, as the device gave them. */
  readonly cap: QpCap;
  /** RSS: the table of work queues that receive in its place. */
  readonly rwqIndTbl: RwqIndirectionTable | undefined;
  /** RSS: how packets are hashed. The provider may go on reading the key. */
  readonly rxHashConf: RxHash | undefined;
  readonly #sendCq: CompletionQueue | undefined;
  readonly #tracker: SendTracker | undefined;
  #sendRules: SendRules;
  /** Absent in queue pairs without a send queue. */
  readonly #sendRefusal: Refusal | undefined;
  /** Absent in queue pairs without a receive queue. */
  readonly #receiver: RecvPoster | undefined;
  readonly #postSend: ReturnType<typeof verbs>["ibv_post_send"];
  readonly #postRecv: ReturnType<typeof verbs>["ibv_post_recv"];
  #sends: SendRequests | undefined;

  /** @ignore The way in for {@linkcode ProtectionDomain.createQp} and its like. */
  constructor(
    pd: ProtectionDomain,
    handle: IbvQp,
    parents: readonly Resource[],
    init: QpParts,
    cap: QpCap,
  ) {
    super(handle, [pd, ...parents]);
    this.pd = pd;
    this.type = init.type;
    this.qpNum = readNative(handle, structs.ibv_qp.fields.qp_num);
    this.cap = cap;
    this.rwqIndTbl = init.rwqIndTbl;
    this.rxHashConf = init.rxHashConf;
    this.#sendCq = init.sendCq;
    this.#postSend = verbs().ibv_post_send;
    this.#postRecv = verbs().ibv_post_recv;
    const isDatagram = init.type === QpType.UD;
    this.#sendRules = {
      pd: isDatagram ? pd : undefined,
      maxMessage: Infinity,
      allSignaled: init.sqSigAll ?? false,
    };
    const hint = (code: string): string | undefined => hintPost(code, this.state);
    if (init.sendCq !== undefined) {
      this.#sendRefusal = new Refusal({ verb: "ibv_post_send", action: "post send", hint });
    }
    if (init.recvCq !== undefined) {
      const verb = { verb: "ibv_post_recv", action: "post receive", hint };
      const rules = { maxSge: cap.maxRecvSge, needsGrh: isDatagram };
      this.#receiver = new RecvPoster(verb, rules);
    }
    if (isDatagram && init.sendCq !== undefined) {
      this.#tracker = new SendTracker();
      addSender(init.sendCq, this.qpNum, this.#tracker);
    }
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.createQp}. */
  static create(pd: ProtectionDomain, init: QpInit): QueuePair {
    const { sendCq, recvCq } = init;
    const parent = pd.unsafeHandle;
    checkContext(pd, sendCq, "sendCq");
    checkContext(pd, recvCq, "recvCq");
    checkPostOps(pd);
    const { fields } = structs.ibv_qp_init_attr;
    const view = allocStruct(structs.ibv_qp_init_attr);
    writeField(view, fields.send_cq, Deno.UnsafePointer.value(sendCq.unsafeHandle));
    writeField(view, fields.recv_cq, Deno.UnsafePointer.value(recvCq.unsafeHandle));
    writeField(view, fields.qp_type, uint32(init.type, "type"));
    writeField(view, fields.sq_sig_all, Number(init.sqSigAll ?? false));
    writeCap(view, "ibv_qp_init_attr", { maxSendSge: 1, maxRecvSge: 1, ...init.cap });
    const handle = checkHandle(
      "ibv_create_qp",
      "create queue pair",
      verbs().ibv_create_qp(parent, view),
      {
        detail: () => describeInit(init),
        hint: (code) => hintCreate(code, pd),
      },
    );
    return new QueuePair(pd, handle, [sendCq, recvCq], init, readCap(view, "ibv_qp_init_attr"));
  }

  /** Its state, as far as this process has moved it; {@linkcode QueuePair.query} asks the device. */
  get state(): QpState {
    return readNative(this.unsafeHandle, structs.ibv_qp.fields.state) as QpState;
  }

  /**
   * Sets the attributes given (`ibv_modify_qp`); the mask follows from which they are.
   *
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device refuses, with the missing attributes or the wrong order as its hint.
   */
  modify(attr: QpAttrInit): void {
    const handle = this.unsafeHandle;
    const from = this.state;
    const { view, mask } = writeQpAttr(attr);
    if (attr.portNum !== undefined) this.pd.context.checkPort(attr.portNum);
    check("ibv_modify_qp", "modify queue pair", verbs().ibv_modify_qp(handle, view, mask), {
      detail: () => `${nameOf(QpType, this.type)} ${this.qpNum}, ${Object.keys(attr).join(", ")}`,
      hint: (code) =>
        hintModify(code, attr) ?? explainTransition(this.type, from, attr.qpState, mask),
    });
    this.#noteModified(attr, from);
  }

  #noteModified({ portNum, qpState }: QpAttrInit, from: QpState): void {
    if (portNum !== undefined && this.type === QpType.UD) {
      // messages are single packets; longer ones would be dropped without an error
      const maxMessage = mtuBytes(this.pd.context.queryPort(portNum).activeMtu);
      this.#sendRules = { ...this.#sendRules, maxMessage };
    }
    // by then the device has flushed every send that was under way
    if (qpState === QpState.RESET || (qpState === QpState.RTS && from === QpState.SQE)) {
      this.#tracker?.ended();
    }
  }

  /**
   * Makes a UD queue pair ready to send and receive: RESET to INIT, RTR and RTS.
   *
   * @throws {RangeError} If the device has no such port, or a number is out of range.
   * @throws {VerbsError} If the device refuses.
   */
  activateUd({ port, qkey, pkeyIndex = 0, sqPsn = 0 }: UdActivation): void {
    this.modify({ qpState: QpState.INIT, portNum: port, qkey, pkeyIndex });
    this.modify({ qpState: QpState.RTR });
    this.modify({ qpState: QpState.RTS, sqPsn });
  }

  /**
   * Asks the device for attributes (`ibv_query_qp`).
   *
   * @param mask {@linkcode QpAttrMask}: the attributes that matter; all if left out. Others may be told too.
   * @throws {VerbsError} If the device refuses.
   */
  query(mask: number = -1): QpQuery {
    const attr = allocStruct(structs.ibv_qp_attr);
    const init = allocStruct(structs.ibv_qp_init_attr);
    const result = verbs().ibv_query_qp(this.unsafeHandle, attr, mask & ALL, init);
    check("ibv_query_qp", "query queue pair", result);
    return {
      attr: readQpAttr(attr),
      cap: readCap(init, "ibv_qp_init_attr"),
      sqSigAll: readField(init, structs.ibv_qp_init_attr.fields.sq_sig_all) !== 0,
    };
  }

  /**
   * Posts one receive or several, in order (`ibv_post_recv`).
   *
   * @throws {RangeError} On UD, if a buffer cannot take the 40 bytes of the GRH.
   * @throws {TypeError} If a memory region is disposed, or the queue pair has no receive queue.
   * @throws {VerbsError} If the queue is full (ENOMEM) or the state is wrong (EINVAL); `posted` tells how many went
   * through.
   */
  postRecv(requests: RecvRequest | readonly RecvRequest[]): void {
    const list = asList(requests);
    if (list.length > 0) this.postRecvs(this.#receives().fill(list), list.length);
  }

  /**
   * Posts one send or several, in order (`ibv_post_send`). On UD each keeps its address handle until its completion has
   * been polled.
   *
   * @throws {RangeError} If a number is out of range, or a UD message exceeds the port's MTU.
   * @throws {TypeError} If a memory region or address handle is disposed, the handle of another protection domain, or
   * the queue pair has no send queue.
   * @throws {VerbsError} If the queue is full (ENOMEM) or the state is wrong (EINVAL); `posted` tells how many went
   * through.
   */
  postSend(requests: SendRequest | readonly SendRequest[]): void {
    const list = asList(requests);
    if (list.length === 0) return;
    if (this.#sends === undefined || this.#sends.capacity < list.length) {
      this.#sends = new SendRequests({
        capacity: list.length,
        maxSge: Math.max(1, this.cap.maxSendSge),
      });
    }
    for (const [i, request] of list.entries()) this.#sends.set(i, request);
    this.postSends(this.#sends, list.length);
  }

  /**
   * Posts prepared receives in one native call (`ibv_post_recv`): `count` of them from `start` on, all if left out.
   *
   * @throws As {@linkcode QueuePair.postRecv}.
   */
  postRecvs(list: RecvRequests, count: number = list.capacity, start: number = 0): void {
    const handle = this.unsafeHandle;
    const receiver = this.#receives();
    const result = this.#postRecv(handle, receiver.prepare(list, count, start), receiver.badWr);
    if (result !== 0) throw receiver.error(result, list, start);
  }

  #receives(): RecvPoster {
    if (this.#receiver !== undefined) return this.#receiver;
    throw new TypeError("Cannot post receive: the queue pair has no receive queue of its own");
  }

  /**
   * Posts prepared sends in one native call (`ibv_post_send`): `count` of them from `start` on, all if left out.
   *
   * @throws As {@linkcode QueuePair.postSend}.
   */
  postSends(list: SendRequests, count: number = list.capacity, start: number = 0): void {
    const handle = this.unsafeHandle;
    const refusal = this.#sendRefusal;
    if (refusal === undefined) {
      throw new TypeError("Cannot post send: the queue pair has no send queue");
    }
    const first = prepareSends(list, start, count, this.#sendRules);
    const result = this.#postSend(handle, first, refusal.badWr);
    if (result !== 0) {
      const posted = refusal.postedBefore(list, start);
      // those that may be in the queue are taken to be
      if (this.#tracker !== undefined) {
        noteSome(list, start, posted ?? count, this.#sendRules, this.#tracker);
      }
      throw refusal.error(result, posted);
    }
    if (this.#tracker !== undefined) noteSends(list, this.#tracker);
  }

  /**
   * Joins a multicast group (`ibv_attach_mcast`): its datagrams are received from then on. UD only.
   *
   * @param gid The group's GID.
   * @param lid The group's LID; 0 on RoCE.
   * @throws {VerbsError} If the device refuses.
   */
  attachMcast(gid: Gid, lid: number): void {
    const result = verbs().ibv_attach_mcast(this.unsafeHandle, gid.bytes, uint16(lid, "lid"));
    check("ibv_attach_mcast", `join multicast group ${gid}`, result);
  }

  /**
   * Leaves a multicast group (`ibv_detach_mcast`).
   *
   * @throws {VerbsError} If it was not joined.
   */
  detachMcast(gid: Gid, lid: number): void {
    const result = verbs().ibv_detach_mcast(this.unsafeHandle, gid.bytes, uint16(lid, "lid"));
    check("ibv_detach_mcast", `leave multicast group ${gid}`, result);
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvQp): void {
    check("ibv_destroy_qp", "destroy queue pair", verbs().ibv_destroy_qp(handle), {
      hint: (code) => code === "EBUSY" ? "It is still attached to a multicast group" : undefined,
    });
    if (this.#sendCq !== undefined) removeSender(this.#sendCq, this.qpNum);
    this.#tracker?.ended();
  }
}

/** Checks that what a queue pair is made of is of its device. */
export function checkContext(
  pd: ProtectionDomain,
  part: { readonly context: Context },
  name: string,
): void {
  if (part.context !== pd.context) {
    throw new TypeError(`Cannot create queue pair: ${name} belongs to another context`);
  }
}

/** Checks that the provider can post at all. */
export function checkPostOps(pd: ProtectionDomain): void {
  const context = pd.context.unsafeHandle;
  if (!hasContextOp(context, "post_send") || !hasContextOp(context, "post_recv")) {
    throw new TypeError("Cannot create queue pair: the provider cannot post");
  }
}

function describeInit({ type, cap }: QpInit): string {
  const sizes = Object.entries(cap).map(([name, value]) => `${name} ${value}`);
  return [nameOf(QpType, type), ...sizes].join(", ");
}
