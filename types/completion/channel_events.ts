import type { IbvCompChannel, IbvCq } from "../../ffi/handles.ts";
import { verbs } from "../../ffi/library.ts";
import { handleAt } from "../../ffi/pointers.ts";
import type { ArmedBell, Bell, Need } from "../../wait/bell.ts";
import { BusyPoll, SPIN_MICROSECONDS } from "../../wait/busy_poll.ts";
import { findSync, Loop } from "../../wait/loop.ts";
import { Waiters } from "../../wait/waiters.ts";
import { call } from "../core/errors.ts";
import { noEvent } from "../core/event_descriptor.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { assertOpen, isOpen } from "../core/resource.ts";
import { elementAt } from "../device/async_events.ts";

/** A wait for an event of a queue, or of any queue. */
interface Waiter<Q> {
  readonly queue: Q | undefined;
}

/** Arms queues, and reads the events of their channel for waiters. `Q` is the class of the queues. */
export class ChannelEvents<Q extends NativeResource<IbvCq>> {
  readonly #channel: NativeResource<IbvCompChannel>;
  readonly #bell: Bell;
  /** Queues whose event was read while nothing waited for it. */
  readonly #unclaimed: Set<Q> = new Set();
  readonly #waiters: Waiters<Waiter<Q>, Q> = new Waiters();
  readonly #loop: Loop;
  readonly #busyPoll = new BusyPoll(SPIN_MICROSECONDS);
  /** Whether waits keep the program alive, and the queues whose waits do not. */
  #isHeld = true;
  readonly #unheld: Set<Q> = new Set();
  readonly #cq: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  readonly #cqContext: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);

  /** Reads nothing yet. The bell rings while the channel has events. */
  constructor(channel: NativeResource<IbvCompChannel>, bell: Bell) {
    this.#channel = channel;
    this.#bell = bell;
    this.#loop = new Loop({
      read: () => this.#read(),
      bell,
      // Waiters for a queue have polled it already.
      busyPoll: { finds: (read) => this.#waiters.has(isForAny) && this.#busyPoll.finds(read) },
      isOpen: () => isOpen(channel),
      want: () => this.#waiters.size > 0 ? this.#need : "nothing",
      onError: (error) => this.#waiters.rejectAll(error),
    });
  }

  /** Removes a queue that is being closed. Waiters for it get an error. */
  remove(queue: Q): void {
    this.#unclaimed.delete(queue);
    this.#unheld.delete(queue);
    this.#end("completion queue", (waiter) => waiter.queue === queue);
  }

  /** Waiters get an error, because the channel is being closed. */
  close(): void {
    this.#end("completion channel", () => true);
  }

  /** Sets whether waits keep the program alive: all of them, or those for one queue. */
  hold(isHeld: boolean, queue?: Q): void {
    if (queue === undefined) this.#isHeld = isHeld;
    else if (isHeld) this.#unheld.delete(queue);
    else this.#unheld.add(queue);
    this.#loop.update();
  }

  get #need(): Need {
    const isHeld = ({ queue }: Waiter<Q>): boolean =>
      queue === undefined || !this.#unheld.has(queue);
    const isNeeded = this.#isHeld && (this.#unheld.size === 0 || this.#waiters.has(isHeld));
    return isNeeded ? "held" : "prompt";
  }

  /** Has the next completion of a queue make an event. */
  arm(queue: Q, solicitedOnly = false): void {
    const args = [queue.unsafeHandle, Number(solicitedOnly)] as const;
    call("ibv_req_notify_cq", "arm completion queue", args);
  }

  /** Waits for an event of a queue, or of any queue. */
  wait(queue: Q | undefined, signal: AbortSignal | undefined): Promise<Q> {
    assertOpen(this.#channel);
    return this.#loop.until(this.#waiters.wait({ queue }, signal));
  }

  async next(signal: AbortSignal | undefined): Promise<Q> {
    return this.#claim() ?? await this.wait(undefined, signal);
  }

  /** As `ChannelEvents.next`, on this thread. Returns `undefined` if the time has run out. */
  nextSync(until: number): Q | undefined {
    // The event of a queue that is closed is for nobody.
    const read = (): number => this.#unclaimed.size || this.#read() && this.#unclaimed.size;
    findSync({ read, bell: this.#bell }, until);
    return this.#claim();
  }

  /** Waits on this thread for an event, which may be that of another queue. Returns `false` if the time has run out. */
  waitSync(queue: Q, until: number): boolean {
    const hasEvent = findSync({ read: () => this.#read(), bell: this.#bell }, until);
    this.#unclaimed.delete(queue);
    return hasEvent;
  }

  /**
   * How a reader of the completions of a queue waits for them, if nothing else waits for events of the channel. The
   * event itself is read when the queue is armed again: what it reports comes first.
   */
  bellOf(queue: Q): ArmedBell {
    let isArmed = false;
    const arm = (): void => {
      if (isArmed) this.#read();
      this.arm(queue);
      isArmed = true;
    };
    return { arm, bell: this.#bell };
  }

  /** Acknowledges an event that was read, and hands it to its waiter. */
  take(address: bigint): void {
    // Destroying a queue waits until each event that was read is acknowledged.
    verbs().ibv_ack_cq_events(handleAt<IbvCq>(address)!, 1);
    const queue = elementAt(this.#channel, address) as Q | undefined;
    if (queue !== undefined && isOpen(queue)) this.#deliver(queue);
  }

  /** Shares an event that a blocking wait for the queue has read with the other waiters for it. */
  share(queue: Q): void {
    if (this.#waiters.size === 0) return;
    this.#deliver(queue);
    this.#unclaimed.delete(queue);
  }

  /** Wakes the waiters for one queue, without an event. Returns how many there were. */
  wake(queue: Q): number {
    return this.#waiters.resolveAll(queue, (waiter) => waiter.queue === queue);
  }

  #claim(): Q | undefined {
    const [claimed] = this.#unclaimed;
    if (claimed !== undefined) this.#unclaimed.delete(claimed);
    return claimed;
  }

  #end(what: string, which: (waiter: Waiter<Q>) => boolean): void {
    const reason = new TypeError(`Cannot wait for event: the ${what} was disposed`);
    this.#waiters.rejectAll(reason, which);
    this.#loop.update();
  }

  // The event is read before its waiter is woken: otherwise the descriptor stays readable, and wakes whoever polls it.
  #read(): number {
    const handle = this.#channel.unsafeHandle;
    const result = verbs().ibv_get_cq_event(handle, this.#cq, this.#cqContext);
    if (result !== 0) return noEvent("ibv_get_cq_event");
    this.take(this.#cq[0]!);
    return 1;
  }

  #deliver(queue: Q): void {
    if (this.wake(queue) > 0 || this.#waiters.resolveOne(queue, isForAny)) return;
    this.#unclaimed.add(queue);
  }
}

function isForAny({ queue }: Waiter<unknown>): boolean {
  return queue === undefined;
}
