import { structs } from "../../ffi/layout.ts";
import { instanceOf, positiveInt, show, uint32 } from "../../internal/checks.ts";
import { partsIn } from "../../internal/made.ts";
import { BatchCore, type Format, STANDARD } from "./cq_core.ts";
import { WcOpcode, WcStatus, type WorkCompletion } from "./work_completion.ts";

const { size: SIZE, fields: WC } = structs.ibv_wc;

function offsetOf(index: number): number {
  if (typeof index !== "number" || index >>> 0 !== index) uint32(index, "index");
  return index * SIZE;
}

/** The size of a batch whose completions are of another class, for the constructor. */
export interface OtherBatch<C> {
  readonly capacity: number;
  readonly format: Format<C>;
}

/**
 * The inside of a batch of the caller.
 *
 * @throws {TypeError} If it is none.
 */
export let batchCore: (batch: WorkCompletionList) => BatchCore;

/**
 * Memory for completions in native layout. It is made once, and
 * `CompletionQueue.pollInto` writes to it again and again. The accessors
 * read single fields and allocate nothing. Completions are valid until the next poll into the batch, so each poller
 * needs its own.
 *
 * The accessors do not check that the last poll wrote the completion;
 * `WorkCompletionList.at` does. They throw a TypeError if the index is not an
 * integer, and a RangeError outside the memory.
 *
 * @example Busy polling
 * ```ts
 * import { type CompletionQueue, WorkCompletionList } from "@rdma/ibverbs";
 *
 * function drain(cq: CompletionQueue, batch: WorkCompletionList): void {
 *   const count = cq.pollInto(batch);
 *   for (let i = 0; i < count; i++) {
 *     if (batch.status(i) !== 0) batch.at(i).check();
 *   }
 * }
 * ```
 *
 * @category Completions
 */
export class WorkCompletionList<C extends WorkCompletion = WorkCompletion> {
  /** How many completions fit. */
  readonly capacity: number;
  readonly #core: BatchCore<C>;
  readonly #view: DataView<ArrayBuffer>;

  static {
    batchCore = (batch) => {
      try {
        return batch.#core;
      } catch {
        // An object that only looks like a batch has no such field.
        throw notBatch(batch);
      }
    };
  }

  /**
   * Allocates memory.
   *
   * @param capacity The number of completions, at least 1.
   * @throws {RangeError} If the capacity is out of range.
   */
  constructor(capacity: number) {
    const other: OtherBatch<unknown> = partsIn(capacity) ?? { capacity, format: STANDARD };
    this.capacity = positiveInt(other.capacity, "capacity");
    this.#core = new BatchCore(this.capacity, other.format as Format<C>);
    this.#view = this.#core.view;
  }

  /** How many completions the last poll wrote. */
  get length(): number {
    return this.#core.length;
  }

  /** The `wrId` of the request. */
  wrId(index: number): bigint {
    return this.#view.getBigUint64(offsetOf(index) + WC.wr_id.offset, true);
  }

  /** The lower 32 bits of the `wrId`. It makes no bigint, and is enough if all `wrId` are small. */
  wrIdLow(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.wr_id.offset, true);
  }

  /** The result. 0 is SUCCESS. */
  status(index: number): WcStatus {
    return this.#view.getUint32(offsetOf(index) + WC.status.offset, true) as WcStatus;
  }

  /** The kind of request. */
  opcode(index: number): WcOpcode {
    return this.#view.getUint32(offsetOf(index) + WC.opcode.offset, true) as WcOpcode;
  }

  /** The error code of the vendor. */
  vendorErr(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.vendor_err.offset, true);
  }

  /** Bytes received. On a UD queue pair they include the 40 bytes of the GRH. */
  byteLen(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.byte_len.offset, true);
  }

  /** Immediate data in host order. */
  immData(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.imm_data.offset);
  }

  /** The rkey that the peer's send invalidated. */
  invalidatedRkey(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.invalidated_rkey.offset, true);
  }

  /** The number of the local queue pair. */
  qpNum(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.qp_num.offset, true);
  }

  /** The number of the sender's queue pair. */
  srcQp(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.src_qp.offset, true);
  }

  /** `WcFlags`, combined. */
  wcFlags(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC.wc_flags.offset, true);
  }

  /** The LID of the sender. */
  slid(index: number): number {
    return this.#view.getUint16(offsetOf(index) + WC.slid.offset, true);
  }

  /** The service level. */
  sl(index: number): number {
    return this.#view.getUint8(offsetOf(index) + WC.sl.offset);
  }

  /** The low bits of the LID that the packet was sent to. */
  dlidPathBits(index: number): number {
    return this.#view.getUint8(offsetOf(index) + WC.dlid_path_bits.offset);
  }

  /** Whether it is a send that succeeded. The kind of a failed request is not known. */
  isSend(index: number): boolean {
    return this.opcode(index) < WcOpcode.RECV && this.status(index) === WcStatus.SUCCESS;
  }

  /**
   * One completion as an object. Later polls do not change the object.
   *
   * @throws {RangeError} If the last poll did not write that many.
   */
  at(index: number): C {
    const { length } = this;
    if (!(Number.isInteger(index) && index >= 0 && index < length)) {
      throw new RangeError(`Cannot read completion ${show(index)}: the last poll wrote ${length}`);
    }
    return this.#core.at(index);
  }

  /** All completions of the last poll as objects. */
  *[Symbol.iterator](): Generator<C> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }

  /** The capacity and the length, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }

  /** The size of the list, and how many completions are in it. */
  toString(): string {
    return `${this.constructor.name} { capacity: ${this.capacity}, length: ${this.length} }`;
  }
}

function notBatch(batch: unknown): TypeError {
  instanceOf(batch, WorkCompletionList, "batch");
  return new TypeError("Cannot use batch: it is not a WorkCompletionList, but looks like one");
}
