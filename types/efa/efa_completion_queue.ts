import { efa } from "../../ffi/efa.ts";
import type { EfadvCq, IbvCqEx } from "../../ffi/handles.ts";
import { constants, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { uint32 } from "../../internal/checks.ts";
import { made } from "../../internal/made.ts";
import { Gid } from "../address/gid.ts";
import {
  CompletionQueueEx,
  type CqExProvider,
  type CqInitAttrEx,
  type ProviderCq,
} from "../completion/completion_queue_ex.ts";
import type { BatchCore, Format } from "../completion/cq_core.ts";
import { CqCoreEx } from "../completion/cq_core_ex.ts";
import { WcOpcode } from "../completion/work_completion.ts";
import {
  batchCore,
  type OtherBatch,
  WorkCompletionList,
} from "../completion/work_completion_list.ts";
import { EXTENDED, WorkCompletionEx } from "../completion/work_completion_list_ex.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import type { CheckOptions } from "../core/errors.ts";
import type { Context } from "../device/context.ts";
import { callEfa } from "./call.ts";
import { EXTRA_WITH_GID } from "./senders.ts";

function gidAt(view: DataView, extra: number): Gid | undefined {
  const bytes = new Uint8Array(
    view.buffer,
    view.byteOffset + extra + EXTENDED.extra,
    structs.ibv_gid.size,
  );
  return bytes.some((byte) => byte !== 0) ? new Gid(bytes.slice()) : undefined;
}

/**
 * A completion of an `EfaCompletionQueue`. Its `slid` is the number of an address handle of the receiver's
 * protection domain, see `efaAhNumber`, or `EFA_UNKNOWN_SENDER`.
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Senders
 */
export class EfaWorkCompletion extends WorkCompletionEx {
  /** The GID of a sender to whom the receiver has no address handle; undefined for a known sender, and for sends. */
  readonly sgid: Gid | undefined;

  /** @ignore Reads a completion. */
  constructor(view: DataView, base: number, extra: number) {
    super(view, base, extra);
    this.sgid = gidAt(view, extra);
  }
}

const FORMAT: Format<EfaWorkCompletion> = {
  extra: EXTRA_WITH_GID,
  read: (view, base, extra) => new EfaWorkCompletion(view, base, extra),
};

/**
 * Memory for completions of an `EfaCompletionQueue`, to poll into again and again.
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Senders
 */
export class EfaWorkCompletionList extends WorkCompletionList<EfaWorkCompletion> {
  readonly #core: BatchCore;

  /**
   * Allocates memory.
   *
   * @param capacity The number of completions, at least 1.
   * @throws {RangeError} If the capacity is out of range.
   */
  constructor(capacity: number) {
    super(made<OtherBatch<unknown>>({ capacity, format: FORMAT }));
    this.#core = batchCore(this);
  }

  /** The GID of a sender to whom the receiver has no address handle; undefined for a known sender, and for sends. */
  sgid(index: number): Gid | undefined {
    const { view } = this.#core;
    const at = this.#core.extraAt(uint32(index, "index"));
    if (index >= this.capacity) {
      throw new RangeError(`Cannot read completion ${index}: there is room for ${this.capacity}`);
    }
    return gidAt(view, at);
  }
}

/** Polls a queue that reports GIDs. */
class EfaCqCore extends CqCoreEx<EfaWorkCompletion> {
  readonly #cq: EfadvCq;
  readonly #gid: Uint8Array<ArrayBuffer> = new Uint8Array(structs.ibv_gid.size);
  readonly #readSgid = efa().efadv_wc_read_sgid;
  readonly #readOpcode = verbs().ibv_wc_read_opcode;

  constructor(cq: EfadvCq, of: IbvCqEx, flags: number, isSingle: () => boolean) {
    super(of, flags, isSingle, FORMAT);
    this.#cq = cq;
  }

  protected override readExtra(cq: IbvCqEx, batch: BatchCore<unknown>, at: number): void {
    super.readExtra(cq, batch, at);
    if (batch.format.extra < FORMAT.extra) return;
    // Only a message has the GID: an RDMA write has a length in its place.
    const isMessage = this.#readOpcode(cq) === WcOpcode.RECV;
    if (!isMessage || this.#readSgid(this.#cq, this.#gid) !== 0) return;
    new Uint8Array(batch.view.buffer, at + EXTENDED.extra, structs.ibv_gid.size).set(this.#gid);
  }
}

const initAttr: AttributeCodec<{ readonly wcFlags: number }> = codecOf(
  "efadv_cq_init_attr",
  "attributes of a completion queue of EFA",
  { wcFlags: { bits: 32 } },
);

/** Makes the native queue. */
function create(context: Context, view: DataView<ArrayBuffer>, explain: CheckOptions): IbvCqEx {
  const { view: attr } = initAttr.write({ wcFlags: constants.EFADV_WC_EX_WITH_SGID });
  const args = [context.unsafeHandle, view, attr, attr.byteLength] as const;
  return callEfa("efadv_create_cq", "create completion queue", args, explain);
}

const PROVIDER: CqExProvider<EfaWorkCompletion> = {
  create,
  core: (cq, flags, isSingle) => {
    const own = efa().efadv_cq_from_ibv_cq_ex(cq)!;
    return new EfaCqCore(own, cq, flags, isSingle);
  },
};

/**
 * A completion queue of an Elastic Fabric Adapter that reports the GID of each unknown sender (`efadv_create_cq`). EFA
 * has no GRH: a reply uses this GID.
 *
 * @example An answer
 * ```ts
 * import type { QueuePair, ReplyPath, Sge } from "@rdma/ibverbs";
 * import type { EfaWorkCompletion } from "@rdma/ibverbs/efa";
 *
 * function answer(qp: QueuePair, path: ReplyPath, wc: EfaWorkCompletion, sge: Sge): void {
 *   qp.postSend({ sge, ah: path.to(wc), remoteQpn: wc.srcQp, remoteQkey: 0x1111_1111 });
 * }
 * ```
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Senders
 */
export class EfaCompletionQueue extends CompletionQueueEx<EfaWorkCompletion> {
  /**
   * Creates a completion queue.
   *
   * @param context The device.
   * @param init The attributes. EFA reports no timestamps.
   * @throws {TypeError} As the constructor of `CompletionQueueEx`.
   * @throws {RangeError} As the constructor of `CompletionQueueEx`.
   * @throws {Deno.errors.NotFound} If there is no libefa. The message names the package that has it.
   * @throws {VerbsError} EOPNOTSUPP if the device is another one, or an older one that reports no GIDs.
   */
  constructor(context: Context, init: CqInitAttrEx) {
    super(context, made<ProviderCq<unknown>>({ init, provider: PROVIDER }));
  }
}
