// The objects that asynchronous events are about, while they live and afterwards.
import { assertEquals } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  CompletionQueue,
  Context,
  EventType,
  ProtectionDomain,
  QpType,
  QueuePair,
  type Resource,
  SharedReceiveQueue,
  WorkQueue,
} from "../../../mod.ts";
import { asyncEvents } from "../../../types/device/async_events.ts";

type Make = (pd: ProtectionDomain, cq: CompletionQueue) => Resource;

const CAP = { maxSendWr: 1, maxRecvWr: 1 };

/** Each kind of object, with an event of its own. */
const CASES: Readonly<Record<string, readonly [EventType, Make]>> = {
  cq1: [EventType.CQ_ERR, ({ context }) => new CompletionQueue(context, { cqe: 1 })],
  qp0: [
    EventType.QP_FATAL,
    (pd, cq) => new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap: CAP }),
  ],
  srq0: [EventType.SRQ_ERR, (pd) => new SharedReceiveQueue(pd, { maxWr: 1, maxSge: 1 })],
  wq0: [EventType.WQ_FATAL, (pd, cq) => new WorkQueue(pd, { cq, maxWr: 1, maxSge: 1 })],
};

for (const [label, [type, make]] of Object.entries(CASES)) {
  Deno.test(`An event names ${label} until it is destroyed, and not what comes after it`, () => {
    recorder.reset();
    using context = Context.open("recorder0");
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
  });
}
