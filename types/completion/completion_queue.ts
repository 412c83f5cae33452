import type { IbvCq } from "../../ffi/handles.ts";
import { hasContextOp } from "../../ffi/inlines.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { readNative } from "../../ffi/struct.ts";
import {
  type CompletionChannel,
  registerQueue,
  unregisterQueue,
  waitForQueue,
  wakeQueue,
} from "./completion_channel.ts";
import type { Context } from "../device/context.ts";
import { check, checkHandle, failure } from "../core/errors.ts";
import { Resource } from "../core/resource.ts";
import type { SendTracker } from "./send_tracker.ts";
import { integer, positiveInt } from "../core/checks.ts";
import { WcOpcode, WcStatus, type WorkCompletion } from "./work_completion.ts";
import { moveCompletions, setLength, WorkCompletions } from "./work_completions.ts";

/** What a completion queue is to be like. */
export interface CqInit {
  /** Entries it must have room for, at least 1; it may get more. */
  readonly cqe: number;
  /** Channel for its events; if left out, one that the context's queues share; null for none. */
  readonly channel?: CompletionChannel | null;
  /** Completion vector, from 0: which interrupt its events take. 0 if left out. */
  readonly compVector?: number;
}

/** Options of {@linkcode CompletionQueue.completions}. */
export interface CompletionsOptions {
  /** Ends the iteration: it throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Most completions polled at a time; 32 if left out. */
  readonly batch?: number;
  /** Empty polls in a row before it goes to sleep; 0, to sleep at once, if left out. Waking up costs tens of us. */
  readonly spin?: number;
}

const { size: SIZE, fields } = structs.ibv_wc;
const STATUS = fields.status.offset;
const OPCODE = fields.opcode.offset;
const QP_NUM = fields.qp_num.offset;
const { SUCCESS } = WcStatus;
const { RECV } = WcOpcode;

let nextId = 1n;

/** Has a queue report completed sends of a queue pair. */
export let addSender: (cq: CompletionQueue, qpNum: number, tracker: SendTracker) => void;

/** Ends {@linkcode addSender}. */
export let removeSender: (cq: CompletionQueue, qpNum: number) => void;

/**
 * A completion queue (`struct ibv_cq`). Made by {@linkcode Context.createCq}.
 *
 * @example Waiting for completions
 * ```ts
 * import type { CompletionQueue } from "@rdma/ibverbs";
 *
 * async function firstBytes(cq: CompletionQueue): Promise<number> {
 *   for await (const wc of cq.completions({ signal: AbortSignal.timeout(1000) })) {
 *     return wc.check().byteLen;
 *   }
 *   return 0;
 * }
 * ```
 */
export class CompletionQueue extends Resource<IbvCq> {
  /** Its name in messages. */
  protected override readonly kind = "completion queue";
  /** The device it belongs to. */
  readonly context: Context;
  /** The channel its events come through; null if it has none. */
  readonly channel: CompletionChannel | null;
  readonly #id: bigint;
  readonly #poll: ReturnType<typeof verbs>["ibv_poll_cq"];
  /** What is under way on the queue pairs that send to this queue, by queue pair number. */
  readonly #senders: Map<number, SendTracker> = new Map();
  #scratch: WorkCompletions | undefined;
  /** What iterations had polled and not given out when they were left; it comes first in every poll. */
  readonly #left: WorkCompletions[] = [];

  static {
    addSender = (cq, qpNum, tracker) => {
      cq.#senders.set(qpNum, tracker);
    };
    removeSender = (cq, qpNum) => {
      cq.#senders.delete(qpNum);
    };
  }

  private constructor(
    context: Context,
    channel: CompletionChannel | null,
    handle: IbvCq,
    id: bigint,
  ) {
    super(handle, channel === null ? [context] : [context, channel]);
    this.context = context;
    this.channel = channel;
    this.#id = id;
    this.#poll = verbs().ibv_poll_cq;
    if (channel !== null) registerQueue(channel, id, this);
  }

  /** @ignore The way in for {@linkcode Context.createCq}. */
  static create(
    context: Context,
    channel: CompletionChannel | null,
    { cqe, compVector = 0 }: CqInit,
  ): CompletionQueue {
    const handle = context.unsafeHandle;
    positiveInt(cqe, "cqe");
    integer(compVector, "compVector", 0, Math.max(0, context.numCompVectors - 1));
    if (channel !== null && channel.context !== context) {
      throw new TypeError("Cannot create completion queue: the channel belongs to another context");
    }
    if (!hasContextOp(handle, "poll_cq") || !hasContextOp(handle, "req_notify_cq")) {
      throw new TypeError("Cannot create completion queue: the provider has no poll_cq");
    }
    const id = nextId++;
    const cq = verbs().ibv_create_cq(handle, cqe, id, channel?.unsafeHandle ?? null, compVector);
    checkHandle("ibv_create_cq", "create completion queue", cq, {
      detail: () => `cqe ${cqe}`,
      hint: (code) =>
        code === "EINVAL"
          ? `The device allows up to ${context.queryDevice().maxCqe} entries`
          : undefined,
    });
    return new CompletionQueue(context, channel, cq!, id);
  }

  /** Entries it has room for. */
  get cqe(): number {
    return readNative(this.unsafeHandle, structs.ibv_cq.fields.cqe);
  }

