import type { IbvCompChannel, IbvCq } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { handleAt } from "../../ffi/pointers.ts";
import { readNative } from "../../ffi/struct.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { BusyPoll, SPIN_MICROSECONDS } from "../../internal/busy_poll.ts";
import { isOpen, type Resource } from "../core/resource.ts";
import { elementAt } from "../device/async_events.ts";
import { EventSource } from "../device/event_source.ts";
import { ChannelWatch } from "./channel_watch.ts";

/** Reads the events of a channel for those who wait. `Q` is the class of its queues. */
export class ChannelEvents<Q extends Resource> {
  readonly #channel: NativeResource<IbvCompChannel>;
  /** Queues whose event was read while nobody waited for it. */
  readonly #unclaimed: Set<Q> = new Set();
  /** Those who wait for an event of one queue, or with `undefined` for an event of any queue. */
  readonly #source: EventSource<Q | undefined, Q>;
  readonly #busyPoll = new BusyPoll(SPIN_MICROSECONDS);
  readonly #cq: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  readonly #cqContext: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);

  /** Reads nothing yet. The descriptor of the channel must be non-blocking. */
  constructor(channel: NativeResource<IbvCompChannel>) {
    this.#channel = channel;
    const fd = readNative(channel.unsafeHandle, structs.ibv_comp_channel.fields.fd);
    // The next event, if there is one, wakes the next wait: to look for it costs as much as the event.
    const readsAhead = false;
    this.#source = new EventSource(channel, fd, "ibv_get_cq_event", () => this.#read(), readsAhead);
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

  watch(onReadable: (error?: unknown) => void): ChannelWatch {
    return new ChannelWatch(this.#channel, this.#source, onReadable);
  }

  hold(isHeld: boolean): void {
    this.#source.hold(isHeld);
  }

  async waitFor(queue: Q, signal: AbortSignal | undefined): Promise<void> {
    await this.#source.wait(queue, signal);
  }

  async next(signal: AbortSignal | undefined): Promise<Q> {
    return this.#claim() ?? await this.#source.wait(undefined, signal, this.#busyPoll);
  }

  /** As {@linkcode ChannelEvents.next}, on this thread. Returns `undefined` if the time is over. */
  nextSync(until: number): Q | undefined {
    for (;;) {
      const claimed = this.#claim();
      if (claimed !== undefined || !this.#source.readSync(until)) return claimed;
    }
  }

  /** Waits on this thread for an event, which may be that of another queue. Returns `false` if the time is over. */
  waitForSync(queue: Q, until: number): boolean {
    const hasRead = this.#source.readSync(until);
    this.#unclaimed.delete(queue);
    return hasRead;
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
    if (!this.#source.isWaitedFor) return;
    this.#deliver(queue);
    this.#unclaimed.delete(queue);
  }

  /** Wakes those who wait for one queue, without an event. */
  wake(queue: Q): void {
    this.#source.resolve(queue, (key) => key === queue);
  }

  #claim(): Q | undefined {
    const [claimed] = this.#unclaimed;
    if (claimed !== undefined) this.#unclaimed.delete(claimed);
    return claimed;
  }

  #reject(what: string, which: (key: Q | undefined) => boolean): void {
    this.#source.reject(new TypeError(`Cannot wait for event: the ${what} was disposed`), which);
  }

  // The event is read before its waiter is woken: otherwise the descriptor stays readable, and wakes whoever polls it.
  #read(): boolean {
    const handle = this.#channel.unsafeHandle;
    if (verbs().ibv_get_cq_event(handle, this.#cq, this.#cqContext) !== 0) return false;
    this.take(this.#cq[0]!);
    return true;
  }

  #deliver(queue: Q): void {
    if (this.#source.resolve(queue, (key) => key === queue) > 0) return;
    if (this.#source.resolveOne(queue, (key) => key === undefined)) return;
    this.#unclaimed.add(queue);
  }
}
