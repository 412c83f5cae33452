/**
 * Completions in native layout.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { bufferPointer } from "../../ffi/pointers.ts";
import { positiveInt, show, uint32 } from "../core/checks.ts";
import { WcOpcode, WcStatus, WorkCompletion } from "./work_completion.ts";

const { size: SIZE, fields } = structs.ibv_wc;
const WR_ID = fields.wr_id.offset;
const STATUS = fields.status.offset;
const OPCODE = fields.opcode.offset;
const VENDOR_ERR = fields.vendor_err.offset;
const BYTE_LEN = fields.byte_len.offset;
const IMM_DATA = fields.imm_data.offset;
const INVALIDATED_RKEY = fields.invalidated_rkey.offset;
const QP_NUM = fields.qp_num.offset;
const SRC_QP = fields.src_qp.offset;
const WC_FLAGS = fields.wc_flags.offset;
const SLID = fields.slid.offset;
const SL = fields.sl.offset;
const DLID_PATH_BITS = fields.dlid_path_bits.offset;

// A constant of this module for V8 to inline: calling the imported check for each field takes 50 ns instead of 5.
function offsetOf(index: number): number {
  if (typeof index !== "number" || index >>> 0 !== index) uint32(index, "index");
  return index * SIZE;
}

/** The `struct ibv_wc` array of a batch. Native code writes it, so it must not be transferred. */
export let viewOf: (batch: WorkCompletions) => DataView<ArrayBuffer>;

/** The array of a batch as 32-bit words. */
export let wordsOf: (batch: WorkCompletions) => Int32Array<ArrayBuffer>;

/** The array of a batch as `struct ibv_wc *`. */
export let pointerOf: (batch: WorkCompletions) => Deno.PointerObject;

/** Records how many completions a poll wrote into a batch. */
export let setLength: (batch: WorkCompletions, count: number) => void;

/** How often a batch was polled into. It tells the completions of one poll from those of another. */
export let pollsOf: (batch: WorkCompletions) => number;

/** How many completions fit into the array of a batch, whatever properties the caller gave the batch. */
export let capacityOf: (batch: WorkCompletions) => number;

/** The bytes that a batch has for each completion behind the `struct ibv_wc` array. */
export let extraOf: (batch: WorkCompletions) => number;

/**
 * Memory for completions in native layout. It is made once, and
 * {@linkcode CompletionQueue.prototype.pollInto | CompletionQueue.pollInto} writes to it again and again. The accessors
 * read single fields and allocate nothing. Completions are valid until the next poll into the batch, so each poller
 * needs its own.
 *
 * The accessors do not check that the last poll wrote the completion;
 * {@linkcode WorkCompletions.prototype.at | WorkCompletions.at} does. They throw a TypeError if the index is not an
 * integer, and a RangeError outside the memory.
 *
 * @example Busy polling
 * ```ts
 * import { type CompletionQueue, WorkCompletions } from "@rdma/ibverbs";
 *
 * function drain(cq: CompletionQueue, batch: WorkCompletions): void {
 *   const count = cq.pollInto(batch);
 *   for (let i = 0; i < count; i++) {
 *     if (batch.status(i) !== 0) batch.at(i).check();
 *   }
 * }
 * ```
 *
 * @category Completions
 */
export class WorkCompletions {
  /** How many completions fit. */
  readonly capacity: number;
  readonly #capacity: number;
  readonly #view: DataView<ArrayBuffer>;
  readonly #words: Int32Array<ArrayBuffer>;
  readonly #pointer: Deno.PointerObject;
  readonly #extra: number;
  #length = 0;
  #polls = 0;

