// Asynchronous events: reading, acknowledging, listening and waiting.
import * as recorder from "../../provider/recorder.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CompletionQueue, Context, EventType, VerbsError } from "../../../mod.ts";
import { type AsyncEvent, asyncEvents } from "../../../types/device/async_events.ts";
import { testsOn } from "../recorded.ts";

function open(): Context {
  recorder.reset();
  return Context.open();
}

const on = testsOn(open);

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
  assertEquals(recorder.violations(), []);
});

on.test("AsyncEvents.drain() names the object of an event until it is destroyed", (context) => {
  const found: AsyncEvent[] = [];
  const events = asyncEvents(context);
  events.add((event) => found.push(event));
  const cq = new CompletionQueue(context, { cqe: 4 });
  using other = new CompletionQueue(context, { cqe: 4 });
  recorder.sendAsyncEvent(EventType.CQ_ERR, "cq1");
  recorder.sendAsyncEvent(EventType.CQ_ERR, "cq0");
  events.drain();
  assertEquals(found.map(({ element }) => element), [other, cq]);
  assertEquals(found.map(({ portNum }) => portNum), [undefined, undefined]);
  cq.close();
  assertEquals(recorder.violations(), []);
  // The address of a queue must not name a port's event, nor an object that is gone.
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  events.drain();
  assertEquals(found[2]!.element, undefined);
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

on.test("AsyncEvents.wait() rejects when the signal aborts", async (context) => {
  const controller = new AbortController();
  const wait = asyncEvents(context).wait(controller.signal);
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await wait.catch((error) => error), reason);
});

Deno.test("AsyncEvents.wait() rejects when the context is closed, and the device is closed", async () => {
  const context = open();
  const wait = asyncEvents(context).wait(undefined);
  context.close();
  await assertRejects(() => wait, TypeError, "the context was disposed");
  assertEquals(recorder.live("context"), 0);
});

on.test("AsyncEvents.wait() rejects when the device is gone", async (context) => {
  const wait = asyncEvents(context).wait(undefined);
  recorder.hangUp();
  const error = await assertRejects(() => wait, VerbsError);
  assertEquals(error.verb, "ibv_get_async_event");
});
