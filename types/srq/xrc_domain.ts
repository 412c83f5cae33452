import type { IbvXrcd } from "../../ffi/handles.ts";
import { constants } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { Context } from "../device/context.ts";

/**
 * Attributes of an XRC domain (`struct ibv_xrcd_init_attr`).
 *
 * @category Shared receive queues
 */
export interface XrcdInitAttr {
  /**
   * Descriptor of a file. Processes that open a domain with the same file share it. The default is -1: no file, and a
   * domain that no other process has.
   */
  readonly fd?: number | undefined;
  /** Flags as of open(2): `O_CREAT` makes a domain, `O_EXCL` refuses one that exists. The default is `O_CREAT`. */
  readonly oflags?: number | undefined;
}

const MASK = members("ibv_xrcd_init_attr_mask", "IBV_XRCD_INIT_ATTR_");

const codec: AttributeCodec<XrcdInitAttr> = codecOf("ibv_xrcd_init_attr", "XRC domain attributes", {
  fd: { mask: MASK.FD, fallback: -1, min: -1 },
  oflags: { mask: MASK.OFLAGS, fallback: constants.O_CREAT },
});

const KIND: NativeKind<IbvXrcd, XrcDomain> = {
  name: "XRC domain",
  destroy: (handle) => call("ibv_close_xrcd", "close XRC domain", [handle]),
  describe: ({ context }) => ({ device: context.device.name }),
};

/**
 * A domain of extended reliable connections (`struct ibv_xrcd`). The receiving queue pairs of the domain deliver messages
 * to its shared receive queues: the sender of a message names the queue.
 *
 * @example A shared receive queue of an XRC domain
 * ```ts
 * import { CompletionQueue, Context, ProtectionDomain, SharedReceiveQueue, SrqType, XrcDomain } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using xrcd = new XrcDomain(context);
 * using pd = new ProtectionDomain(context);
 * using cq = new CompletionQueue(context, { cqe: 64 });
 * using srq = new SharedReceiveQueue(pd, { srqType: SrqType.XRC, maxWr: 64, xrcd, cq });
 * console.log(srq.srqNum); // what senders need to know
 * ```
 *
 * @category Shared receive queues
 */
export class XrcDomain extends NativeResource<IbvXrcd> {
  /** The device that the domain belongs to. */
  readonly context: Context;

  /**
   * Opens a domain (`ibv_open_xrcd`).
   *
   * @throws {VerbsError} If the device has no XRC (EOPNOTSUPP), or refuses.
   */
  constructor(context: Context, init: XrcdInitAttr = {}) {
    instance(context, Context, "context");
    const { view } = codec.write(init);
    super(KIND, call("ibv_open_xrcd", "open XRC domain", [context.unsafeHandle, view]), [context]);
    this.context = context;
  }
}
