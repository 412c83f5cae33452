// Asynchronous events: reading, acknowledging, listening and waiting.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { EventType } from "../../../mod.ts";
import { asyncEvents } from "../../../types/device/async_events.ts";
import { onContext as on } from "../recorded.ts";

on.test("AsyncEvents.drain() calls all listeners when one throws, then throws", (context) => {
  const events = asyncEvents(context);
  const found: EventType[] = [];
  const error = new Error("a listener fails");
  const failing = (): never => {
    throw error;
  };
  events.listeners.add(failing);
  events.listeners.add(({ type }) => found.push(type));
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  recorder.sendAsyncEvent(EventType.PORT_ACTIVE, 1);
  const thrown = assertThrows(() => events.drain(), AggregateError);
  assertEquals(thrown.errors, [error, error]);
  assertEquals(found, [EventType.PORT_ERR, EventType.PORT_ACTIVE]);
  assertEquals(recorder.unacknowledged(), 0);
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  assertEquals(assertThrows(() => events.drain()), error);
  events.listeners.delete(failing);
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  events.drain();
  assertEquals(found.length, 4);
});
