import { nothingBehind } from "../../internal/checks.ts";
import type { IbvQp } from "../../ffi/handles.ts";
import { members } from "../../ffi/members.ts";
import type { PeerOptions } from "../core/abortable.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { nameOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { rootOf } from "../core/resource.ts";
import { unregisterElement } from "../device/async_events.ts";
import type { Context } from "../device/context.ts";
import { XrcDomain } from "../srq/xrc_domain.ts";
import type { InitOptions, RcActivation } from "./activation.ts";
import type { QpAddress } from "./qp_address.ts";
import type { QpModifyAttr } from "./qp_attr.ts";
import { type QpState, QpType } from "./qp_enums.ts";
import { describeQp, QpStates, type QueriedQp } from "./qp_states.ts";

/**
 * Which queue pair to open (`struct ibv_qp_open_attr`).
 *
 * @category Queue pairs
 */
export interface QpOpenAttr {
  /** The XRC domain of the queue pair. Its processes share it. */
  readonly xrcd: XrcDomain;
  /** The number of the queue pair, 24 bits. */
  readonly qpNum: number;
  /** The transport service. The default is `XRC_RECV`, the only one that can be shared. */
  readonly qpType?: QpType | undefined;
}

const MASK = members("ibv_qp_open_attr_mask", "IBV_QP_OPEN_ATTR_");

const codec: AttributeCodec<QpOpenAttr> = codecOf("ibv_qp_open_attr", "queue pair attributes", {
  xrcd: { mask: MASK.XRCD, resource: XrcDomain, required: true },
  qpNum: { mask: MASK.NUM, bits: 24, required: true },
  qpType: { field: "qp_type", mask: MASK.TYPE, values: QpType, fallback: QpType.XRC_RECV },
});

const KIND: NativeKind<IbvQp, OpenedQueuePair> = {
  name: "queue pair",
  destroy(handle: IbvQp, qp): void {
    call("ibv_destroy_qp", "close queue pair", [handle]);
    unregisterElement(qp);
  },
  describe: describeQp,
};

/**
 * A receiving queue pair of an XRC domain, which another process or another object of this process has made. Each
 * object keeps the queue pair; it is destroyed with the last one. The shared receive queues of the domain receive for
 * it. The methods are those of `QueuePair` that move and describe such a queue pair.
 *
 * @category Queue pairs
 */
export class OpenedQueuePair extends NativeResource<IbvQp> {
  /** The device that the queue pair belongs to. */
  readonly context: Context;
  /** The transport service. */
  readonly qpType: QpType;
  /** The number of the queue pair, 24 bits. */
  readonly qpNum: number;
  /** The XRC domain. */
  readonly xrcd: XrcDomain;
  readonly #states: QpStates;

  /**
   * Opens a queue pair (`ibv_open_qp`).
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown, or the domain is disposed.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device has no XRC (EOPNOTSUPP), or the domain has no such queue pair.
   */
  constructor(attr: QpOpenAttr) {
    const { view, given, writeHandles } = codec.write(attr);
    const { xrcd, qpNum, qpType = QpType.XRC_RECV } = given;
    writeHandles();
    const context = rootOf(xrcd) as Context;
    const handle = call("ibv_open_qp", "open queue pair", [context.unsafeHandle, view], {
      detail: () => `${nameOf(QpType, qpType)} ${qpNum}`,
    });
    super(KIND, handle, [xrcd]);
    const states = this.#states = new QpStates(this, context, qpType, () => {});
    this.context = context;
    this.qpType = qpType;
    this.qpNum = states.qpNum;
    this.xrcd = xrcd;
  }

  /** As `QueuePair.state`. */
  get state(): QpState {
    return this.#states.state;
  }

  /** As `QueuePair.address`. */
  get address(): QpAddress {
    return this.#states.address;
  }

  /** As `QueuePair.modify`. */
  modify(attr: QpModifyAttr): void {
    nothingBehind(arguments[1], "modify(attr): the mask is computed");
    this.#states.modify(attr);
  }

  /** As `QueuePair.modifyAsync`. */
  async modifyAsync(attr: QpModifyAttr, options: PeerOptions = {}): Promise<void> {
    await this.#states.modifyAsync(attr, options);
  }

  /** As `QueuePair.init`. */
  init(options: InitOptions): void {
    this.#states.init(options);
  }

  /** As `QueuePair.activateRc`. */
  activateRc(peer: QpAddress, options: RcActivation = {}): void {
    this.#states.activate("activateRc", peer, options);
  }

  /** As `QueuePair.activateRcAsync`. */
  async activateRcAsync(
    peer: QpAddress,
    options: RcActivation = {},
    waiting: PeerOptions = {},
  ): Promise<void> {
    await this.#states.activateAsync("activateRc", peer, options, waiting);
  }

  /** As `QueuePair.query`. */
  query(mask?: number): QueriedQp {
    return this.#states.query(mask);
  }
}
