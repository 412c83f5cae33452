// Asynchronous events: reading, listening, and iterating over them.
import { spy } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  CompletionQueue,
  EventType,
  ProtectionDomain,
  QpType,
  QueuePair,
  type Resource,
  SharedReceiveQueue,
  VerbsError,
  WorkQueue,
} from "../../../mod.ts";
import { asyncEvents } from "../../../types/device/async_events.ts";
import { onContext as on, openContext as open } from "../recorded.ts";

on.test("Context.events() gives events with the object or the port they are about", async (context) => {
  using cq = new CompletionQueue(context, { cqe: 4 });
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  recorder.sendAsyncEvent(EventType.CQ_ERR, "cq0");
  setTimeout(() => recorder.sendAsyncEvent(EventType.DEVICE_FATAL, 0), 5);
  const found = [];
  for await (const event of context.events()) {
    found.push(event);
    if (found.length === 3) break;
  }
  assertEquals(found, [
    { eventType: EventType.PORT_ERR, element: undefined, portNum: 1 },
    { eventType: EventType.CQ_ERR, element: cq, portNum: undefined },
    { eventType: EventType.DEVICE_FATAL, element: undefined, portNum: undefined },
  ]);
  assertEquals(recorder.unacknowledged(), 0);
});

on.test("Context.events() gives every event to each iteration, and each is acknowledged once", async (context) => {
  const iterations = [context.events(), context.events()];
  const waits = iterations.map((iteration) => iteration.next());
  recorder.take();
  recorder.sendAsyncEvent(EventType.LID_CHANGE, 1);
  recorder.sendAsyncEvent(EventType.SM_CHANGE, 1);
  const types = [];
  for (const wait of waits) types.push((await wait).value?.eventType);
  for (const iteration of iterations) types.push((await iteration.next()).value?.eventType);
  const { LID_CHANGE, SM_CHANGE } = EventType;
  assertEquals(types, [LID_CHANGE, LID_CHANGE, SM_CHANGE, SM_CHANGE]);
  assertEquals(recorder.takeOf("ibv_ack_async_event").length, 2);
  for (const iteration of iterations) await iteration.return();
});

on.test("Context.events() shares events with others that read them", async (context) => {
  const iteration = context.events();
  const first = iteration.next();
  const types: EventType[] = [];
  asyncEvents(context).listeners.add(({ eventType }) => types.push(eventType));
  recorder.sendAsyncEvent(EventType.GID_CHANGE, 1);
  asyncEvents(context).drain();
  assertEquals((await first).value?.eventType, EventType.GID_CHANGE);
  // Read by somebody else while the iteration does not wait.
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  asyncEvents(context).drain();
  assertEquals((await iteration.next()).value?.eventType, EventType.PORT_ERR);
  assertEquals(types, [EventType.GID_CHANGE, EventType.PORT_ERR]);
  await iteration.return();
});

on.test("Context.events() ends with the signal's reason, and gives no thread or process to keep", async (context) => {
  const controller = new AbortController();
  const wait = context.events({ signal: controller.signal }).next();
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await wait.catch((error) => error), reason);
  const { signal } = controller;
  assertEquals(await context.events({ signal }).next().catch((error) => error), reason);
});

Deno.test("Context.events() ends when the context is closed or the device goes away", async () => {
  const context = open();
  const wait = context.events().next();
  const busy = context.events();
  const first = busy.next();
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  recorder.sendAsyncEvent(EventType.PORT_ACTIVE, 1);
  assert(!(await first).done);
  await wait;
  const next = context.events().next();
  context.close();
  assertEquals([(await next).done, (await busy.next()).done], [true, true]);
  assertEquals(recorder.live(), 0);
  using other = open();
  const gone = other.events().next();
  recorder.hangUp();
  await assertRejects(() => gone, VerbsError, "ibv_get_async_event");
});

