import type { RdmaCmId, RdmaEventChannel } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { handleAt, nativeView } from "../../ffi/pointers.ts";
import { rdmacm } from "../../ffi/rdmacm.ts";
import { readField, readNative } from "../../ffi/struct.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { BusyPoll, SPIN_MICROSECONDS } from "../../wait/busy_poll.ts";
import type { Need } from "../../wait/bell.ts";
import { Loop } from "../../wait/loop.ts";
import { Waiters } from "../../wait/waiters.ts";
import { bellOfEvents, noEvent } from "../core/event_descriptor.ts";
import { assertOpen, isOpen, type Resource } from "../core/resource.ts";
import { privateDataOf } from "./conn_param.ts";
import { CmEventType } from "./enums.ts";

const { fields, size } = structs.rdma_cm_event;
const TYPE = CmEventType;

/** Events about a peer. */
export const OF_PEERS: readonly CmEventType[] = [
  ...[TYPE.CONNECT_REQUEST, TYPE.CONNECT_RESPONSE, TYPE.CONNECT_ERROR, TYPE.UNREACHABLE],
  ...[TYPE.REJECTED, TYPE.ESTABLISHED, TYPE.DISCONNECTED],
];

/** A copy of an event, which is acknowledged already. */
export interface NativeEvent {
  readonly event: CmEventType;
  readonly status: number;
  /** The address of the id that the event is about. */
  readonly id: bigint;
  /** The struct. Its pointers are no longer valid. */
  readonly view: DataView<ArrayBuffer>;
  /** The data of the peer's program; empty where the event has none. */
  readonly privateData: Uint8Array<ArrayBuffer>;
}

/** What waiters need to know of an event. */
export interface Delivered {
  /** The id that the event is about. */
  readonly id: Resource;
  /** The id that listens, if the event is a request. */
  readonly listenId: Resource | undefined;
  readonly event: CmEventType;
}

/** Handles an event of an id, and turns it into the event that waiters get. Waiters also get its errors. */
export type EventHandler<E> = (event: NativeEvent) => E;

/** A step of an id that waits for an event. It goes before those who take any event. */
interface Step<E> {
  /** The number of the group that it joins. */
  readonly group: bigint | undefined;
  readonly wants: (event: E) => boolean;
}

/** The steps of an id: how many are in progress, and those of them that wait. */
interface Steps<E> {
  count: number;
  readonly waiters: Waiters<Step<E>, E>;
}

/**
 * Reads the events of a channel for waiters. Each is copied and acknowledged before a waiter gets it: destroying an id
 * blocks until all its events are acknowledged.
 */
export class CmEvents<E extends Delivered> {
  readonly #channel: NativeResource<RdmaEventChannel>;
  /** Of each id its steps: a channel may have thousands of ids. */
  readonly #steps: Map<Resource, Steps<E>> = new Map();
  /** Those who take any event. */
  readonly #others: Waiters<object, E> = new Waiters();
  readonly #loop: Loop;
  #need: Need = "held";
  readonly #event: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  /** The ids of the channel, by their addresses. */
  readonly handlers: Map<bigint, EventHandler<E>> = new Map();
  /** The most requests that wait, for each id that listens. */
  readonly backlogs: WeakMap<Resource, number> = new WeakMap();
  /** Events that nobody has waited for, oldest first. */
  #unclaimed: E[] = [];

