/**
 * What a device tells of itself: events of its ports, queues and of the device as a whole.
 *
 * @module
 */

import type { IbvContext } from "../../ffi/handles.ts";
import { enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { setNonblocking } from "../../ffi/readiness.ts";
import { readField, readNative } from "../../ffi/struct.ts";
import type { Context } from "./context.ts";
import { type Members, members } from "../core/enums.ts";

const { fields } = structs.ibv_async_event;

/** Kinds of event (`enum ibv_event_type`). */
export const EventType: Members<typeof enums.ibv_event_type, "IBV_EVENT_"> = members(
  enums.ibv_event_type,
  "IBV_EVENT_",
);
/** A value of {@linkcode EventType}. */
export type EventType = typeof EventType[keyof typeof EventType];

/** Is told of an event; the port number means something for events of ports only. */
export type EventListener = (type: EventType, portNum: number) => void;

const readers = new WeakMap<Context, AsyncEvents>();

/** The one reader of a context's events: an event can be read only once. */
export function asyncEvents(context: Context): AsyncEvents {
  let reader = readers.get(context);
  if (reader === undefined) readers.set(context, reader = new AsyncEvents(context));
  return reader;
}

/** Reads a context's events for all who want to know. It keeps no thread: who needs to be up to date asks. */
export class AsyncEvents {
  readonly #handle: IbvContext;
  readonly #event: DataView<ArrayBuffer>;
  readonly #pointer: Deno.PointerObject;
  readonly #listeners: Set<EventListener> = new Set();
  readonly #get: ReturnType<typeof verbs>["ibv_get_async_event"] = verbs().ibv_get_async_event;

  /** There is to be one per context: see {@linkcode asyncEvents}. */
  constructor(context: Context) {
    this.#handle = context.unsafeHandle;
    const bytes = new Uint8Array(structs.ibv_async_event.size);
    this.#event = new DataView(bytes.buffer);
    this.#pointer = Deno.UnsafePointer.of(bytes)!;
    setNonblocking(readNative(this.#handle, structs.ibv_context.fields.async_fd));
  }

  /** Has a listener told of events from now on. */
  add(listener: EventListener): void {
    this.#listeners.add(listener);
  }

  /** Ends {@linkcode AsyncEvents.add}. */
  delete(listener: EventListener): void {
    this.#listeners.delete(listener);
  }

  /**
   * Reads the events there are, acknowledges them, and tells the listeners. One system call where there are none. The
   * context must be open.
   */
  drain(): void {
    while (this.#get(this.#handle, this.#pointer) === 0) {
      const type = readField(this.#event, fields.event_type) as EventType;
      const portNum = readField(this.#event, fields["element.port_num"]);
      // destroying what an event is of waits for its acknowledgement, so none may be passed over
      verbs().ibv_ack_async_event(this.#pointer);
      for (const listener of this.#listeners) listener(type, portNum);
    }
  }
}
