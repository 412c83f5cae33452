// Indirection tables, as a provider receives them, and against wrong input.
import { assertEquals, assertThrows } from "@std/assert";
import {
  CompletionQueue,
  type Context,
  microsoftRssKey,
  ProtectionDomain,
  type QpInitAttr,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  WorkQueue,
} from "../../../mod.ts";
import { onPd } from "../recorded.ts";
import { assertRefused, bad } from "../refusals.ts";

/** Work queues of one context. */
function makeQueues(context: Context, count: number): WorkQueue[] {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 8 });
  return Array.from({ length: count }, () => new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq }));
}

onPd.test("RwqIndirectionTable.workQueueFor() goes by the lowest bits of the hash", (recorded) => {
  const queues = makeQueues(recorded.context, 8);
  const table = new RwqIndirectionTable(recorded.context, queues);
  const rxHash = new RxHash({
    rxHashKey: microsoftRssKey(),
    rxHashFieldsMask: RxHashFields.SRC_IPV4 | RxHashFields.DST_IPV4,
  });
  for (let i = 0; i < 32; i++) {
    const flow = { srcIp: `10.0.0.${i}`, dstIp: "10.0.1.1" };
    for (const options of [{}, { symmetric: true }]) {
      const found = table.workQueueFor(flow, rxHash, options);
      assertEquals(found, queues[rxHash.hash(flow, options) % 8]);
    }
  }
  table.close();
  const flow = { srcIp: "10.0.0.1", dstIp: "10.0.1.1" };
  assertThrows(() => table.workQueueFor(flow, rxHash), TypeError, "it is disposed");
});

onPd.test("RwqIndirectionTable keeps the list as it was at first", ({ context }) => {
  const list = makeQueues(context, 2);
  const growing = new Proxy(list, {
    get(target, name, receiver): unknown {
      if (name === "0" && list.length < 200) list.push(...list);
      return Reflect.get(target, name, receiver);
    },
  });
  const table = new RwqIndirectionTable(context, growing);
  assertEquals([table.size, table.workQueues.length], [2, 2]);
  assertEquals(Object.isFrozen(table.workQueues), true);
});

onPd.test("QueuePair refuses queues that do not go with a table", ({ context, pd }) => {
  const rwqIndTbl = new RwqIndirectionTable(context, makeQueues(context, 2));
  const rxHashConf = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: 0xff });
  const make = (more: Partial<QpInitAttr>) => () =>
    new QueuePair(pd, { qpType: QpType.RAW_PACKET, rwqIndTbl, rxHashConf, ...more } as QpInitAttr);
  const own = "with an indirection table it has no receive queue of its own";
  assertRefused(
    [make({ recvCq: new CompletionQueue(context, { cqe: 8 }) }), TypeError, own],
    [make({ cap: { maxRecvWr: 1 } }), TypeError, own],
    [make({ cap: { maxSendWr: 1 } }), TypeError, "sendCq is missing"],
    [make({ rwqIndTbl: bad(undefined) }), TypeError, "sendCq is missing"],
  );
});