  /** Makes the descriptor of a channel non-blocking. */
  constructor(channel: NativeResource<RdmaEventChannel>) {
    this.#channel = channel;
    const fd = readNative(channel.unsafeHandle, structs.rdma_event_channel.fields.fd);
    this.#loop = new Loop({
      read: () => this.#read(),
      bell: bellOfEvents(fd),
      busyPoll: new BusyPoll(SPIN_MICROSECONDS),
      isOpen: () => isOpen(channel),
      want: () => this.#isAwaited ? this.#need : "nothing",
      onError: (error) => this.#rejectAll(error),
    });
  }

  /** Sets whether waits keep the program alive. */
  hold(isHeld: boolean): void {
    this.#need = isHeld ? "held" : "prompt";
    this.#loop.update();
  }

  /** Waits for an event that nobody else has taken. */
  async next(signal: AbortSignal | undefined): Promise<E> {
    return this.#unclaimed.shift() ?? await this.#wait(this.#others, {}, signal);
  }

  /** Waits for an event of one id, or of one of its groups. `CmEvents.endSteps` ends the wait early. */
  async step(
    id: Resource,
    wants: (event: E) => boolean,
    signal: AbortSignal | undefined,
    group?: bigint,
  ): Promise<E> {
    const steps = this.#steps.get(id) ?? { count: 0, waiters: new Waiters() };
    this.#steps.set(id, steps);
    steps.count++;
    try {
      return await this.#wait(steps.waiters, { group, wants }, signal);
    } finally {
      if (--steps.count === 0 && this.#steps.get(id) === steps) this.#steps.delete(id);
    }
  }

  #wait<W extends object>(
    waiters: Waiters<W, E>,
    waiter: W,
    signal: AbortSignal | undefined,
  ): Promise<E> {
    assertOpen(this.#channel);
    // The event of a step whose answer the system knows comes at once.
    this.#loop.expect();
    return this.#loop.until(waiters.wait(waiter, signal));
  }

  get #isAwaited(): boolean {
    return this.#others.size > 0 || this.#steps.values().some(({ waiters }) => waiters.size > 0);
  }

  /** Whether somebody waits for an event of an id. */
  isBusy(id: Resource): boolean {
    return this.#steps.has(id);
  }

  /** Whether as many requests wait for a listening id as its backlog allows. */
  #isFull(listener: Resource): boolean {
    const waiting = this.#unclaimed.filter(({ listenId }) => listenId === listener).length;
    return waiting >= (this.backlogs.get(listener) ?? Infinity);
  }

  /** Removes and returns the events about an id, with `requests` also the requests to it. */
  takeOf(id: Resource, requests: boolean): E[] {
    const isOf = (event: E): boolean => event.id === id || requests && event.listenId === id;
    const taken = this.#unclaimed.filter(isOf);
    this.#unclaimed = this.#unclaimed.filter((event) => !isOf(event));
    return taken;
  }

  /** An id has moved to this channel. The kernel moves its events with it, but that wakes nobody. */
  wake(): void {
    this.#loop.wake();
  }

  /** Hands an event to the steps that wait for it, otherwise to one of the other waiters, or keeps it. */
  deliver(event: E): void {
    const { id, listenId } = event;
    if ((this.#steps.get(id)?.waiters.resolveAll(event, ({ wants }) => wants(event)) ?? 0) > 0) {
      return;
    }
    if (this.#others.resolveOne(event, () => true)) return;
    if (listenId !== undefined && this.#isFull(listenId)) id.close();
    else this.#unclaimed.push(event);
  }

  /** Ends the steps of an id, or those of one of its groups: their events do not come any more. */
  endSteps(id: Resource, why: string, group?: bigint): void {
    const isOf = (step: Step<E>): boolean => group === undefined || step.group === group;
    const steps = this.#steps.get(id);
    steps?.waiters.rejectAll(ended(why), isOf);
    // Now: thousands of ids can end before the steps go on.
    if (steps?.waiters.size === 0) this.#steps.delete(id);
    this.#loop.update();
  }

  /** Ends all waits, because the channel is being closed. */
  close(): void {
    this.#rejectAll(ended("the event channel was disposed"));
    this.#loop.update();
  }

  #rejectAll(reason: unknown): void {
    for (const { waiters } of this.#steps.values()) waiters.rejectAll(reason);
    this.#others.rejectAll(reason);
  }

  #read(): number {
    const handle = this.#channel.unsafeHandle;
    const result = rdmacm().rdma_get_cm_event(handle, this.#event);
    if (result !== 0) return noEvent("rdma_get_cm_event");
    const pointer = handleAt(this.#event[0]!)!;
    const view = nativeView(pointer, size);
    const id = readField(view, fields.id);
    const listener = readField(view, fields.listen_id);
    const type = readField(view, fields.event) as CmEventType;
    const copy = new DataView(view.buffer.slice(0));
    const privateData = OF_PEERS.includes(type)
      ? privateDataOf(view, fields.param.offset)
      : new Uint8Array(0);
    const event: NativeEvent = {
      id,
      event: type,
      status: readField(view, fields.status),
      view: copy,
      privateData,
    };
    rdmacm().rdma_ack_cm_event(pointer);
    this.#receive(event, listener);
    return 1;
  }

  #receive(event: NativeEvent, listener: bigint): void {
    const handler = this.handlers.get(listener === 0n ? event.id : listener);
    if (handler === undefined) {
      if (listener !== 0n) rdmacm().rdma_destroy_id(handleAt<RdmaCmId>(event.id)!);
      return;
    }
    const received = handler(event);
    // Code that the handler has called may have closed the id.
    if (isOpen(received.id)) this.deliver(received);
  }
}

function ended(why: string): Error {
  return new TypeError(`Cannot wait for event: ${why}`);
}