  /**
   * Allocates memory.
   *
   * @param capacity The number of completions, at least 1.
   * @throws {RangeError} If the capacity is out of range.
   */
  constructor(capacity: number);
  /** @ignore For subclasses, which need more bytes for each completion. */
  constructor(capacity: number, extra?: number);
  /** @ignore */
  constructor(capacity: number, extra = 0) {
    this.capacity = this.#capacity = positiveInt(capacity, "capacity");
    this.#extra = extra;
    this.#view = new DataView(new ArrayBuffer((SIZE + extra) * capacity));
    this.#words = new Int32Array(this.#view.buffer);
    this.#pointer = bufferPointer(this.#view);
  }

  static {
    viewOf = (batch) => batch.#view;
    wordsOf = (batch) => batch.#words;
    pointerOf = (batch) => batch.#pointer;
    setLength = (batch, count) => {
      batch.#length = count;
      batch.#polls++;
    };
    capacityOf = (batch) => batch.#capacity;
    pollsOf = (batch) => batch.#polls;
    extraOf = (batch) => batch.#extra;
  }

  /** How many completions the last poll wrote. */
  get length(): number {
    return this.#length;
  }

  /** The `wrId` of the request. */
  wrId(index: number): bigint {
    return this.#view.getBigUint64(offsetOf(index) + WR_ID, true);
  }

  /** The lower 32 bits of the `wrId`. It makes no bigint, and suffices if all `wrId` are small. */
  wrIdLow(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WR_ID, true);
  }

  /** The result. 0 is SUCCESS. */
  status(index: number): WcStatus {
    return this.#view.getUint32(offsetOf(index) + STATUS, true) as WcStatus;
  }

  /** The kind of request. */
  opcode(index: number): WcOpcode {
    return this.#view.getUint32(offsetOf(index) + OPCODE, true) as WcOpcode;
  }

  /** The error code of the vendor. */
  vendorErr(index: number): number {
    return this.#view.getUint32(offsetOf(index) + VENDOR_ERR, true);
  }

  /** Bytes received. On a UD queue pair they include the 40 bytes of the GRH. */
  byteLen(index: number): number {
    return this.#view.getUint32(offsetOf(index) + BYTE_LEN, true);
  }

  /** Immediate data in host order. */
  immData(index: number): number {
    return this.#view.getUint32(offsetOf(index) + IMM_DATA);
  }

  /** The rkey that the peer's send invalidated. */
  invalidatedRkey(index: number): number {
    return this.#view.getUint32(offsetOf(index) + INVALIDATED_RKEY, true);
  }

  /** The number of the local queue pair. */
  qpNum(index: number): number {
    return this.#view.getUint32(offsetOf(index) + QP_NUM, true);
  }

  /** The number of the sender's queue pair. */
  srcQp(index: number): number {
    return this.#view.getUint32(offsetOf(index) + SRC_QP, true);
  }

  /** {@linkcode WcFlags}, combined. */
  wcFlags(index: number): number {
    return this.#view.getUint32(offsetOf(index) + WC_FLAGS, true);
  }

  /** The LID of the sender. */
  slid(index: number): number {
    return this.#view.getUint16(offsetOf(index) + SLID, true);
  }

  /** The service level. */
  sl(index: number): number {
    return this.#view.getUint8(offsetOf(index) + SL);
  }

  /** The low bits of the LID that the packet was sent to. */
  dlidPathBits(index: number): number {
    return this.#view.getUint8(offsetOf(index) + DLID_PATH_BITS);
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
  at(index: number): WorkCompletion {
    if (!(Number.isInteger(index) && index >= 0 && index < this.#length)) {
      throw new RangeError(
        `Cannot read completion ${show(index)}: the last poll wrote ${this.#length}`,
      );
    }
    return new WorkCompletion(this.#view, index * SIZE);
  }

  /** All completions of the last poll as objects. */
  *[Symbol.iterator](): Generator<WorkCompletion> {
    for (let i = 0; i < this.#length; i++) yield this.at(i);
  }

  /** The capacity and the length, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return `${this.constructor.name} { capacity: ${this.capacity}, length: ${this.#length} }`;
  }
}
