import { errno, errnoName } from "../../ffi/errno.ts";
import type { IbvCompChannel, IbvCq } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { Readiness } from "../../ffi/readiness.ts";
import { readNative } from "../../ffi/struct.ts";
import type { AbortOptions } from "../core/abortable.ts";
import type { CompletionQueue } from "./completion_queue.ts";
import type { Context } from "../device/context.ts";
import { check, checkHandle, failure } from "../core/errors.ts";
import { hold, Resource, unhold } from "../core/resource.ts";

interface Waiter {
  /** The queue waited for; any if left out. */
  readonly cq: CompletionQueue | undefined;
  readonly resolve: (cq: CompletionQueue) => void;
  readonly reject: (reason: unknown) => void;
}

/** Tells a channel which queue the events with that `cq_context` are of. */
export let registerQueue: (channel: CompletionChannel, id: bigint, cq: CompletionQueue) => void;

/** Waits for an event of one queue. */
export let waitForQueue: (
  channel: CompletionChannel,
  cq: CompletionQueue,
  signal: AbortSignal | undefined,
) => Promise<CompletionQueue>;

/** Wakes those who wait for that queue, without an event. */
export let wakeQueue: (channel: CompletionChannel, cq: CompletionQueue) => void;

/** Takes a queue from its channel before it is destroyed. */
export let unregisterQueue: (channel: CompletionChannel, id: bigint, cq: CompletionQueue) => void;

/**
 * A completion channel (`struct ibv_comp_channel`), through which completion queues tell that they are no longer empty.
 * Made by {@linkcode Context.createCompletionChannel}; several queues may share one. However many wait, one thread does
 * so for them all, and none while nobody waits. Events are acknowledged as they are read.
 */
export class CompletionChannel extends Resource<IbvCompChannel> {
  /** Its name in messages. */
  protected override readonly kind = "completion channel";
  /** The device it belongs to. */
  readonly context: Context;
  readonly #readiness: Readiness;
  /** Queues by the `cq_context` that their events carry. */
  readonly #queues: Map<bigint, CompletionQueue> = new Map();
  /** Queues whose event came while nobody waited for it. */
  readonly #unclaimed: Set<CompletionQueue> = new Set();
  readonly #waiters: Set<Waiter> = new Set();
  #reading: Promise<void> | undefined;
  /** The wait that the reading is in. */
  #turn: Promise<void> | undefined;

  static {
    registerQueue = (channel, id, cq) => {
      channel.#queues.set(id, cq);
    };
    unregisterQueue = (channel, id, cq) => {
      channel.#queues.delete(id);
      channel.#unclaimed.delete(cq);
      channel.#refuse((waiter) => waiter.cq === cq, "completion queue");
    };
    waitForQueue = (channel, cq, signal) => channel.#wait(cq, signal);
    wakeQueue = (channel, cq) => {
      for (const waiter of channel.#waiters) {
        if (waiter.cq === cq) waiter.resolve(cq);
      }
    };
  }

  private constructor(context: Context, handle: IbvCompChannel, readiness: Readiness) {
    super(handle, [context]);
    this.context = context;
    this.#readiness = readiness;
  }

  /** @ignore The way in for {@linkcode Context.createCompletionChannel}. */
  static create(context: Context): CompletionChannel {
    const handle = checkHandle(
      "ibv_create_comp_channel",
      "create completion channel",
      verbs().ibv_create_comp_channel(context.unsafeHandle),
    );
    try {
      const readiness = new Readiness(readNative(handle, structs.ibv_comp_channel.fields.fd));
      return new CompletionChannel(context, handle, readiness);
    } catch (error) {
      verbs().ibv_destroy_comp_channel(handle);
      throw error;
    }
  }

  /** The descriptor that becomes readable with an event. It is non-blocking, and the channel's own to read. */
  get fd(): number {
    return readNative(this.unsafeHandle, structs.ibv_comp_channel.fields.fd);
  }

