import { toCaller } from "../../internal/caller.ts";
import type { IbvCq } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { bufferPointer } from "../../ffi/pointers.ts";
import type { Verbs } from "../../ffi/verbs.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { failure } from "../core/errors.ts";
import type { SendTracker } from "./send_tracker.ts";
import { WcOpcode, WorkCompletion } from "./work_completion.ts";

const { size: SIZE, fields: WC } = structs.ibv_wc;
/** In 32-bit words, as the offsets below. */
const WORDS = SIZE / 4;
const STATUS = WC.status.offset / 4;
const OPCODE = WC.opcode.offset / 4;
const QP_NUM = WC.qp_num.offset / 4;
/** The bits of an opcode that only receives have. */
const RECEIVES = -WcOpcode.RECV;
/** Completions that `CqCore.drain` polls at a time. */
const DRAIN_BATCH = 64;
/** The most completions for which memory is allocated, however many are requested. */
const MAX_BATCH = 65_536;

/** A class of completions. */
export interface Format<C> {
  /** The bytes that each completion has behind the `struct ibv_wc` array of its batch. */
  readonly extra: number;
  /** Makes the object of a completion from the offsets of its struct and of its extra bytes. */
  readonly read: (view: DataView, base: number, extra: number) => C;
}

export const STANDARD: Format<WorkCompletion> = {
  extra: 0,
  read: (view, base) => new WorkCompletion(view, base),
};

/** The inside of a `WorkCompletionList`: an array of `struct ibv_wc`, and the extra bytes behind it. */
export class BatchCore<C = WorkCompletion> {
  readonly capacity: number;
  readonly format: Format<C>;
  /** Native code writes it, so it must not be transferred. */
  readonly view: DataView<ArrayBuffer>;
  readonly words: Int32Array<ArrayBuffer>;
  readonly pointer: Deno.PointerObject;
  /** How many completions the last poll wrote. */
  length = 0;
  /** How often it was polled into, which distinguishes the completions of different polls. */
  polls = 0;

  constructor(capacity: number, format: Format<C>) {
    this.capacity = capacity;
    this.format = format;
    this.view = new DataView(new ArrayBuffer((SIZE + format.extra) * capacity));
    this.words = new Int32Array(this.view.buffer);
    this.pointer = bufferPointer(this.view);
  }

  polled(count: number): void {
    this.length = count;
    this.polls++;
  }

  at(index: number): C {
    return this.format.read(this.view, index * SIZE, this.extraAt(index));
  }

  extraAt(index: number): number {
    return this.capacity * SIZE + index * this.format.extra;
  }

  /** Copies completions to another batch, which may have no place for the extra bytes. */
  copyTo(to: BatchCore<unknown>, at: number, start: number, count: number): void {
    const source = new Uint8Array(this.view.buffer);
    const target = new Uint8Array(to.view.buffer);
    target.set(source.subarray(start * SIZE, (start + count) * SIZE), at * SIZE);
    if (to.format.extra !== this.format.extra) {
      target.fill(0, to.extraAt(at), to.extraAt(at + count));
      return;
    }
    const extra = source.subarray(this.extraAt(start), this.extraAt(start + count));
    target.set(extra, to.extraAt(at));
  }
}

/**
 * Polls a queue, reports completed sends to the trackers of their queue pairs, and keeps completions that were polled
 * ahead. All handles must be valid. Extended queues poll in another way.
 */
export class CqCore<C = WorkCompletion> {
  /** The trackers of the queue pairs that send to the queue, by queue pair number. */
  readonly senders: Map<number, SendTracker> = new Map();
  protected readonly verb: string = "ibv_poll_cq";
  readonly #verb: Verbs["ibv_poll_cq"] = verbs().ibv_poll_cq;
  readonly #format: Format<C>;
  /** Completions that were polled ahead, oldest first. */
  #ahead: BatchCore<C>;
  /** The first of them that was not given out. */
  #start = 0;

  constructor(format: Format<C>) {
    this.#format = format;
    this.#ahead = new BatchCore(1, format);
  }

  /** Polls natively. Returns how many completions it wrote, at most `most`, or a negative errno value. */
  protected fetch(cq: IbvCq, batch: BatchCore<unknown>, most: number): number {
    return this.#verb(cq, most, batch.pointer);
  }

