import { cutTo } from "../../internal/caller.ts";
import type { IbvQp } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { allocStruct, readField, readNative } from "../../ffi/struct.ts";
import { integer, snapshot, uint24 } from "../../internal/checks.ts";
import { inTurn } from "../../wait/turns.ts";
import type { AhAttrInit } from "../address/ah_attr.ts";
import {
  type BlockingCall,
  callLater,
  callNow,
  type PeerOptions,
  peerOptions,
} from "../core/abortable.ts";
import { causeOf } from "../core/causes.ts";
import { nameOf } from "../core/enums.ts";
import { call, checked } from "../core/errors.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { assertOpen, isOpen } from "../core/resource.ts";
import { nameIn, namesIn, shown } from "../core/shown.ts";
import { registerElement } from "../device/async_events.ts";
import { checkPort, type Context } from "../device/context.ts";
import { longestDatagram, Mtu } from "../device/port.ts";
import { AccessFlags } from "../memory/reg_mr.ts";
import {
  attrFor,
  choose,
  type Chosen,
  connection,
  datagramPath,
  type InitOptions,
  type PathChoices,
  qpAddressOf,
  RC_CHOICES,
  type RcActivation,
  UC_CHOICES,
  type UdActivation,
} from "./activation.ts";
import { hintModify, QUERY_CAUSES } from "./hints.ts";
import type { QpAddress } from "./qp_address.ts";
import {
  type QpAttr,
  qpAttrCodec,
  qpAttrReader,
  type QpCap,
  qpCapCodec,
  type QpModifyAttr,
} from "./qp_attr.ts";
import { MigState, QpAttrMask, QpState, QpType } from "./qp_enums.ts";

/** All attributes with a name that `ibv_query_qp` reports: newer ones can only be set. */
const ALL = Object.values(QpAttrMask)
  .filter((bit) => bit < QpAttrMask.RATE_LIMIT)
  .reduce((all: number, bit) => all | bit, 0);

/**
 * What `QueuePair.query` gives.
 *
 * @category Queue pairs
 */
export interface QueriedQp {
  /** The attributes, 0 where the transport or the state has none. */
  readonly attr: QpAttr;
  /** The sizes of the queues. */
  readonly cap: QpCap;
  /** Whether every send has a completion, signaled or not. */
  readonly sqSigAll: boolean;
}

/**
 * Runs after each modification, with the largest message in bytes, and whether no send is outstanding any more. It must
 * not throw.
 */
type Modified = (maxMessage: number, endsSends: boolean) => void;

/** The types of queue pairs that a method connects, and the choices that it takes. */
const CONNECTS = {
  activateRc: { types: [QpType.RC, QpType.XRC_SEND, QpType.XRC_RECV], choices: RC_CHOICES },
  activateUc: { types: [QpType.UC], choices: UC_CHOICES },
} as const;

type Connects = keyof typeof CONNECTS;

/** The states and the attributes of a queue pair. The methods are those of `QueuePair`. */
export class QpStates {
  readonly context: Context;
  readonly qpType: QpType;
  readonly qpNum: number;
  /** Whether the program has set the access rights of peers since the last reset: then nothing else grants any. */
  hasOwnAccess = false;
  readonly #qp: NativeResource<IbvQp>;
  readonly #modified: Modified;
  #port: number | undefined;
  /** What `QpStates.init` has chosen. */
  #chosen: Chosen | undefined;

  constructor(qp: NativeResource<IbvQp>, context: Context, type: QpType, modified: Modified) {
    this.#qp = qp;
    this.#modified = modified;
    this.context = context;
    this.qpType = type;
    this.qpNum = readNative(qp.unsafeHandle, structs.ibv_qp.fields.qp_num);
    registerElement(qp);
  }

