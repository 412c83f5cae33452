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

interface Case {
  readonly label: string;
  readonly type: EventType;
  make(pd: ProtectionDomain, cq: CompletionQueue): Resource;
}

const CASES: readonly Case[] = [
  {
    label: "cq1",
    type: EventType.CQ_ERR,
    make: ({ context }) => new CompletionQueue(context, { cqe: 1 }),
  },
  {
    label: "qp0",
    type: EventType.QP_FATAL,
    make: (pd, cq) => {
      const cap = { maxSendWr: 1, maxRecvWr: 1 };
      return new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap });
    },
  },
  {
    label: "srq0",
    type: EventType.SRQ_ERR,
    make: (pd) => new SharedReceiveQueue(pd, { maxWr: 1, maxSge: 1 }),
  },
  {
    label: "wq0",
    type: EventType.WQ_FATAL,
    make: (pd, cq) => new WorkQueue(pd, { cq, maxWr: 1, maxSge: 1 }),
  },
];

for (const { label, type, make } of CASES) {
  Deno.test(`An event names ${label} until it is destroyed, and not what comes after it`, () => {
    recorder.reset();
    using context = Context.open("recorder0");
    const object = make(new ProtectionDomain(context), new CompletionQueue(context, { cqe: 1 }));
    const named: (Resource | undefined)[] = [];
    const events = asyncEvents(context);
    events.add(({ element }) => named.push(element));
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
