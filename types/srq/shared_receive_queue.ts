import { nothingBehind } from "../../internal/checks.ts";
import type { IbvSrq } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { hasContextOp } from "../../ffi/library/ops.ts";
import { bufferPointer } from "../../ffi/pointers.ts";
import { allocStruct, readField } from "../../ffi/struct.ts";
import type { Optional } from "../../internal/optional.ts";
import { ABOVE_LIMIT, aboveLimit, causeOf, type Causes } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { call, lacking } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { registerElement, unregisterElement } from "../device/async_events.ts";
import type { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import { providerCause } from "../device/provider_facts.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { type Receives, RecvPoster } from "../work/posting.ts";
import {
  type SrqAttr,
  srqAttrCodec,
  type SrqAttrInit,
  type SrqInitAttr,
  srqInitCodec,
  SrqType,
} from "./srq_attr.ts";
import { type OpsWr, writeOps, type WrittenOps } from "./tag_matching.ts";

const FIELDS = structs.ibv_srq_init_attr_ex.fields;

const KIND: NativeKind<IbvSrq, SharedReceiveQueue> = {
  name: "shared receive queue",
  destroy(handle, srq): void {
    call("ibv_destroy_srq", "destroy shared receive queue", [handle]);
    unregisterElement(srq);
  },
  describe: ({ srqType, maxWr }) => ({ srqType: nameOf(SrqType, srqType), maxWr }),
};

/**
 * A shared receive queue (`struct ibv_srq`). Several queue pairs take their receives from it. Disposing it first disposes
 * those queue pairs.
 *
 * @example A queue pair that receives from a shared queue
 * ```ts
 * import { CompletionQueue, Context, ProtectionDomain, QpType, QueuePair, SharedReceiveQueue } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * using cq = new CompletionQueue(context, { cqe: 128 });
 * using srq = new SharedReceiveQueue(pd, { maxWr: 256 });
 * using qp = new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, srq, cap: { maxSendWr: 16 } });
 * ```
 *
 * @category Shared receive queues
 */
export class SharedReceiveQueue extends NativeResource<IbvSrq> {
  /** The device that the queue belongs to. */
  readonly context: Context;
  /** The protection domain. */
  readonly pd: ProtectionDomain;
  /** Type. */
  readonly srqType: SrqType;
  /** Number of receives that can be outstanding, as the device granted it. */
  readonly maxWr: number;
  /** Number of scatter/gather elements of a receive, as the device granted it. */
  readonly maxSge: number;
  readonly #receiver: RecvPoster;
  readonly #postRecv: ReturnType<typeof verbs>["ibv_post_srq_recv"];
  /** Keeps the memory of the last operation while native code reads it. */
  #written: WrittenOps | undefined;

  /**
   * Makes a queue (`ibv_create_srq`, or `ibv_create_srq_ex` if an attribute needs it).
   *
   * @throws {TypeError} Also if an attribute belongs to another context, or not to the type of queue.
   * @throws {VerbsError} If the device has no such queues, or its provider cannot post to them (EOPNOTSUPP), or refuses.
   */
  constructor(pd: ProtectionDomain, init: SrqInitAttr) {
    const { context } = instance(pd, ProtectionDomain, "pd");
    const { view, mask, given, writeHandles } = srqInitCodec.write(init, { pd });
    checkType(context, given);
    checkPostOps(context, given);
    writeHandles();
    const { srqType = SrqType.BASIC, xrcd, cq } = given;
    const action = "create shared receive queue";
    const options = {
      detail: () => `${nameOf(SrqType, srqType)}, maxWr ${given.maxWr}`,
      hint: (code: string) =>
        providerCause(context.device, "sharedReceiveQueue", code) ??
          causeOf(CREATE_CAUSES, code, { ...given, context }),
      countOf: countsOf(context),
    };
    const handle = mask === 0
      ? call("ibv_create_srq", action, [pd.unsafeHandle, view], options)
      : call("ibv_create_srq_ex", action, [context.unsafeHandle, view], options);
    super(KIND, handle, [pd, xrcd, cq].filter((parent) => parent !== undefined));
    registerElement(this);
    this.context = context;
    this.pd = pd;
    this.srqType = srqType;
    this.maxWr = readField(view, FIELDS["attr.max_wr"]);
    this.maxSge = readField(view, FIELDS["attr.max_sge"]);
    this.#postRecv = verbs().ibv_post_srq_recv;
    this.#receiver = new RecvPoster(
      {
        verb: "ibv_post_srq_recv",
        action: "post receive",
        hint: (code) => causeOf(POST_CAUSES, code, {}),
      },
      { maxSge: this.maxSge, needsGrh: false },
    );
  }

  /**
   * The number of the queue (`ibv_get_srq_num`), 24 bits. The senders of an XRC domain need it.
   *
   * @throws {VerbsError} If the queue has no number: only queues of types XRC and TM have one.
   */
  get srqNum(): number {
    const number = new DataView(new ArrayBuffer(Uint32Array.BYTES_PER_ELEMENT));
    call("ibv_get_srq_num", "get number of shared receive queue", [this.unsafeHandle, number]);
    return number.getUint32(0, true);
  }

  /**
   * Sets the attributes that are given (`ibv_modify_srq`).
   *
   * `srqLimit` asks for one event `SRQ_LIMIT_REACHED`, when fewer receives than that are left. The event sets the limit
   * to 0: set it again for another event. Post receives first: soft-RoCE checks the limit only when a message takes a
   * receive, so an empty queue sends no event.
   *
   * @throws {TypeError} Also if no attribute is given.
   * @throws {VerbsError} If the device refuses: EINVAL for a limit above the size of the queue.
   */
  modify(attr: Optional<Pick<SrqAttr, "maxWr" | "srqLimit">>): void {
    nothingBehind(arguments[1], "modify(attr): the mask is computed");
    const { view, mask, given } = srqAttrCodec.write(attr);
    if (mask === 0) {
      throw new TypeError("Cannot modify shared receive queue: no attribute is given");
    }
    call("ibv_modify_srq", "modify shared receive queue", [this.unsafeHandle, view, mask], {
      detail: () => Object.entries(given).map(([name, value]) => `${name} ${value}`).join(", "),
      hint: (code) => causeOf(MODIFY_CAUSES, code, { srq: this, given }),
    });
  }

  /** Asks the device for the attributes (`ibv_query_srq`). */
  query(): SrqAttr {
    const view = allocStruct(structs.ibv_srq_attr);
    call("ibv_query_srq", "query shared receive queue", [this.unsafeHandle, view]);
    return srqAttrCodec.read(view);
  }

  /**
   * Posts receives, in order (`ibv_post_srq_recv`), as `QueuePair.postRecv` does. For queue pairs of type UD each
   * buffer needs 40 more bytes for the GRH.
   *
   * @throws {VerbsError} If the queue is full (ENOMEM).
   */
  postRecv(requests: Receives, start?: number, count?: number): void {
    const run = this.#receiver.prepare(requests, start, count);
    if (run === null) return;
    const result = this.#postRecv(this.unsafeHandle, run.first, this.#receiver.badWr);
    if (result !== 0) throw this.#receiver.error(result, run);
  }

  /**
   * Posts an operation on the list of tags (`ibv_post_srq_ops`). The queue must be of type TM.
   *
   * @returns TAG_ADD: the handle of the receive, for TAG_DEL. Otherwise 0.
   * @throws {TypeError} Also if an attribute does not belong to the opcode.
   * @throws {VerbsError} If the device has no tag matching (EOPNOTSUPP), or refuses.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  postOps(op: OpsWr): number {
    const written = writeOps(op);
    const { view, elements } = written;
    for (const { region } of elements) region?.assertAttached();
    this.#written = written;
    const args = [this.unsafeHandle, bufferPointer(view), new BigUint64Array(1)] as const;
    call("ibv_post_srq_ops", "post operation on tags", args);
    return readField(view, structs.ibv_ops_wr.fields["tm.handle"]);
  }
}

function checkType(
  context: Context,
  { srqType = SrqType.BASIC, xrcd, cq, tmCap }: SrqInitAttr,
): void {
  const needed = {
    xrcd: [xrcd, srqType === SrqType.XRC],
    cq: [cq, srqType !== SrqType.BASIC],
    tmCap: [tmCap, srqType === SrqType.TM],
  } as const;
  for (const [name, [part, isNeeded]] of Object.entries(needed)) {
    if ((part !== undefined) === isNeeded) continue;
    const what = isNeeded ? "needs" : "has no";
    throw refusal(`a queue of type ${nameOf(SrqType, srqType)} ${what} ${name}`);
  }
  for (const [name, part] of Object.entries({ xrcd, cq })) {
    if (part !== undefined && part.context !== context) {
      throw refusal(`${name} belongs to another context`);
    }
  }
}

/** Posting does not check that the ops exist: this is done once, here. */
function checkPostOps(context: Context, { srqType }: SrqInitAttr): void {
  const needed = ["post_srq_recv", srqType === SrqType.TM ? "post_srq_ops" : undefined] as const;
  for (const op of needed) {
    if (op !== undefined && !hasContextOp(context.unsafeHandle, op)) {
      throw lacking(`ibv_${op}`, "create shared receive queue");
    }
  }
}

function refusal(reason: string): TypeError {
  return new TypeError(`Cannot create shared receive queue: ${reason}`);
}

/** The attributes of a queue that could not be made. */
interface Making extends Pick<SrqInitAttr, "maxWr" | "maxSge"> {
  readonly context: Context;
}

export const CREATE_CAUSES: Causes<Making> = [
  ["EINVAL, ENOMEM", ABOVE_LIMIT, ({ context, maxWr, maxSge }) => {
    const { maxSrqWr, maxSrqSge } = context.queryDevice();
    return aboveLimit([["maxWr", maxWr, maxSrqWr], ["maxSge", maxSge, maxSrqSge]]);
  }],
];

export const MODIFY_CAUSES: Causes<
  { readonly srq: SharedReceiveQueue; readonly given: SrqAttrInit }
> = [
  [
    "EINVAL",
    ABOVE_LIMIT,
    ({ srq, given }) => aboveLimit([["maxWr", given.maxWr, srq.context.queryDevice().maxSrqWr]]),
  ],
  [
    "EINVAL",
    "srqLimit {srqLimit} is above the size of the queue, {maxWr} receives",
    ({ srq, given: { maxWr = srq.query().maxWr, srqLimit = 0 } }) =>
      srqLimit > maxWr && { srqLimit, maxWr },
  ],
];

// libmlx4 gives no reason.
export const POST_CAUSES: Causes = [
  [
    "ENOMEM, unknown",
    "The queue is full: a place is free again when the completion of a receive was polled",
  ],
];