  pollInto(cq: IbvCq, batch: BatchCore<unknown>): number {
    const left = this.#left();
    if (left === 0) return this.#poll(cq, batch, batch.capacity);
    const count = Math.min(left, batch.capacity);
    this.#ahead.copyTo(batch, 0, this.#start, count);
    this.#start += count;
    batch.polled(count);
    return count;
  }

  pollObjects(cq: IbvCq, most: number): C[] {
    const count = Math.min(this.#left() || this.#refill(cq, most), most);
    const completions = new Array<C>(count);
    for (let i = 0; i < count; i++) completions[i] = this.take();
    return completions;
  }

  /** The oldest completion of those that were polled ahead. */
  take(): C {
    return this.#ahead.at(this.#start++);
  }

  /** How many completions were polled ahead. If there are none it polls `batch` of them. */
  ahead(cq: IbvCq, batch: number): number {
    return this.#left() || this.#refill(cq, batch);
  }

  /** Polls all completions that are in a queue of `cqe` entries now, behind those that were polled ahead. */
  drain(cq: IbvCq, cqe: number): void {
    const batch = new BatchCore(DRAIN_BATCH, this.#format);
    for (let room = cqe; room > 0; room -= batch.length) {
      if (this.#poll(cq, batch, DRAIN_BATCH) === 0) return;
      this.#append(batch);
    }
  }

  /**
   * Memory to poll into by other means, while none was polled ahead; `undefined` if the queue does not poll by
   * `ibv_poll_cq`. `CqCore.adopt` has to follow.
   */
  get memory(): BatchCore<C> | undefined {
    return this.verb === "ibv_poll_cq" ? this.#ahead : undefined;
  }

  /** Takes over what was polled there. Returns whether there is a completion. */
  adopt(count: number): boolean {
    this.#start = 0;
    return this.#accept(this.#ahead, count, this.#ahead.capacity) > 0;
  }

  #left(): number {
    return this.#ahead.length - this.#start;
  }

  #refill(cq: IbvCq, wanted: number): number {
    const most = Math.min(wanted, MAX_BATCH);
    if (this.#ahead.capacity < most) this.#ahead = new BatchCore(most, this.#format);
    this.#start = 0;
    return this.#poll(cq, this.#ahead, most);
  }

  #append(batch: BatchCore<C>): void {
    const left = this.#left();
    const all = new BatchCore(left + batch.length, this.#format);
    this.#ahead.copyTo(all, 0, this.#start, left);
    batch.copyTo(all, left, 0, batch.length);
    all.polled(left + batch.length);
    this.#ahead = all;
    this.#start = 0;
  }

  #poll(cq: IbvCq, batch: BatchCore<unknown>, most: number): number {
    try {
      return this.#accept(batch, this.fetch(cq, batch, most), most);
    } catch (error) {
      throw toCaller(error, this.#poll);
    }
  }

  /** Handles the result of a poll. */
  #accept(batch: BatchCore<unknown>, count: number, most: number): number {
    // A provider without the op returns EOPNOTSUPP, which is positive: as if there were 95 completions.
    if (count < 0 || count > most) {
      batch.polled(0);
      throw pollError(this.verb, count);
    }
    batch.polled(count);
    if (count > 0 && this.senders.size > 0) account(this.senders, batch.words, count);
    return count;
  }
}

/** Reports completed sends to the trackers, so that they release the address handles of these sends. */
function account(
  senders: ReadonlyMap<number, SendTracker>,
  words: Int32Array,
  count: number,
): void {
  let qpNum = words[QP_NUM]!;
  let sends = 0;
  const end = count * WORDS | 0;
  for (let at = 0; at < end; at = at + WORDS | 0) {
    const number = words[at + QP_NUM]!;
    if (number !== qpNum) {
      if (sends > 0) senders.get(qpNum)?.completed(sends);
      qpNum = number;
      sends = 0;
    }
    if ((words[at + OPCODE]! & RECEIVES) !== 0) continue;
    // SUCCESS is 0. Only some queue pairs report the kind of a failed request.
    if (words[at + STATUS] === 0 || senders.get(number)?.countsFailed) sends = sends + 1 | 0;
  }
  if (sends > 0) senders.get(qpNum)?.completed(sends);
}

function pollError(verb: string, count: number): Error {
  return failure(verb, "poll completion queue", Math.abs(count), {
    hint: (code) => count < 0 ? causeOf(POLL_CAUSES, code, {}) : undefined,
  });
}

// Each provider returns its own number.
export const POLL_CAUSES: Causes = [
  ["any", "The queue may have overrun: there were more completions than it has entries"],
];
