import type { IbvCompChannel, IbvCq } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { handleAt } from "../../ffi/pointers.ts";
import { readNative } from "../../ffi/struct.ts";
import { BusyPoll, SPIN_MICROSECONDS } from "../../wait/busy_poll.ts";
import { Events } from "../../wait/events.ts";
import type { ArmedBell } from "../../wait/bell.ts";
import { findSync } from "../../wait/loop.ts";
import { EventDescriptor, noEvent } from "../core/event_descriptor.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { disposedError, isOpen, type Resource } from "../core/resource.ts";
import { elementAt } from "../device/async_events.ts";

/** Reads the events of a channel for those who wait. `Q` is the class of its queues. */
export class ChannelEvents<Q extends Resource> {
  readonly #channel: NativeResource<IbvCompChannel>;
  readonly #descriptor: EventDescriptor;
  /** Queues whose event was read while nobody waited for it. */
  readonly #unclaimed: Set<Q> = new Set();
  /** Those who wait for an event of one queue, or with `undefined` for an event of any queue. */
  readonly #events: Events<Q | undefined, Q>;
  readonly #busyPoll = new BusyPoll(SPIN_MICROSECONDS);
  readonly #cq: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  readonly #cqContext: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);

  /** Reads nothing yet. The descriptor of the channel must be non-blocking. */
  constructor(channel: NativeResource<IbvCompChannel>) {
    this.#channel = channel;
    const fd = readNative(channel.unsafeHandle, structs.ibv_comp_channel.fields.fd);
    this.#descriptor = new EventDescriptor(fd);
    this.#events = new Events({
      isOpen: () => isOpen(channel),
      refusal: () => disposedError(channel),
      bell: this.#descriptor,
      read: () => this.#read(),
      // The next event, if there is one, rings for the next wait: to look for it costs as much as the event.
      readsAhead: false,
      busyPoll: { finds: (read) => this.#isAwaitedByAny && this.#busyPoll.finds(read) },
    });
  }

  /** Forgets a queue that is being closed. Those who wait for it get an error. */
  remove(queue: Q): void {
    this.#unclaimed.delete(queue);
    this.#reject("completion queue", (key) => key === queue);
  }

  /** Those who wait get an error, because the channel is being closed. */
  close(): void {
    this.#reject("completion channel", () => true);
  }

  hold(isHeld: boolean): void {
    this.#events.hold(isHeld);
  }

  async waitFor(queue: Q, signal: AbortSignal | undefined): Promise<void> {
    await this.#events.wait(queue, signal);
  }

  async next(signal: AbortSignal | undefined): Promise<Q> {
    return this.#claim() ?? await this.#events.wait(undefined, signal);
  }

  /** As `ChannelEvents.next`, on this thread. Returns `undefined` if the time is over. */
  nextSync(until: number): Q | undefined {
    const isThere = (): boolean =>
      this.#unclaimed.size > 0 || this.#read() && this.#unclaimed.size > 0;
    findSync({ read: () => Number(isThere()), bell: this.#descriptor }, until);
    return this.#claim();
  }

  /** Waits on this thread for an event, which may be that of another queue. Returns `false` if the time is over. */
  waitForSync(queue: Q, until: number): boolean {
    const hasEvent = this.#events.readSync(until);
    this.#unclaimed.delete(queue);
    return hasEvent;
  }

  /**
   * How one who reads the completions of a queue waits for them, if nobody else waits for events of the channel. The event
   * itself is read when the queue is armed again: what it reports comes first.
   */
  bellOf(queue: Q & { readonly reqNotify: () => void }): ArmedBell {
    let isArmed = false;
    const arm = (): void => {
      if (isArmed) this.#read();
      queue.reqNotify();
      isArmed = true;
    };
    return { arm, bell: this.#descriptor };
  }

  /** Acknowledges an event that was read, and gives it to who waits for it. */
  take(address: bigint): void {
    // Destroying a queue waits until each event that was read is acknowledged.
    verbs().ibv_ack_cq_events(handleAt<IbvCq>(address)!, 1);
    const queue = elementAt(this.#channel, address) as Q | undefined;
    if (queue !== undefined && isOpen(queue)) this.#deliver(queue);
  }

  /** Gives an event that a blocking wait for the queue has read to those who wait for it too. */
  share(queue: Q): void {
    if (!this.#events.isAwaited) return;
    this.#deliver(queue);
    this.#unclaimed.delete(queue);
  }

  /** Wakes those who wait for one queue, without an event. */
  wake(queue: Q): void {
    this.#events.resolve(queue, (key) => key === queue);
  }

  /** Those who wait for a queue have polled it already. */
  get #isAwaitedByAny(): boolean {
    return this.#events.isAwaitedBy((key) => key === undefined);
  }

  #claim(): Q | undefined {
    const [claimed] = this.#unclaimed;
    if (claimed !== undefined) this.#unclaimed.delete(claimed);
    return claimed;
  }

  #reject(what: string, which: (key: Q | undefined) => boolean): void {
    this.#events.reject(new TypeError(`Cannot wait for event: the ${what} was disposed`), which);
  }

  // The event is read before its waiter is woken: otherwise the descriptor stays readable, and wakes whoever polls it.
  #read(): boolean {
    const handle = this.#channel.unsafeHandle;
    const result = verbs().ibv_get_cq_event(handle, this.#cq, this.#cqContext);
    if (result !== 0) return noEvent("ibv_get_cq_event");
    this.take(this.#cq[0]!);
    return true;
  }

  #deliver(queue: Q): void {
    if (this.#events.resolve(queue, (key) => key === queue) > 0) return;
    if (this.#events.resolveOne(queue, (key) => key === undefined)) return;
    this.#unclaimed.add(queue);
  }
}
