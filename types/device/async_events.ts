import type { IbvContext } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { type Members, members } from "../../ffi/members.ts";
import { bufferPointer, handleAddress } from "../../ffi/pointers.ts";
import { allocStruct, readField, readNative } from "../../ffi/struct.ts";
import { type AbortOptions, signalOf } from "../../internal/abort.ts";
import { endOf } from "../../internal/timeout.ts";
import { handleOf, type NativeResource } from "../core/native_resource.ts";
import { assertOpen, type Resource, rootOf } from "../core/resource.ts";
import { EventSource, makeNonblocking } from "./event_source.ts";

const { fields } = structs.ibv_async_event;

/**
 * Kind of an asynchronous event (`enum ibv_event_type`).
 *
 * Of a completion queue:
 * - `CQ_ERR`: the queue has overrun or failed
 *
 * Of a queue pair:
 * - `QP_FATAL`: an error; the queue pair is in state ERR
 * - `QP_REQ_ERR`, `QP_ACCESS_ERR`: the peer's request was invalid, or violated access rights
 * - `COMM_EST`: the first packet arrived before the queue pair left RTR
 * - `SQ_DRAINED`: the send queue has finished its outstanding messages in state SQD
 * - `PATH_MIG`, `PATH_MIG_ERR`: the queue pair changed to its alternative path, or failed to
 * - `QP_LAST_WQE_REACHED`: a queue pair in state ERR has taken its last receive from the shared receive queue
 *
 * Of a shared receive queue:
 * - `SRQ_ERR`: an error
 * - `SRQ_LIMIT_REACHED`: the number of posted receives is below the limit
 *
 * Of a work queue:
 * - `WQ_FATAL`: an error
 *
 * Of a port:
 * - `PORT_ACTIVE`, `PORT_ERR`: the link became active, or was lost
 * - `LID_CHANGE`, `PKEY_CHANGE`, `GID_CHANGE`: the LID, the P_Key table or the GID table changed
 * - `SM_CHANGE`, `CLIENT_REREGISTER`: there is another subnet manager, or it asks for registrations again
 *
 * Of the device:
 * - `DEVICE_FATAL`: the device failed
 * - `DEVICE_SPEED_CHANGE`: the speed of one or several ports changed
 *
 * @category Asynchronous events
 */
export const EventType: Members<"ibv_event_type", "IBV_EVENT_"> = members(
  "ibv_event_type",
  "IBV_EVENT_",
);
/**
 * A value of {@linkcode EventType}.
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
  readonly type: EventType;
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

/** The objects that events may be about, by context and native address. It keeps no context that is forgotten. */
const elements = new WeakMap<Resource, Map<bigint, Resource>>();

function elementsOf(context: Resource): Map<bigint, Resource> {
  let known = elements.get(context);
  if (known === undefined) elements.set(context, known = new Map());
  return known;
}

/** Makes events about an object name it. Call it when the native object is made. */
export function registerElement(resource: NativeResource): void {
  elementsOf(rootOf(resource)).set(handleAddress(handleOf(resource)), resource);
}

/** Ends {@linkcode registerElement}. Call it when the native object is destroyed. */
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
 * {@linkcode AsyncEvents.drain}.
 */
export class AsyncEvents {
  readonly #context: NativeResource<IbvContext>;
  readonly #event: DataView<ArrayBuffer> = allocStruct(structs.ibv_async_event);
  readonly #pointer: Deno.PointerObject = bufferPointer(this.#event);
  /** They are called with each event. */
  readonly listeners: Set<EventListener> = new Set();
  readonly #source: EventSource<void, void>;
  readonly #get: ReturnType<typeof verbs>["ibv_get_async_event"] = verbs().ibv_get_async_event;

  /** Makes the only reader of a context: see {@linkcode asyncEvents}. */
  constructor(context: NativeResource<IbvContext>) {
    this.#context = context;
    const fd = readNative(context.unsafeHandle, structs.ibv_context.fields.async_fd);
    makeNonblocking(fd);
    this.#source = new EventSource(context, fd, "ibv_get_async_event", () => {
      this.drain();
      return false;
    });
  }

  /** Waits until {@linkcode AsyncEvents.wake} is called. Meanwhile events are read as they come. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    await this.#source.wait(undefined, signal);
  }

  /** Waits on this thread for events, and reads them. Returns `false` if the time is over. */
  readSync(until: number): boolean {
    return this.#source.readSync(until);
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

  /** Ends all waits. Listeners that have something for those who wait call it. */
  wake(): void {
    this.#source.resolve(undefined, () => true);
  }

  /** Ends all waits with an error, because the context is being closed. */
  close(): void {
    const reason = new TypeError("Cannot wait for event: the context was disposed");
    this.#source.reject(reason, () => true);
  }

  /**
   * Reads all events there are, acknowledges them, and calls the listeners. It is one system call if there are none. The
   * context must be open.
   *
   * @throws What a listener throws, after all listeners were called.
   */
  drain(): void {
    const errors: unknown[] = [];
    while (this.#get(this.#context.unsafeHandle, this.#pointer) === 0) {
      const event = this.#parse();
      // Destroying the object of an event waits for its acknowledgement, so each one is acknowledged at once.
      verbs().ibv_ack_async_event(this.#pointer);
      this.#deliver(event, errors);
    }
    if (errors.length > 1) throw new AggregateError(errors, "Cannot deliver events");
    if (errors.length === 1) throw errors[0];
  }

  #parse(): AsyncEvent {
    const type = readField(this.#event, fields.event_type) as EventType;
    if (OF_PORTS.has(type)) {
      const portNum = readField(this.#event, fields["element.port_num"]);
      return { type, element: undefined, portNum };
    }
    // All objects lie at the same place of a union.
    const element = elementAt(this.#context, readField(this.#event, fields["element.cq"]));
    return { type, element, portNum: undefined };
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

/**
 * The events of a context as they come. Several iterations get the same events; each event is read and acknowledged
 * once.
 */
export async function* iterateEvents(
  context: NativeResource<IbvContext>,
  options: AbortOptions,
): AsyncGenerator<AsyncEvent, void, void> {
  const signal = signalOf(options);
  const reader = asyncEvents(context);
  using events = reader.subscribe();
  while (true) {
    signal?.throwIfAborted();
    assertOpen(context);
    const event = events.shift();
    if (event === undefined) await reader.wait(signal);
    else yield event;
  }
}

/** As {@linkcode iterateEvents}, on this thread. It ends if no event comes for as long as the time limit. */
export function* iterateEventsSync(
  context: NativeResource<IbvContext>,
  timeout: number,
): Generator<AsyncEvent, void, void> {
  const reader = asyncEvents(context);
  using events = reader.subscribe();
  while (true) {
    assertOpen(context);
    const event = events.shift();
    if (event !== undefined) yield event;
    else if (!reader.readSync(endOf(timeout))) return;
  }
}
