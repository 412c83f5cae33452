// Asynchronous events: reading, acknowledging, listening and waiting.
import * as recorder from "../../provider/recorder.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Context, EventType } from "../../../mod.ts";
import { type AsyncEvent, asyncEvents } from "../../../types/device/async_events.ts";
import { onContext as on } from "../recorded.ts";

on.test("AsyncEvents.drain() tells type and port, and acknowledges each event once", (context) => {
  const found: AsyncEvent[] = [];
  const events = asyncEvents(context);
  events.add((event) => found.push(event));
  recorder.sendAsyncEvent(EventType.LID_CHANGE, 1);
  recorder.sendAsyncEvent(EventType.SM_CHANGE, 2);
  recorder.sendAsyncEvent(EventType.DEVICE_FATAL, 3);
  events.drain();
  assertEquals(found, [
    { type: EventType.LID_CHANGE, element: undefined, portNum: 1 },
    { type: EventType.SM_CHANGE, element: undefined, portNum: 2 },
    { type: EventType.DEVICE_FATAL, element: undefined, portNum: undefined },
  ]);
  assertEquals(recorder.unacknowledged(), 0);
  events.drain();
  assertEquals(found.length, 3);
});

on.test("AsyncEvents.drain() calls all listeners when one throws, then throws", (context) => {
  const events = asyncEvents(context);
  const found: EventType[] = [];
  const error = new Error("a listener fails");
  const failing = (): never => {
    throw error;
  };
  events.add(failing);
  events.add(({ type }) => found.push(type));
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  recorder.sendAsyncEvent(EventType.PORT_ACTIVE, 1);
  const thrown = assertThrows(() => events.drain(), AggregateError);
  assertEquals(thrown.errors, [error, error]);
  assertEquals(found, [EventType.PORT_ERR, EventType.PORT_ACTIVE]);
  assertEquals(recorder.unacknowledged(), 0);
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  assertEquals(assertThrows(() => events.drain()), error);
  events.delete(failing);
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  events.drain();
  assertEquals(found.length, 4);
});

on.test("asyncEvents() gives one reader per context", (context) => {
  using other = Context.open();
  assertEquals(asyncEvents(context), asyncEvents(context));
  assert(asyncEvents(context) !== asyncEvents(other));
});

on.test("AsyncEvents.wait() reads events as they come", async (context) => {
  const events = asyncEvents(context);
  const found: EventType[] = [];
  events.add(({ type }) => {
    found.push(type);
    events.wake();
  });
  const wait = events.wait(undefined);
  recorder.sendAsyncEvent(EventType.GID_CHANGE, 1);
  await wait;
  assertEquals(found, [EventType.GID_CHANGE]);
});