  /**
   * Waits for the next event of any of its queues and acknowledges it (`ibv_get_cq_event`, `ibv_ack_cq_events`).
   * A queue has events once it was armed by {@linkcode CompletionQueue.reqNotify}, one for each arming.
   *
   * @returns The queue that has completions.
   * @throws The signal's reason when it aborts, and a TypeError if the channel is disposed meanwhile.
   */
  getCqEvent({ signal }: AbortOptions = {}): Promise<CompletionQueue> {
    this.assertOpen();
    return this.#wait(undefined, signal);
  }

  async #wait(
    cq: CompletionQueue | undefined,
    signal: AbortSignal | undefined,
  ): Promise<CompletionQueue> {
    signal?.throwIfAborted();
    const claimed = cq ?? this.#unclaimed.values().next().value;
    if (claimed !== undefined && this.#unclaimed.delete(claimed)) return claimed;
    const { promise, resolve, reject } = Promise.withResolvers<CompletionQueue>();
    const waiter: Waiter = { cq, resolve, reject };
    // no event may go to a waiter that has given up
    const abort = (): void => {
      this.#waiters.delete(waiter);
      reject(signal!.reason);
    };
    this.#waiters.add(waiter);
    signal?.addEventListener("abort", abort, { once: true });
    this.#reading ??= this.#read();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#waiters.delete(waiter);
      await this.#settle();
    }
  }

  /** The last one to leave ends the wait under way, so that what it disposes next is idle, unless another one came. */
  async #settle(): Promise<void> {
    if (this.#waiters.size > 0 || this.#reading === undefined) return;
    this.#readiness.wake();
    await this.#turn;
  }

  async #read(): Promise<void> {
    hold(this);
    try {
      while (this.#waiters.size > 0) {
        this.#turn = this.#readiness.wait();
        await this.#turn;
        this.#drain();
      }
    } finally {
      this.#reading = undefined;
      unhold(this);
    }
  }

  #drain(): void {
    if (this.disposed) return;
    const cq = new BigUint64Array(1);
    const cqContext = new BigUint64Array(1);
    while (verbs().ibv_get_cq_event(this.unsafeHandle, cq, cqContext) === 0) {
      // destroying a queue waits for the acknowledgement of every event that was read, so none may be passed over
      verbs().ibv_ack_cq_events(Deno.UnsafePointer.create(cq[0]!) as IbvCq, 1);
      const queue = this.#queues.get(cqContext[0]!);
      if (queue !== undefined) this.#deliver(queue);
    }
    const code = errnoName(errno());
    if (code !== "EAGAIN" && code !== "EINTR") this.#fail(errno());
  }

  /** The device is gone: no event will come any more, and the descriptor would be readable for ever. */
  #fail(value: number): void {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      waiter.reject(failure("ibv_get_cq_event", "wait for event", value));
    }
  }

  #deliver(queue: CompletionQueue): void {
    let claimed = false;
    for (const waiter of this.#waiters) {
      if (waiter.cq === queue || (waiter.cq === undefined && !claimed)) {
        this.#waiters.delete(waiter);
        waiter.resolve(queue);
        claimed = true;
      }
    }
    if (!claimed) this.#unclaimed.add(queue);
  }

  #refuse(which: (waiter: Waiter) => boolean, what: string): void {
    for (const waiter of this.#waiters) {
      if (which(waiter)) {
        this.#waiters.delete(waiter);
        waiter.reject(new TypeError(`Cannot wait for event: the ${what} was disposed`));
      }
    }
  }

  /** Disposes the object, as {@linkcode Resource.close} does. */
  override [Symbol.dispose](): void {
    if (!this.disposed) {
      this.#refuse(() => true, "completion channel");
      this.#readiness.wake();
    }
    super[Symbol.dispose]();
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvCompChannel): void {
    const result = verbs().ibv_destroy_comp_channel(handle);
    check("ibv_destroy_comp_channel", "destroy completion channel", result);
    this.#readiness.close();
  }
}
