// Shared receive queues.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  EventType,
  QpType,
  type QueuePair,
  RecvRequestList,
  SharedReceiveQueue,
  VerbsError,
} from "../../../mod.ts";
import {
  deviceTest,
  type End,
  gidOf,
  makeEnd,
  OpenDevice,
  PORT,
  RXE,
  rxe,
  waitFor,
  withDeadline,
} from "../setup.ts";

/** A shared queue, and RC queue pairs that receive from it, each with the end that sends to it. */
class Shared extends OpenDevice {
  readonly srq = new SharedReceiveQueue(this.pd, { maxWr: 16 });
  readonly senders: End[] = [];
  readonly receivers: QueuePair[] = [];

  constructor(count: number) {
    super(RXE);
    const { gidIndex } = gidOf(this.context, "ipv4");
    for (let i = 0; i < count; i++) {
      const sender = makeEnd(this.pd, QpType.RC);
      const receiver = this.newQp(QpType.RC, { srq: this.srq, cap: { maxSendWr: 1 } });
      for (const qp of [sender.qp, receiver]) qp.init({ portNum: PORT, gidIndex });
      receiver.activateRc(sender.qp.address);
      sender.qp.activateRc(receiver.address);
      this.senders.push(sender);
      this.receivers.push(receiver);
    }
  }
}

deviceTest("Two queue pairs take their receives from one shared queue", async () => {
  using device = new Shared(2);
  const { srq, senders, receivers, cq } = device;
  const mr = device.newMr();
  const list = new RecvRequestList({ capacity: 4 });
  for (let i = 0; i < 4; i++) list.set(i, { wrId: i, sge: mr.sge(i * 64, 64) });
  srq.postRecv(list, 0, 3);
  srq.postRecv({ wrId: 3, sge: mr.sge(192, 64) });
  for (const { qp, mr } of [...senders, ...senders]) qp.postSend({ sge: mr.sge(0, 9) });
  const received = await waitFor(cq, 4);
  assertEquals(received.map((wc) => wc.check().wrId).sort(), [0n, 1n, 2n, 3n]);
  const numbers = new Set(received.map(({ qpNum }) => qpNum));
  assertEquals(numbers, new Set(receivers.map(({ qpNum }) => qpNum)));
});

deviceTest("SharedReceiveQueue.modify() sets a limit that sends an event once", async () => {
  using device = new Shared(1);
  const { context, srq, senders: [sender], cq } = device;
  srq.postRecv(Array.from({ length: 3 }, () => ({ sge: device.newMr().sge() })));
  srq.modify({ srqLimit: 2 });
  assertEquals(srq.query().srqLimit, 2);
  await withDeadline(new Error("Cannot wait for event: it does not come"), async (signal) => {
    const events = context.events({ signal });
    const event = events.next();
    for (let i = 0; i < 2; i++) sender!.qp.postSend({ sge: sender!.mr.sge(0, 1) });
    const { value } = await event;
    assertEquals(value!.eventType, EventType.SRQ_LIMIT_REACHED);
    assertEquals(value!.element === srq, true);
    await events.return();
  });
  await waitFor(cq, 2);
  assertEquals(srq.query().srqLimit, 0);
});

deviceTest("SharedReceiveQueue.modify() gives the largest limit", () => {
  using device = rxe();
  const srq = new SharedReceiveQueue(device.pd, { maxWr: 4 });
  const { message } = assertThrows(() => srq.modify({ srqLimit: 5000 }), VerbsError);
  assertStringIncludes(message, `above the size of the queue, ${srq.query().maxWr} receives`);
});