  /**
   * Takes completions out of the queue, as objects (`ibv_poll_cq`).
   *
   * @param numEntries Most to take, at least 1.
   * @returns Those there were, oldest first; none if the queue is empty. Look at their status.
   * @throws {VerbsError} If the provider fails, or the queue has overrun.
   */
  poll(numEntries: number = 16): WorkCompletion[] {
    if (this.#scratch === undefined || this.#scratch.capacity !== numEntries) {
      this.#scratch = new WorkCompletions(numEntries);
    }
    this.pollInto(this.#scratch);
    return [...this.#scratch];
  }

  /**
   * Takes completions out of the queue without making objects (`ibv_poll_cq`): as many as there are and fit.
   *
   * @returns How many there were.
   * @throws {VerbsError} If the provider fails, or the queue has overrun.
   */
  pollInto(batch: WorkCompletions): number {
    const handle = this.unsafeHandle;
    if (this.#left.length > 0) return this.#takeLeft(batch);
    if (batch.view.byteLength === 0) throw new TypeError("Cannot poll: the batch was transferred");
    const count = this.#poll(handle, batch.capacity, batch.pointer);
    // providers without the op return the positive EOPNOTSUPP, as if there were 95 completions
    if (count < 0 || count > batch.capacity) throw pollError(count);
    setLength(batch, count);
    if (count > 0 && this.#senders.size > 0) this.#account(batch, count);
    return count;
  }

  #takeLeft(batch: WorkCompletions): number {
    const oldest = this.#left[0]!;
    moveCompletions(oldest, 0, batch);
    if (oldest.length === 0) this.#left.shift();
    return batch.length;
  }

  /** Keeps what an iteration leaves behind, and wakes another one to go on with it. */
  #leave(completions: WorkCompletions, from: number): void {
    const left = new WorkCompletions(completions.length - from);
    moveCompletions(completions, from, left);
    this.#left.push(left);
    if (this.channel !== null) wakeQueue(this.channel, this);
  }

  /** Lets go of the address handles whose sends have completed. */
  #account(batch: WorkCompletions, count: number): void {
    const { view } = batch;
    let qpNum = view.getUint32(QP_NUM, true);
    let sends = 0;
    for (let at = 0; at < count * SIZE; at += SIZE) {
      const number = view.getUint32(at + QP_NUM, true);
      if (number !== qpNum) {
        if (sends > 0) this.#senders.get(qpNum)?.completed(sends);
        qpNum = number;
        sends = 0;
      }
      if (isSend(view, at)) sends++;
    }
    if (sends > 0) this.#senders.get(qpNum)?.completed(sends);
  }

  /**
   * Asks for an event with the next completion (`ibv_req_notify_cq`). Completions that are there already give none:
   * poll once more after arming, before waiting.
   *
   * @param solicitedOnly Only for completions whose sender asked for it, and for failed ones.
   */
  reqNotify(solicitedOnly: boolean = false): void {
    const result = verbs().ibv_req_notify_cq(this.unsafeHandle, Number(solicitedOnly));
    check("ibv_req_notify_cq", "arm completion queue", result);
  }

  /**
   * Gives the queue another size (`ibv_resize_cq`).
   *
   * @param cqe Entries it must have room for; it may get more.
   * @throws {VerbsError} EINVAL if it holds more completions than that.
   */
  resize(cqe: number): void {
    const result = verbs().ibv_resize_cq(this.unsafeHandle, positiveInt(cqe, "cqe"));
    check("ibv_resize_cq", "resize completion queue", result, { detail: () => `cqe ${cqe}` });
  }

  /**
   * Completions as they come, for `for await`. It sleeps while there are none, without keeping a thread for itself,
   * and never misses one. What it had polled already when it is left comes first in the next poll.
   *
   * @throws {TypeError} If the queue has no channel, or is disposed meanwhile.
   * @throws The signal's reason when it aborts.
   */
  async *completions(
    { signal, batch = 32, spin = 0 }: CompletionsOptions = {},
  ): AsyncGenerator<WorkCompletion, void, void> {
    const channel = this.channel;
    if (channel === null) {
      throw new TypeError("Cannot wait for completions: the completion queue has no channel");
    }
    const completions = new WorkCompletions(batch);
    while (true) {
      signal?.throwIfAborted();
      if (this.#spin(completions, spin) === 0) {
        this.reqNotify();
        if (this.pollInto(completions) === 0) {
          await waitForQueue(channel, this, signal);
          continue;
        }
      }
      let given = 0;
      try {
        while (given < completions.length) yield completions.at(given++);
      } finally {
        if (given < completions.length) this.#leave(completions, given);
      }
    }
  }

  #spin(completions: WorkCompletions, spin: number): number {
    let count = this.pollInto(completions);
    for (let i = 0; count === 0 && i < spin; i++) count = this.pollInto(completions);
    return count;
  }

  /** Disposes the object, as {@linkcode Resource.close} does. */
  override [Symbol.dispose](): void {
    if (this.channel !== null) unregisterQueue(this.channel, this.#id, this);
    super[Symbol.dispose]();
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvCq): void {
    const result = verbs().ibv_destroy_cq(handle);
    check("ibv_destroy_cq", "destroy completion queue", result);
  }
}

/** Whether it is a send that succeeded: of a failed request not even the kind is known. */
function isSend(view: DataView, at: number): boolean {
  return view.getUint32(at + STATUS, true) === SUCCESS && view.getUint32(at + OPCODE, true) < RECV;
}

function pollError(count: number): Error {
  return failure("ibv_poll_cq", "poll completion queue", Math.abs(count), {
    hint: () =>
      count < 0
        ? "The queue may have overrun: more completions came than it has entries"
        : undefined,
  });
}