  get state(): QpState {
    return readNative(this.#qp.unsafeHandle, structs.ibv_qp.fields.state) as QpState;
  }

  modify(attr: QpModifyAttr): void {
    cutTo(this.modify, () => callNow(this.#modification(attr)));
  }

  modifyAsync(attr: QpModifyAttr, options: PeerOptions): Promise<void> {
    return inTurn(() => this.#modifyLater(attr, options));
  }

  async #modifyLater(attr: QpModifyAttr, options: PeerOptions): Promise<void> {
    const { signal, untrusted } = peerOptions(options);
    const modification = this.#modification(attr);
    signal?.throwIfAborted();
    // A send that is posted during such a call would be treated as ended by it.
    if (modification.endsSends) return callNow(modification);
    await callLater({ ...modification, cause: untrusted ? "connection" : "program" }, signal);
  }

  /** Reads and checks attributes. Returns the call that sets them. */
  #modification(
    attr: QpModifyAttr,
  ): BlockingCall<"ibv_modify_qp", void> & { readonly endsSends: boolean } {
    const { view, mask, given } = qpAttrCodec.write(attr);
    if (mask === 0) throw new TypeError("Cannot modify queue pair: no attribute is given");
    const from = this.state;
    this.#checkPorts(given);
    const maxMessage = this.#maxMessage(given.portNum ?? this.#port);
    const ends = endsSends(from, given);
    const done = (): void => {
      this.#port = given.portNum ?? this.#port;
      if (given.qpState === QpState.RESET) this.hasOwnAccess = false;
      if (given.qpAccessFlags !== undefined) this.hasOwnAccess = true;
      this.#modified(maxMessage, ends);
    };
    return {
      owner: this.#qp,
      verb: "ibv_modify_qp",
      args: () => [this.#qp.unsafeHandle, view, mask],
      finish: ({ value }) => {
        checked("ibv_modify_qp", { fails: "code" }, value, "modify queue pair", {
          detail: () =>
            `${nameOf(QpType, this.qpType)} ${this.qpNum}, ${Object.keys(given).join(", ")}`,
          hint: (code) =>
            hintModify(code, { qpType: this.qpType, context: this.context, from, given }),
        });
        done();
      },
      // Nobody waits for the call any more, but it has changed the queue pair.
      discard: ({ value }) => {
        if (value === 0 && isOpen(this.#qp)) done();
      },
      endsSends: ends,
    };
  }

  #checkPorts({ portNum, altPortNum, ahAttr, altAhAttr }: QpModifyAttr): void {
    for (const port of [portNum, altPortNum, ahAttr?.portNum, altAhAttr?.portNum]) {
      if (port !== undefined) checkPort(this.context, port);
    }
  }

  /** A datagram is one packet. A longer message would be dropped without an error. */
  #maxMessage(port: number | undefined): number {
    const isDatagram = this.qpType === QpType.UD || this.qpType === QpType.DRIVER;
    if (!isDatagram || port === undefined) return Infinity;
    return longestDatagram(this.context.queryPort(port));
  }

  init(options: InitOptions): void {
    const chosen = cutTo(this.init, () => choose(this.qpType, this.context, options));
    const { portNum, pkeyIndex, qpAccessFlags, qkey = 0 } = chosen;
    const attr = { portNum, pkeyIndex, qpAccessFlags, qkey };
    this.modify(attrFor(this.qpType, QpState.INIT, attr));
    this.#chosen = chosen;
  }

  get address(): QpAddress {
    return qpAddressOf(this.qpType, this.qpNum, this.context, this.#choices());
  }

  #choices(): Chosen {
    if (this.#chosen !== undefined) return this.#chosen;
    throw new TypeError(
      "Cannot use queue pair: init() or activateUd() was not called, or the queue pair was reset since then",
    );
  }

  /** Moves from INIT to RTR and RTS, as a method does: `activateRc` or `activateUc`. */
  activate(method: Connects, peer: QpAddress, options: RcActivation): void {
    cutTo(this.activate, () => {
      const steps = this.#steps(this.#connection(method, method, peer, options));
      for (const attr of steps) this.modify(attr);
    });
  }

  /** The same on another thread: only the way to RTR looks for the peer. */
  activateAsync(
    method: Connects,
    peer: QpAddress,
    options: RcActivation,
    waiting: PeerOptions,
  ): Promise<void> {
    return inTurn(async () => {
      const [rtr, rts] = this.#steps(this.#connection(method, `${method}Async`, peer, options));
      await this.#modifyLater(rtr, waiting);
      this.modify(rts);
    });
  }

  #connection(
    method: Connects,
    name: string,
    peer: QpAddress,
    options: RcActivation,
  ): QpModifyAttr {
    const { types, choices } = CONNECTS[method];
    this.#assertType(name, types);
    const given = snapshot(options, "activation", choices);
    return connection(this.qpType, this.context, this.#choices(), peer, given);
  }

  #assertType(method: string, types: readonly QpType[]): void {
    if (types.includes(this.qpType)) return;
    throw new TypeError(
      `Cannot use ${method}(): the type of the queue pair is ${nameOf(QpType, this.qpType)}`,
    );
  }

  /** The attributes of both moves: those that the type has on the way. */
  #steps(attr: QpModifyAttr): [rtr: QpModifyAttr, rts: QpModifyAttr] {
    // A wrong choice must not leave the queue pair in RTR, and is refused where the type has no such attribute.
    qpAttrCodec.write(attr);
    return [attrFor(this.qpType, QpState.RTR, attr), attrFor(this.qpType, QpState.RTS, attr)];
  }

  activateUd(activation: UdActivation): void {
    this.#assertType("activateUd", [QpType.UD]);
    const names = ["portNum", "qkey", "gidIndex", "pkeyIndex", "sqPsn"] as const;
    cutTo(this.activateUd, () => {
      const { sqPsn = 0, ...others } = snapshot(activation, "activation", names);
      this.init({ ...others, psn: uint24(sqPsn, "sqPsn") });
      for (const attr of this.#steps({ sqPsn })) this.modify(attr);
    });
  }

  ahAttr(peer: QpAddress, options: PathChoices): AhAttrInit {
    this.#assertType("ahAttr", [QpType.UD]);
    return cutTo(this.ahAttr, () => {
      const attr = datagramPath(this.context, this.#choices(), peer, options);
      assertOpen(this.#qp);
      return attr;
    });
  }

  query(mask: number = ALL): QueriedQp {
    integer(mask, "mask", 0, 0x7fff_ffff);
    const attr = allocStruct(structs.ibv_qp_attr);
    const init = allocStruct(structs.ibv_qp_init_attr);
    call("ibv_query_qp", "query queue pair", [this.#qp.unsafeHandle, attr, mask, init], {
      hint: (code) => causeOf(QUERY_CAUSES, code, { mask }),
    });
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
}

/** Whether a modification ends all sends: a reset, or the recovery of a send queue in error. */
function endsSends(from: QpState, { qpState, curQpState }: QpModifyAttr): boolean {
  if (qpState === QpState.RESET) return true;
  return qpState === QpState.RTS && (curQpState ?? from) === QpState.SQE;
}

type Described = Pick<QpStates, "qpType" | "qpNum" | "state">;

export function describeQp({ qpType, qpNum, state }: Described): Record<string, unknown> {
  return { qpType: nameOf(QpType, qpType), qpNum, state: nameOf(QpState, state) };
}