on.test("Context.events() names the port of every event that is about a port", async (context) => {
  const { PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, SM_CHANGE } = EventType;
  const { CLIENT_REREGISTER, GID_CHANGE } = EventType;
  const ofLink = [PORT_ACTIVE, PORT_ERR, LID_CHANGE, SM_CHANGE];
  const types = [...ofLink, PKEY_CHANGE, CLIENT_REREGISTER, GID_CHANGE];
  for (const type of types) recorder.sendAsyncEvent(type, 1);
  const found = [];
  for await (const event of context.events()) {
    found.push(event);
    if (found.length === types.length) break;
  }
  assertEquals(found, types.map((eventType) => ({ eventType, element: undefined, portNum: 1 })));
});

on.test("Context.eventsSync() gives events until none comes for as long as the time limit", (context) => {
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  recorder.sendAsyncEvent(EventType.LID_CHANGE, 1);
  const types: EventType[] = [];
  for (const { eventType } of context.eventsSync({ timeout: 1 })) {
    types.push(eventType);
    // Somebody else reads it.
    if (types.length === 2) {
      recorder.sendAsyncEvent(EventType.PORT_ACTIVE, 1);
      asyncEvents(context).drain();
    }
  }
  assertEquals(types, [EventType.PORT_ERR, EventType.LID_CHANGE, EventType.PORT_ACTIVE]);
  assertEquals([recorder.unacknowledged(), asyncEvents(context).listeners.size], [0, 0]);
});

on.test("Context.eventsSync() gives events to those who wait by the event loop, too", async (context) => {
  const iteration = context.events();
  const next = iteration.next();
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  const { value } = context.eventsSync().next();
  assertEquals((await next).value, value);
  await iteration.return();
  assertThrows(() => context.eventsSync({ timeout: -1 }), RangeError, "timeout");
  recorder.hangUp();
  const error = assertThrows(() => context.eventsSync().next(), VerbsError);
  assertEquals(error.verb, "ibv_get_async_event");
});

on.test("Context.events() leaves no listener behind", async (context) => {
  const reader = asyncEvents(context);
  const added = spy(reader.listeners, "add");
  const deleted = spy(reader.listeners, "delete");
  const iteration = context.events();
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  await iteration.next();
  assertEquals([added.calls.length, deleted.calls.length], [1, 0]);
  await iteration.return();
  assertEquals(deleted.calls[0]?.args, added.calls[0]?.args);
});

on.test("AsyncEvents.drain() calls all listeners when one throws, then throws", (context) => {
  const events = asyncEvents(context);
  const found: EventType[] = [];
  const error = new Error("a listener fails");
  const failing = (): never => {
    throw error;
  };
  events.listeners.add(failing);
  events.listeners.add(({ eventType }) => found.push(eventType));
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

type Make = (pd: ProtectionDomain, cq: CompletionQueue) => Resource;

const CAP = { maxSendWr: 1, maxRecvWr: 1 };

/** Each kind of object, with an event of its own. */
const CASES: Readonly<Record<string, readonly [EventType, Make]>> = {
  cq1: [EventType.CQ_ERR, ({ context }) => new CompletionQueue(context, { cqe: 1 })],
  qp0: [
    EventType.QP_FATAL,
    (pd, cq) => new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap: CAP }),
  ],
  srq0: [EventType.SRQ_ERR, (pd) => new SharedReceiveQueue(pd, { maxWr: 1, maxSge: 1 })],
  wq0: [EventType.WQ_FATAL, (pd, cq) => new WorkQueue(pd, { cq, maxWr: 1, maxSge: 1 })],
};

for (const [label, [type, make]] of Object.entries(CASES)) {
  on.test(`An event names ${label} until it is destroyed, and not what comes after it`, (context) => {
    const object = make(new ProtectionDomain(context), new CompletionQueue(context, { cqe: 1 }));
    const named: (Resource | undefined)[] = [];
    const events = asyncEvents(context);
    events.listeners.add(({ element }) => named.push(element));
    recorder.sendAsyncEvent(type, label);
    events.drain();
    assertEquals(named[0] === object, true);
    object.close();
    // No device sends this. It stands for the event of another object at the same address.
    recorder.sendAsyncEvent(type, label);
    events.drain();
    assertEquals(named[1], undefined);
    assertEquals(recorder.violations().length, 1);
  });
}
