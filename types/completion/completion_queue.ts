import type { IbvCompChannel, IbvCq } from "../../ffi/handles.ts";
import { hasContextOp } from "../../ffi/library/ops.ts";
import { enums, structs } from "../../ffi/layout.ts";
import { library, verbs } from "../../ffi/library.ts";
import { openSteps } from "../../ffi/library/native_steps.ts";
import { readNative } from "../../ffi/struct.ts";
import { type AbortOptions, signalOf } from "../../wait/abort.ts";
import type { Bell } from "../../wait/bell.ts";
import {
  BusyPoll,
  MAX_SPIN_MICROSECONDS,
  mostPolls,
  SPIN_MICROSECONDS,
} from "../../wait/busy_poll.ts";
import { boolean, integer, positiveInt, snapshot } from "../../internal/checks.ts";
import { clock } from "../../wait/clock.ts";
import { findSync } from "../../wait/loop.ts";
import { state } from "../../wait/state.ts";
import { partOf } from "../../internal/left_open.ts";
import { partsIn } from "../../internal/made.ts";
import { checkTimeout, endOf, timeoutOf, type TimeoutOptions } from "../../wait/deadline.ts";
import { inTurn } from "../../wait/turns.ts";
import type { Complete } from "../../internal/optional.ts";
import { ABOVE_LIMIT, aboveLimit, causeOf, type Causes } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call, type CheckOptions, lacking } from "../core/errors.ts";
import { bellOfEvents } from "../core/event_descriptor.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen, type Resource } from "../core/resource.ts";
import { registerElement, unregisterElement } from "../device/async_events.ts";
import { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import { ChannelEvents } from "./channel_events.ts";
import { Completions } from "./completions.ts";
import { CqCore, STANDARD } from "./cq_core.ts";
import { CqSleep } from "./cq_sleep.ts";
import type { WorkCompletion } from "./work_completion.ts";
import { batchCore, type WorkCompletionList } from "./work_completion_list.ts";

let eventsOf: (channel: CompletionChannel) => ChannelEvents<CompletionQueue>;

/**
 * A completion channel (`struct ibv_comp_channel`). The events of completion queues come through it. Several queues may
 * share one. Queues that are made without a channel share one per context.
 *
 * One thread waits for all channels together, and only while something waits. Events are acknowledged when they are
 * read. Disposing a channel disposes its completion queues.
 *
 * @example Wait for several queues
 * ```ts
 * import { CompletionChannel, CompletionQueue, type Context } from "@rdma/ibverbs";
 *
 * async function serve(context: Context, signal: AbortSignal): Promise<void> {
 *   using channel = new CompletionChannel(context);
 *   const queues = [1, 2].map(() => new CompletionQueue(context, { cqe: 64, channel }));
 *   for (const cq of queues) cq.reqNotify();
 *   while (true) {
 *     const cq = await channel.getCqEvent({ signal });
 *     cq.reqNotify();
 *     for (const wc of cq.poll(64)) console.log(wc.check().wrId);
 *   }
 * }
 * ```
 *
 * @category Completions
 */
export class CompletionChannel extends NativeResource<IbvCompChannel> {
  static readonly #KIND: NativeKind<IbvCompChannel, CompletionChannel> = {
    name: "completion channel",
    closing: (channel) => channel.#events.close(),
    destroy: (handle) => call("ibv_destroy_comp_channel", "destroy completion channel", [handle]),
    describe: ({ context, fd }) => ({ device: context.device.name, fd }),
  };

  /** The device that the channel belongs to. */
  readonly context: Context;
  readonly #events: ChannelEvents<CompletionQueue>;

  static {
    eventsOf = (channel) => channel.#events;
  }

  /**
   * Creates a channel (`ibv_create_comp_channel`).
   *
   * @param context The device.
   * @throws {TypeError} If the context is disposed.
   * @throws {VerbsError} If the system refuses. EMFILE means that the process has no file descriptor left.
   */
  constructor(context: Context) {
    const parent = instance(context, Context, "context").unsafeHandle;
    const handle = call("ibv_create_comp_channel", "create completion channel", [parent]);
    let bell: Bell;
    try {
      bell = bellOfEvents(readNative(handle, structs.ibv_comp_channel.fields.fd));
    } catch (error) {
      verbs().ibv_destroy_comp_channel(handle);
      throw error;
    }
    super(CompletionChannel.#KIND, handle, [context]);
    this.context = context;
    this.#events = new ChannelEvents(this, bell);
  }

  /** The descriptor that is readable when there is an event. It is non-blocking. Only the channel may read it. */
  get fd(): number {
    return readNative(this.unsafeHandle, structs.ibv_comp_channel.fields.fd);
  }

  /**
   * Waits for the next event of any queue of the channel, and acknowledges it (`ibv_get_cq_event`,
   * `ibv_ack_cq_events`). A queue makes one event each time `CompletionQueue.reqNotify` has armed it.
   *
   * One event ends one wait, the oldest first. While `CompletionQueue.completions` waits for a queue, the
   * events of that queue go to the iteration only.
   *
   * @returns The queue that has completions.
   * @throws {TypeError} If the channel is disposed, or is disposed meanwhile, or if the signal is not an AbortSignal.
   * @throws The reason of the signal, if it aborts.
   */
  async getCqEvent(options: AbortOptions = {}): Promise<CompletionQueue> {
    const signal = signalOf(options);
    assertOpen(this);
    signal?.throwIfAborted();
    return await inTurn(() => this.#events.next(signal));
  }

  /**
   * Lets waits for events of the channel keep the program alive, as before `CompletionChannel.unref`.
   *
   * @throws {TypeError} If the channel is disposed.
   */
  ref(): void {
    assertOpen(this);
    this.#events.hold(true);
  }

  /**
   * Lets the program end although something waits for events of the channel, as `unref()` of Deno's sockets does. If
   * the program waits for nothing else, events may be read up to 16 ms late.
   *
   * @throws {TypeError} If the channel is disposed.
   */
  unref(): void {
    assertOpen(this);
    this.#events.hold(false);
  }

  /**
   * Blocks the thread until the next event of any queue of the channel, and acknowledges it: as
   * `CompletionChannel.getCqEvent`, for a program that has the thread to itself. `CompletionQueue.waitSync` explains
   * when that is right, and what ends the wait.
   *
   * @returns The queue that has completions; `undefined` if the time has run out.
   * @throws {TypeError} If the channel is disposed, or the time limit is not an integer.
   * @throws {RangeError} If the time limit is out of range.
   * @throws {VerbsError} If the device is gone.
   */
  getCqEventSync(options: TimeoutOptions = {}): CompletionQueue | undefined {
    const until = endOf(timeoutOf(options));
    assertOpen(this);
    return this.#events.nextSync(until);
  }
}

const sharedChannels = new WeakMap<Context, CompletionChannel>();

function sharedChannel(context: Context): CompletionChannel {
  let channel = sharedChannels.get(context);
  if (channel === undefined || channel.disposed) {
    sharedChannels.set(context, channel = partOf(new CompletionChannel(context)));
  }
  return channel;
}

/**
 * Attributes of a completion queue to create: the arguments of `ibv_create_cq`.
 *
 * @category Completions
 */
export interface CqInitAttr {
  /**
   * The number of entries, at least 1. The queue may get more. It needs one for each request that can be outstanding in
   * all queues that use it: with more completions than entries it overruns. The event `CQ_ERR` of `Context.events`
   * reports it. Most devices stop the queue then. Soft-RoCE loses the completions that have no room, and polling does
   * not fail.
   */
  readonly cqe: number;
  /** The channel for events. If it is left out, the queue shares one with others of its context. `null` is none. */
  readonly channel?: CompletionChannel | null | undefined;
  /** The completion vector: which interrupt makes the events, from 0. The default is 0. */
  readonly compVector?: number | undefined;
}

/**
 * Options of `CompletionQueue.waitSync`.
 *
 * @category Completions
 */
export interface WaitSyncOptions extends TimeoutOptions {
  /**
   * How long to poll before the thread sleeps, in microseconds from 0 to 2^31 - 1. The default is 0. A completion that
   * comes meanwhile is found at once, without an event, but the processor is busy until then.
   */
  readonly spinMicroseconds?: number | undefined;
}

/**
 * Attributes of a completion queue to change (`struct ibv_modify_cq_attr`).
 *
 * @category Completions
 */
export interface ModifyCqAttr {
  /** Moderation of events (`struct ibv_moderate_cq`). An event comes when one of the limits is reached. */
  readonly moderate?: {
    /** The number of completions for one event, 16 bits. */
    readonly cqCount: number;
    /** The longest delay of an event, in microseconds, 16 bits. */
    readonly cqPeriod: number;
  } | undefined;
}

type ModerateCq = NonNullable<ModifyCqAttr["moderate"]>;

const moderate: AttributeCodec<ModerateCq> = codecOf("ibv_moderate_cq", "moderate", {
  cqCount: { required: true },
  cqPeriod: { required: true },
});

const modifyCodec: AttributeCodec<ModifyCqAttr> = codecOf(
  "ibv_modify_cq_attr",
  "completion queue attributes",
  { moderate: { struct: moderate, mask: enums.ibv_cq_attr_mask.IBV_CQ_ATTR_MODERATE } },
);

/**
 * Options of `CompletionQueue.completions`.
 *
 * @category Completions
 */
export interface CompletionsOptions {
  /** Ends the iteration: it throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** The number of completions to poll at a time. The default is 32. */
  readonly batch?: number | undefined;
  /**
   * How long the iteration polls before it sleeps, in microseconds from 0 to 1000. The default is 200; 0 means that it
   * sleeps at once. Polling saves the time of waking up, but this thread does nothing else meanwhile. It adapts: as
   * long as polling finds nothing, only one wait in a thousand polls.
   */
  readonly spinMicroseconds?: number | undefined;
}

/** What a queue is made from that exists natively. */
export interface CqParts<C> {
  readonly handle: IbvCq;
  readonly channel: CompletionChannel | null;
  readonly core: CqCore<C>;
  /** Further objects that it was made from. */
  readonly parents?: readonly Resource[] | undefined;
}

export let cqCore: (cq: CompletionQueue) => CqCore;

function sleepOn(cq: IbvCq, channel: CompletionChannel): CqSleep | null {
  return library().thunks ? new CqSleep(cq, channel.unsafeHandle, openSteps()) : null;
}

/** How many completions `CompletionQueue.waitSync` polls ahead. */
const AHEAD = 32;
const WAIT_OPTIONS = ["timeout", "spinMicroseconds"] as const;
const NO_OPTIONS: WaitSyncOptions = {};

/**
 * A completion queue (`struct ibv_cq`). The results of work requests come through it. Several queue pairs can use one
 * queue.
 *
 * - `CompletionQueue.completions` waits for completions: `for await`.
 * - `CompletionQueue.poll` returns those that are there now, as objects.
 * - `CompletionQueue.pollInto` writes those that are there now to a batch, and makes no objects.
 *
 * A completion may be that of a failed request. `WorkCompletion.check`
 * throws then.
 *
 * @example Wait for completions
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
 *
 * @category Completions
 */
export class CompletionQueue<C extends WorkCompletion = WorkCompletion>
  extends NativeResource<IbvCq> {
  static readonly #KIND: NativeKind<IbvCq, CompletionQueue> = {
    name: "completion queue",
    closing: (cq) => {
      if (cq.channel !== null) eventsOf(cq.channel).remove(cq);
      cq.#sleeper?.acknowledge();
    },
    destroy: (handle, cq) => {
      call("ibv_destroy_cq", "destroy completion queue", [handle]);
      unregisterElement(cq);
    },
    describe: ({ cqe, channel }) => ({ cqe, channel: channel === null ? "none" : channel.fd }),
  };

  /** The device that the queue belongs to. */
  readonly context: Context;
  /** The channel of its events; `null` if it has none. */
  readonly channel: CompletionChannel | null;
  readonly #core: CqCore<C>;
  /** It is made on first use; `null` if there cannot be one. */
  #sleeper: CqSleep | null | undefined;

  static {
    cqCore = (cq) => cq.#core;
    state.bellOf = (queue) => {
      const cq = instance(queue, CompletionQueue, "queue");
      return cq.#channelEvents().bellOf(cq);
    };
  }

  /**
   * Creates a completion queue (`ibv_create_cq`).
   *
   * @param context The device.
   * @param init The attributes.
   * @throws {TypeError} If the context or the channel is disposed, or the channel belongs to another context.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device refuses: EINVAL for more entries than it supports.
   */
  constructor(context: Context, init: CqInitAttr) {
    instance(context, Context, "context");
    const parts: CqParts<unknown> = partsIn(init) ?? createCq(context, init);
    const { handle, channel, core, parents = [] } = parts as CqParts<C>;
    super(CompletionQueue.#KIND, handle, [
      context,
      ...(channel === null ? [] : [channel]),
      ...parents,
    ]);
    this.context = context;
    this.channel = channel;
    this.#core = core;
    registerElement(this);
  }

  /** The number of entries. */
  get cqe(): number {
    return readNative(this.unsafeHandle, structs.ibv_cq.fields.cqe);
  }

  /**
   * Takes completions out of the queue as objects (`ibv_poll_cq`). Their status may not be SUCCESS:
   * `WorkCompletion.check` throws then.
   *
   * @param numEntries The largest number of completions to take, at least 1. The default is 16.
   * @returns The oldest completions; none if the queue is empty.
   * @throws {VerbsError} If the provider fails. After an overrun of the queue only some providers do: see
   * `CqInitAttr.cqe`.
   */
  poll(numEntries: number = 16): C[] {
    const handle = this.unsafeHandle;
    return this.#core.pollObjects(handle, positiveInt(numEntries, "numEntries"));
  }

  /**
   * Takes completions out of the queue without making objects (`ibv_poll_cq`). It takes as many as there are and fit
   * into the batch; if some were polled ahead, only those.
   *
   * @returns How many it took; 0 if the queue is empty.
   * @throws {VerbsError} If the provider fails. After an overrun of the queue only some providers do: see
   * `CqInitAttr.cqe`.
   */
  pollInto(batch: WorkCompletionList): number {
    return this.#core.pollInto(this.unsafeHandle, batchCore(batch));
  }

  /**
   * Arms the queue: its next completion makes an event (`ibv_req_notify_cq`). Completions that are already in the queue
   * make none, so poll once more after arming and before waiting.
   *
   * @param solicitedOnly Whether only completions of solicited sends and failed completions make an event.
   * @throws {TypeError} If the queue has no channel: no event can come, and some providers would write outside of its
   * memory.
   * @throws {VerbsError} If the device refuses.
   */
  reqNotify(solicitedOnly: boolean = false): void {
    boolean(solicitedOnly, "solicitedOnly");
    assertOpen(this);
    if (this.channel === null) {
      throw new TypeError("Cannot arm completion queue: it has no channel for its events");
    }
    eventsOf(this.channel).arm(this, solicitedOnly);
  }

  /**
   * Changes the number of entries (`ibv_resize_cq`).
   *
   * @param cqe The number of entries, at least 1. The queue may get more.
   * @throws {VerbsError} EINVAL if the queue holds more completions, or the device does not support so many entries.
   */
  resize(cqe: number): void {
    positiveInt(cqe, "cqe");
    const args = [this.unsafeHandle, cqe] as const;
    call("ibv_resize_cq", "resize completion queue", args, explainCq(this.context, cqe));
  }

  /**
   * Changes attributes of the queue (`ibv_modify_cq`), such as the moderation of its events.
   *
   * @throws {TypeError} If no attribute is given, one is unknown, or one has the wrong type.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} EOPNOTSUPP if the provider does not support it. `DeviceAttrEx.cqModCaps` has the
   * limits.
   */
  modify(attr: ModifyCqAttr): void {
    const { view, mask } = modifyCodec.write(attr);
    if (mask === 0) throw new TypeError("Cannot modify completion queue: no attribute is given");
    call("ibv_modify_cq", "modify completion queue", [this.unsafeHandle, view]);
  }

  /**
   * Blocks the thread until the queue has completions. It arms the queue itself. Then take them with
   * `CompletionQueue.poll` or `CompletionQueue.pollInto`, which first return up to 32 that are already taken from the
   * device.
   *
   * Nothing else runs on the thread during the wait: no timer, no promise, no listener of a signal. So use it only
   * where a program has the thread to itself, such as in a Worker or in a tool, and otherwise
   * `CompletionQueue.completions`. It wakes up without another thread and without the event loop.
   *
   * A completion, the time limit or the loss of the device ends the wait. An `AbortSignal` and `close()` cannot: they
   * would have to run on this thread. To be ended by another Worker, wait with a time limit in a loop, and check a
   * shared flag in between. `terminate()` does not end a Worker that is in this wait or in a loop around it (Deno 2.9).
   * `Deno.exit()` ends all waits.
   *
   * @returns Whether there are completions; `false` if the time has run out.
   * @throws {TypeError} If the queue has no channel, or is disposed, or if an option is not an integer.
   * @throws {RangeError} If an option is out of range.
   * @throws {VerbsError} If the provider fails, or the device is gone.
   *
   * @example Serve in a Worker until the program sets a flag
   * ```ts
   * import { type CompletionQueue, WorkCompletionList } from "@rdma/ibverbs";
   *
   * function serve(cq: CompletionQueue, stop: Int32Array<SharedArrayBuffer>): void {
   *   const batch = new WorkCompletionList(32);
   *   while (Atomics.load(stop, 0) === 0) {
   *     if (!cq.waitSync({ timeout: 100, spinMicroseconds: 20 })) continue;
   *     const count = cq.pollInto(batch);
   *     for (let i = 0; i < count; i++) console.log(batch.wrId(i));
   *   }
   * }
   * ```
   */
  waitSync(options?: WaitSyncOptions): boolean {
    // After a sleep the program is no longer in the processor's caches: code that need not run here is left out.
    const { timeout, spinMicroseconds: spin = 0 } = options === undefined
      ? NO_OPTIONS
      : snapshot(options, "options", WAIT_OPTIONS);
    const until = endOf(checkTimeout(timeout));
    integer(spin, "spinMicroseconds", 0, 0x7fff_ffff);
    const events = this.#channelEvents();
    const handle = this.unsafeHandle;
    const read = (): number => this.#core.ahead(handle, AHEAD);
    const finds = (): boolean =>
      this.#spin(handle, spin / 1000, until) || timeout !== 0 && this.#sleep(handle, events, until);
    const bell = { sleepSync: (until: number) => events.waitSync(this, until) };
    return findSync({ read, arm: () => events.arm(this), bell, busyPoll: { finds } }, until);
  }

  /** Sleeps once, if it can be done in one native call. Returns whether there are completions. */
  #sleep(handle: IbvCq, events: ChannelEvents<CompletionQueue>, until: number): boolean {
    const { memory } = this.#core;
    if (memory === undefined || this.#sleeper === null) return false;
    this.#sleeper ??= sleepOn(handle, this.channel!);
    if (this.#sleeper === null) return false;
    const { polled, event } = this.#sleeper.sleep(memory, until);
    if (event === this.#sleeper.own) events.share(this);
    else if (event !== undefined) events.take(event);
    return this.#core.adopt(polled);
  }

  /** Polls until there is a completion, or the time is over. */
  #spin(handle: IbvCq, milliseconds: number, until: number): boolean {
    if (milliseconds === 0) return false;
    const end = Math.min(clock.precise() + milliseconds, until);
    const most = mostPolls(milliseconds);
    for (let polls = 1; polls < most; polls++) {
      if (this.#core.ahead(handle, AHEAD) > 0) return true;
      // Reading the clock takes longer than an empty poll.
      if (polls % 16 === 1 && clock.precise() >= end) break;
    }
    return false;
  }

  /**
   * Lets waits for completions of this queue keep the program alive, as before `CompletionQueue.unref`.
   *
   * @throws {TypeError} If the queue is disposed, or has no channel.
   */
  ref(): void {
    assertOpen(this);
    this.#channelEvents().hold(true, this);
  }

  /**
   * Lets the program end although something waits for completions of this queue, as `unref()` of Deno's sockets does. If
   * the program waits for nothing else, completions may be read up to 16 ms late. `CompletionChannel.unref` is the same
   * for all queues of a channel.
   *
   * @throws {TypeError} If the queue is disposed, or has no channel.
   */
  unref(): void {
    assertOpen(this);
    this.#channelEvents().hold(false, this);
  }

  #channelEvents(): ChannelEvents<CompletionQueue> {
    if (this.channel !== null) return eventsOf(this.channel);
    throw new TypeError(
      "Cannot wait for completions: the completion queue has no channel; without the option channel it is made with one",
    );
  }

  /**
   * Completions as they come, for `for await`. It waits while there are none, misses none, and keeps the order. Several
   * iterations over one queue share its completions. Leaving the loop loses none: the next poll or iteration continues.
   * Closing the queue ends it.
   *
   * While completions keep coming, it lets timers and other events run about once a millisecond.
   *
   * A Worker that is terminated here leaves a thread behind for up to 10 seconds. Abort the signal before the
   * termination to avoid it.
   *
   * @throws {TypeError} If the queue has no channel, or is disposed, or if an option is not valid.
   * @throws {RangeError} If `batch` or `spinMicroseconds` is out of range.
   * @throws {VerbsError} If the provider fails. After an overrun of the queue only some providers do: see
   * `CqInitAttr.cqe`.
   * @throws The reason of the signal, if it aborts.
   */
  completions(options: CompletionsOptions = {}): Completions<C> {
    const names = ["signal", "batch", "spinMicroseconds"] as const;
    const {
      signal,
      batch = 32,
      spinMicroseconds = SPIN_MICROSECONDS,
    } = snapshot(options, "options", names);
    const events = this.#channelEvents();
    positiveInt(batch, "batch");
    assertOpen(this);
    return new Completions<C>({
      cq: this,
      core: this.#core,
      events,
      batch,
      signal: signal === undefined ? undefined : instance(signal, AbortSignal, "signal"),
      busyPoll: new BusyPoll(
        integer(spinMicroseconds, "spinMicroseconds", 0, MAX_SPIN_MICROSECONDS),
      ),
    });
  }
}

/**
 * Polls all completions that are in the native queue now, and reports them to the trackers. They are the first ones of
 * later polls and iterations. Completions of later sends can then not be confused with them. An error of the queue is
 * left to the next poll.
 */
export function drain(cq: CompletionQueue): void {
  if (cq.disposed) return;
  try {
    cqCore(cq).drain(cq.unsafeHandle, cq.cqe);
  } catch {
    // The next poll fails in the same way.
  }
  if (cq.channel !== null) eventsOf(cq.channel).wake(cq);
}

/** Checks the attributes that all kinds of queues have, and chooses the channel. */
export function checkCq(
  context: Context,
  { cqe, channel, compVector = 0 }: CqInitAttr,
): Complete<CqInitAttr> {
  positiveInt(cqe, "cqe");
  integer(compVector, "compVector", 0, Math.max(0, context.numCompVectors - 1));
  if (channel !== undefined && channel !== null) {
    assertOpen(instance(channel, CompletionChannel, "channel"));
    if (channel.context !== context) {
      throw new TypeError("Cannot create completion queue: channel belongs to another context");
    }
  }
  for (const op of ["poll_cq", "req_notify_cq"] as const) {
    if (hasContextOp(context.unsafeHandle, op)) continue;
    throw lacking(`ibv_${op}`, "create completion queue");
  }
  return { cqe, compVector, channel: channel === undefined ? sharedChannel(context) : channel };
}

export const CQ_CAUSES: Causes<{ readonly context: Context; readonly cqe: number }> = [
  [
    "EINVAL, ENOMEM",
    ABOVE_LIMIT,
    ({ context, cqe }) => aboveLimit([["cqe", cqe, context.queryDevice().maxCqe]]),
  ],
];

export function explainCq(context: Context, cqe: number): CheckOptions {
  return {
    detail: () => `cqe ${cqe}`,
    hint: (code) => causeOf(CQ_CAUSES, code, { context, cqe }),
    countOf: countsOf(context),
  };
}

function createCq(context: Context, init: CqInitAttr): CqParts<WorkCompletion> {
  const given = snapshot(init, "completion queue attributes", ["cqe", "channel", "compVector"]);
  const { cqe, compVector, channel } = checkCq(context, given);
  const events = channel?.unsafeHandle ?? null;
  const args = [context.unsafeHandle, cqe, 0n, events, compVector] as const;
  const handle = call("ibv_create_cq", "create completion queue", args, explainCq(context, cqe));
  return { handle, channel, core: new CqCore(STANDARD) };
}
