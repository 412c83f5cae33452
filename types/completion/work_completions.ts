import { structs } from "../../ffi/layout.ts";
import { positiveInt } from "../core/checks.ts";
import { WcOpcode, WcStatus, WorkCompletion } from "./work_completion.ts";

const { size: SIZE, fields } = structs.ibv_wc;
const WR_ID = fields.wr_id.offset;
const STATUS = fields.status.offset;
const OPCODE = fields.opcode.offset;
const BYTE_LEN = fields.byte_len.offset;
const IMM_DATA = fields.imm_data.offset;
const QP_NUM = fields.qp_num.offset;
const SRC_QP = fields.src_qp.offset;
const WC_FLAGS = fields.wc_flags.offset;

/** Notes how many completions a poll brought. */
export let setLength: (batch: WorkCompletions, count: number) => void;

/** Moves completions from an index on to another batch, as many as it takes; those behind them move up. */
export let moveCompletions: (from: WorkCompletions, start: number, to: WorkCompletions) => void;

/** How often was polled into a batch: tells the completions of one poll from those of another. */
export let pollsOf: (batch: WorkCompletions) => number;

/**
 * Room for completions in native layout, made once and polled into again and again with
 * {@linkcode CompletionQueue.pollInto}. Its accessors read single fields and allocate nothing. What it holds is valid
 * until the next poll into it; give each poller its own.
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
 */
export class WorkCompletions {
  /** How many completions fit. */
  readonly capacity: number;
  /** The `struct ibv_wc` array; native code writes to it. */
  readonly view: DataView<ArrayBuffer>;
  /** The array as `struct ibv_wc *`. */
  readonly pointer: Deno.PointerObject;
  #length = 0;
  #polls = 0;

  /** Makes room for `capacity` completions, at least 1. */
  constructor(capacity: number) {
    this.capacity = positiveInt(capacity, "capacity");
    const bytes = new Uint8Array(SIZE * capacity);
    this.view = new DataView(bytes.buffer);
    this.pointer = Deno.UnsafePointer.of(bytes)!;
  }

  /** How many completions the last poll brought. */
  get length(): number {
    return this.#length;
  }

  static {
    setLength = (batch, count) => {
      batch.#length = count;
      batch.#polls++;
    };
    moveCompletions = (from, start, to) => {
      const end = Math.min(from.#length, start + to.capacity);
      const bytes = new Uint8Array(from.view.buffer);
      new Uint8Array(to.view.buffer).set(bytes.subarray(start * SIZE, end * SIZE));
      bytes.copyWithin(start * SIZE, end * SIZE, from.#length * SIZE);
      from.#length -= end - start;
      setLength(to, end - start);
    };
    pollsOf = (batch) => batch.#polls;
  }

  /** The `wrId` that was posted. */
  wrId(index: number): bigint {
    return this.view.getBigUint64(index * SIZE + WR_ID, true);
  }

  /** The lower 32 bits of `wrId`, for those who post small numbers: no bigint is made. */
  wrIdLow(index: number): number {
    return this.view.getUint32(index * SIZE + WR_ID, true);
  }

  /** How it ended; 0 is SUCCESS. */
  status(index: number): WcStatus {
    return this.view.getUint32(index * SIZE + STATUS, true) as WcStatus;
  }

  /** What completed. */
  opcode(index: number): WcOpcode {
    return this.view.getUint32(index * SIZE + OPCODE, true) as WcOpcode;
  }

  /** Bytes received, with the 40 of the GRH on a UD queue pair. */
  byteLen(index: number): number {
    return this.view.getUint32(index * SIZE + BYTE_LEN, true);
  }

  /** Immediate data in host order. */
  immData(index: number): number {
    return this.view.getUint32(index * SIZE + IMM_DATA);
  }

  /** The local queue pair. */
  qpNum(index: number): number {
    return this.view.getUint32(index * SIZE + QP_NUM, true);
  }

  /** The sender's queue pair. */
  srcQp(index: number): number {
    return this.view.getUint32(index * SIZE + SRC_QP, true);
  }

  /** {@linkcode WcFlags}. */
  wcFlags(index: number): number {
    return this.view.getUint32(index * SIZE + WC_FLAGS, true);
  }

  /** Whether it is a send that succeeded: of a failed request not even the kind is known. */
  isSend(index: number): boolean {
    return this.opcode(index) < WcOpcode.RECV && this.status(index) === WcStatus.SUCCESS;
  }

  /**
   * One completion as an object of its own, which later polls do not change.
   *
   * @throws {RangeError} If the last poll did not bring that many.
   */
  at(index: number): WorkCompletion {
    if (!(index >= 0 && index < this.#length)) {
      throw new RangeError(
        `Cannot read completion ${index}: the last poll brought ${this.#length}`,
      );
    }
    return new WorkCompletion(this.view, index * SIZE);
  }

  /** All completions of the last poll as objects. */
  *[Symbol.iterator](): Generator<WorkCompletion> {
    for (let i = 0; i < this.#length; i++) yield this.at(i);
  }
}
