import type { IbvContext } from "../../ffi/handles.ts";
import { type CEnum, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { members } from "../../ffi/members.ts";
import { bufferPointer, handleAddress } from "../../ffi/pointers.ts";
import { allocStruct, readField, readNative } from "../../ffi/struct.ts";
import { type AbortOptions, signalOf } from "../../wait/abort.ts";
import { endOf } from "../../wait/deadline.ts";
import type { Bell, Need } from "../../wait/bell.ts";
import { findSync, Loop } from "../../wait/loop.ts";
import { inTurn } from "../../wait/turns.ts";
import { Waiters } from "../../wait/waiters.ts";
import { bellOfEvents, noEvent } from "../core/event_descriptor.ts";
import { handleOf, type NativeResource } from "../core/native_resource.ts";
import { assertOpen, isOpen, type Resource, rootOf } from "../core/resource.ts";
import { untilClosed } from "../core/until_closed.ts";

const { fields } = structs.ibv_async_event;

/**
 * Kind of an asynchronous event (`enum ibv_event_type`).
 *
 * @category Asynchronous events
 */
export const EventType: {
  /** A completion queue has overrun or failed. */
  readonly CQ_ERR: CEnum.ibv_event_type.IBV_EVENT_CQ_ERR;
  /** A queue pair has failed, and is in state ERR. */
  readonly QP_FATAL: CEnum.ibv_event_type.IBV_EVENT_QP_FATAL;
  /** A request of the peer to a queue pair was invalid. */
  readonly QP_REQ_ERR: CEnum.ibv_event_type.IBV_EVENT_QP_REQ_ERR;
  /** A request of the peer to a queue pair violated access rights. */
  readonly QP_ACCESS_ERR: CEnum.ibv_event_type.IBV_EVENT_QP_ACCESS_ERR;
  /** The first packet arrived before the queue pair left RTR. */
  readonly COMM_EST: CEnum.ibv_event_type.IBV_EVENT_COMM_EST;
  /** The send queue of a queue pair has finished its outstanding messages in state SQD. */
  readonly SQ_DRAINED: CEnum.ibv_event_type.IBV_EVENT_SQ_DRAINED;
  /** A queue pair changed to its alternative path. */
  readonly PATH_MIG: CEnum.ibv_event_type.IBV_EVENT_PATH_MIG;
  /** A queue pair failed to change to its alternative path. */
  readonly PATH_MIG_ERR: CEnum.ibv_event_type.IBV_EVENT_PATH_MIG_ERR;
  /** The device failed. */
  readonly DEVICE_FATAL: CEnum.ibv_event_type.IBV_EVENT_DEVICE_FATAL;
  /** The link of a port became active. */
  readonly PORT_ACTIVE: CEnum.ibv_event_type.IBV_EVENT_PORT_ACTIVE;
  /** The link of a port was lost. */
  readonly PORT_ERR: CEnum.ibv_event_type.IBV_EVENT_PORT_ERR;
  /** The LID of a port changed. */
  readonly LID_CHANGE: CEnum.ibv_event_type.IBV_EVENT_LID_CHANGE;
  /** The P_Key table of a port changed. */
  readonly PKEY_CHANGE: CEnum.ibv_event_type.IBV_EVENT_PKEY_CHANGE;
  /** The network of a port has another subnet manager. */
  readonly SM_CHANGE: CEnum.ibv_event_type.IBV_EVENT_SM_CHANGE;
  /** An error of a shared receive queue. */
  readonly SRQ_ERR: CEnum.ibv_event_type.IBV_EVENT_SRQ_ERR;
  /** The number of receives in a shared receive queue is below its limit. */
  readonly SRQ_LIMIT_REACHED: CEnum.ibv_event_type.IBV_EVENT_SRQ_LIMIT_REACHED;
  /** A queue pair in state ERR has taken its last receive from the shared receive queue. */
  readonly QP_LAST_WQE_REACHED: CEnum.ibv_event_type.IBV_EVENT_QP_LAST_WQE_REACHED;
  /** The subnet manager of a port asks for registrations again. */
  readonly CLIENT_REREGISTER: CEnum.ibv_event_type.IBV_EVENT_CLIENT_REREGISTER;
  /** The GID table of a port changed. */
  readonly GID_CHANGE: CEnum.ibv_event_type.IBV_EVENT_GID_CHANGE;
  /** An error of a work queue. */
  readonly WQ_FATAL: CEnum.ibv_event_type.IBV_EVENT_WQ_FATAL;
  /** The speed of one or several ports changed. */
  readonly DEVICE_SPEED_CHANGE: CEnum.ibv_event_type.IBV_EVENT_DEVICE_SPEED_CHANGE;
} = members("ibv_event_type", "IBV_EVENT_");
/**
 * A value of `EventType`.
 *
 * @category Asynchronous events
 */
export type EventType = typeof EventType[keyof typeof EventType];

/**
 * An asynchronous event (`struct ibv_async_event`).
 *
 * @category Asynchronous events
 */
export interface AsyncEvent {
  /** Kind of event. */
  readonly eventType: EventType;
  /**
   * The object that the event is about: a completion queue, queue pair, shared receive queue or work queue. It is
   * `undefined` for events of ports and of the device, and if the object was closed in the meantime.
   */
  readonly element: Resource | undefined;
  /** The port that the event is about, from 1. It is `undefined` for other events. */
  readonly portNum: number | undefined;
}

/** A function that is called with each event. */
export type EventListener = (event: AsyncEvent) => void;

/** Events whose struct holds a port number. Those of objects hold the address of the object. */
const OF_PORTS: ReadonlySet<EventType> = new Set([
  EventType.PORT_ACTIVE,
  EventType.PORT_ERR,
  EventType.LID_CHANGE,
  EventType.PKEY_CHANGE,
  EventType.SM_CHANGE,
  EventType.CLIENT_REREGISTER,
  EventType.GID_CHANGE,
]);

/** The objects that events may be about, by context and native address. It does not keep contexts alive. */
const elements = new WeakMap<Resource, Map<bigint, Resource>>();

function elementsOf(context: Resource): Map<bigint, Resource> {
  let known = elements.get(context);
  if (known === undefined) elements.set(context, known = new Map());
  return known;
}

/** Lets events name an object. Call it when the native object is made. */
export function registerElement(resource: NativeResource): void {
  elementsOf(rootOf(resource)).set(handleAddress(handleOf(resource)), resource);
}

/** Ends `registerElement`. Call it when the native object is destroyed. */
export function unregisterElement(resource: NativeResource): void {
  elementsOf(rootOf(resource)).delete(handleAddress(handleOf(resource)));
}

/** The object at a native address, of the context of a resource. */
export function elementAt(resource: Resource, address: bigint): Resource | undefined {
  return elementsOf(rootOf(resource)).get(address);
}

const readers = new WeakMap<NativeResource<IbvContext>, AsyncEvents>();

/** The reader of the events of a context. There is one per context, because an event can be read only once. */
export function asyncEvents(context: NativeResource<IbvContext>): AsyncEvents {
  let reader = readers.get(context);
  if (reader === undefined) readers.set(context, reader = new AsyncEvents(context));
  return reader;
}

/** Ends the waits for events of a context that is being closed. */
export function closeAsyncEvents(context: NativeResource<IbvContext>): void {
  readers.get(context)?.close();
}

/**
 * Reads the events of a context for all who listen. It reads when somebody waits for events, or calls
 * `AsyncEvents.drain`.
 */
export class AsyncEvents {
  readonly #context: NativeResource<IbvContext>;
  readonly #event: DataView<ArrayBuffer> = allocStruct(structs.ibv_async_event);
  readonly #pointer: Deno.PointerObject = bufferPointer(this.#event);
  /** They are called with each event. */
  readonly listeners: Set<EventListener> = new Set();
  readonly #waiters: Waiters<object, void> = new Waiters();
  readonly #loop: Loop;
  readonly #bell: Bell;
  #need: Need = "held";
  readonly #get: ReturnType<typeof verbs>["ibv_get_async_event"] = verbs().ibv_get_async_event;

  /** Makes the only reader of a context: see `asyncEvents`. */
  constructor(context: NativeResource<IbvContext>) {
    this.#context = context;
    const fd = readNative(context.unsafeHandle, structs.ibv_context.fields.async_fd);
    this.#bell = bellOfEvents(fd);
    this.#loop = new Loop({
      read: () => this.#read(),
      bell: this.#bell,
      isOpen: () => isOpen(context),
      want: () => this.#waiters.size > 0 ? this.#need : "nothing",
      onError: (error) => this.#waiters.rejectAll(error),
    });
  }

  hold(isHeld: boolean): void {
    // They are rare, and a program that waits for nothing else needs none of them at once.
    this.#need = isHeld ? "held" : "idle";
    this.#loop.update();
  }

  /** Waits until `AsyncEvents.wake` is called. Meanwhile events are read as they come. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    assertOpen(this.#context);
    await this.#loop.until(this.#waiters.wait({}, signal));
  }

  /** Waits on this thread for events, and reads them. Returns `false` if the time has run out. */
  readSync(until: number): boolean {
    return findSync({ read: () => this.#read(), bell: this.#bell }, until);
  }

  /** The events that are read from now on, until it is disposed. */
  subscribe(): AsyncEvent[] & Disposable {
    const events: AsyncEvent[] = [];
    const listener = (event: AsyncEvent): void => {
      events.push(event);
      this.wake();
    };
    this.listeners.add(listener);
    return Object.assign(events, { [Symbol.dispose]: () => void this.listeners.delete(listener) });
  }

  /** Ends all waits. Listeners that have something for the waiters call it. */
  wake(): void {
    this.#waiters.resolveAll(undefined, () => true);
  }

  /** Ends all waits with an error, because the context is being closed. */
  close(): void {
    this.#waiters.rejectAll(new TypeError("Cannot wait for event: the context was disposed"));
    this.#loop.update();
  }

  /**
   * Reads all events there are, acknowledges them, and calls the listeners. If there are none, it takes one system
   * call. The context must be open.
   *
   * @throws What a listener throws, after all listeners were called.
   */
  drain(): void {
    const errors: unknown[] = [];
    while (this.#readOne(errors));
    throwAll(errors);
  }

  #read(): number {
    const errors: unknown[] = [];
    const hasRead = this.#readOne(errors);
    throwAll(errors);
    return hasRead ? 1 : noEvent("ibv_get_async_event");
  }

  #readOne(errors: unknown[]): boolean {
    if (this.#get(this.#context.unsafeHandle, this.#pointer) !== 0) return false;
    const event = this.#parse();
    // Destroying the object of an event waits for its acknowledgement, so each one is acknowledged at once.
    verbs().ibv_ack_async_event(this.#pointer);
    this.#deliver(event, errors);
    return true;
  }

  #parse(): AsyncEvent {
    const type = readField(this.#event, fields.event_type) as EventType;
    if (OF_PORTS.has(type)) {
      const portNum = readField(this.#event, fields["element.port_num"]);
      return { eventType: type, element: undefined, portNum };
    }
    // All objects lie at the same place of a union.
    const element = elementAt(this.#context, readField(this.#event, fields["element.cq"]));
    return { eventType: type, element, portNum: undefined };
  }

  #deliver(event: AsyncEvent, errors: unknown[]): void {
    for (const listener of this.listeners) {
      try {
        listener(event);
      } catch (error) {
        errors.push(error);
      }
    }
  }
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length > 1) throw new AggregateError(errors, "Cannot deliver events");
  if (errors.length === 1) throw errors[0];
}

/**
 * The events of a context as they come, until it is closed. Several iterations get the same events; each event is read and
 * acknowledged once.
 */
export async function* iterateEvents(
  context: NativeResource<IbvContext>,
  options: AbortOptions,
): AsyncGenerator<AsyncEvent, void, void> {
  const signal = signalOf(options);
  const reader = asyncEvents(context);
  using events = reader.subscribe();
  yield* untilClosed(context, signal, async () => {
    while (events.length === 0) await inTurn(() => reader.wait(signal));
    return await inTurn(() => events.shift()!);
  });
}

/** As `iterateEvents`, on this thread. It also ends if no event comes within the time limit. */
export function* iterateEventsSync(
  context: NativeResource<IbvContext>,
  timeout: number,
): Generator<AsyncEvent, void, void> {
  const reader = asyncEvents(context);
  using events = reader.subscribe();
  while (isOpen(context)) {
    const event = events.shift();
    if (event !== undefined) yield event;
    else if (!reader.readSync(endOf(timeout))) return;
  }
}
