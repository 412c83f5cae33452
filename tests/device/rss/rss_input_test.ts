// Input of work queues and indirection tables that is wrong, or changes while it is read.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  CompletionQueue,
  Context,
  ProtectionDomain,
  RwqIndirectionTable,
  WorkQueue,
  type WqAttr,
  type WqInitAttr,
  WqState,
  type WqType,
} from "../../../mod.ts";
import { alive, calls, openBench, STUB, stubTest } from "../stub.ts";

/** A copy of an object whose property runs some code whenever it is read. */
function reading<T extends object>(attributes: T, name: keyof T, code: () => void): T {
  const value = attributes[name];
  return Object.defineProperty({ ...attributes }, name, {
    enumerable: true,
    get(): T[keyof T] {
      code();
      return value;
    },
  });
}

for (const name of ["wqState", "currWqState"] as const) {
  stubTest(`WorkQueue.modify() refuses to go on when reading ${name} closes the queue`, () => {
    using bench = openBench(1);
    const wq = bench.workQueues[0]!;
    const attr: WqAttr = { wqState: WqState.RDY, currWqState: WqState.RESET };
    assertThrows(
      () => wq.modify(reading(attr, name, () => wq.close())),
      TypeError,
      "Cannot use work queue: it is disposed",
    );
    assertEquals(calls("modify_wq"), []);
  });
}

for (const name of ["maxWr", "cq", "createFlags"] as const) {
  for (const what of ["protection domain", "completion queue"] as const) {
    stubTest(`new WorkQueue() makes nothing when reading ${name} closes its ${what}`, () => {
      using context = Context.open(STUB);
      const pd = new ProtectionDomain(context);
      const cq = new CompletionQueue(context, { cqe: 7 });
      const init = { maxWr: 1, maxSge: 1, cq, createFlags: 0 };
      const close = (): void => (what === "completion queue" ? cq : pd).close();
      assertThrows(
        () => new WorkQueue(pd, reading(init, name, close)),
        TypeError,
        `Cannot use ${what}: it is disposed`,
      );
      assertEquals(calls("create_wq"), []);
    });
  }
}

stubTest("new WorkQueue() depends on the completion queue that the device got", () => {
  using context = Context.open(STUB);
  const pd = new ProtectionDomain(context);
  const queues = [0, 1, 2].map(() => new CompletionQueue(context, { cqe: 7 }));
  const numbers = calls("create_cq").map(({ cq }) => cq);
  let reads = 0;
  const wq = new WorkQueue(pd, {
    maxWr: 1,
    maxSge: 1,
    get cq(): CompletionQueue {
      return queues[reads++]!;
    },
  });
  const used = numbers.indexOf(calls("create_wq")[0]!.cq);
  assert(wq.cq === queues[used]);
  queues[used]!.close();
  assert(wq.disposed);
});

stubTest("new WorkQueue() names the attribute that is wrong", () => {
  using context = Context.open(STUB);
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 7 });
  const good: WqInitAttr = { maxWr: 1, maxSge: 1, cq };
  const none = undefined as never;
  const wrong = [
    [{ ...good, wqType: 5 as WqType }, RangeError, "Cannot use wqType 5: it is none of 0 (RQ)"],
    [{ ...good, cq: pd as never }, TypeError, "Cannot use cq an object: it is not a Completion"],
    [{ ...good, cq: none }, TypeError, "cq is missing"],
    [{ ...good, maxWr: none }, TypeError, "maxWr is missing"],
    [{ ...good, maxWR: 7 }, TypeError, 'there is no attribute "maxWR"'],
    [null as never, TypeError, "Cannot use work queue attributes null"],
  ] as const;
  for (const [init, type, message] of wrong) {
    assertThrows(() => new WorkQueue(pd, init), type, message);
  }
  assertThrows(() => new WorkQueue(cq as never, good), TypeError, "it is not a ProtectionDomain");
  assertEquals(calls("create_wq"), []);
});

stubTest("new RwqIndirectionTable() names the entry that is not a work queue", () => {
  using bench = openBench(1);
  const { context, pd, workQueues: [wq] } = bench;
  for (const wrong of [null, undefined, {}, pd]) {
    assertThrows(
      () => new RwqIndirectionTable(context, [wq!, wrong as WorkQueue]),
      TypeError,
      "Cannot use workQueues[1]",
    );
  }
  assertThrows(() => new RwqIndirectionTable(context, null as never), TypeError, "workQueues null");
  assertThrows(
    () => new RwqIndirectionTable(context, { length: 1, 0: wq } as never),
    TypeError,
    "it is not an array",
  );
  assertThrows(() => new RwqIndirectionTable(pd as never, [wq!]), TypeError, "it is not a Context");
  assertEquals(calls("create_rwq_ind_table"), []);
});

stubTest("new RwqIndirectionTable() makes nothing when reading the list closes an entry", () => {
  using bench = openBench(2);
  const [a, b] = bench.workQueues as [WorkQueue, WorkQueue];
  const list = new Proxy([a, b], {
    get(target, name, receiver): unknown {
      if (name === "1") b.close();
      return Reflect.get(target, name, receiver);
    },
  });
  assertThrows(
    () => new RwqIndirectionTable(bench.context, list),
    TypeError,
    "Cannot use work queue: it is disposed",
  );
  assertEquals(calls("create_rwq_ind_table"), []);
});

stubTest("new RwqIndirectionTable() makes nothing when reading the list closes the device", () => {
  const bench = openBench(1);
  const list = new Proxy([...bench.workQueues], {
    get(target, name, receiver): unknown {
      if (name === "0") bench.context.close();
      return Reflect.get(target, name, receiver);
    },
  });
  assertThrows(() => new RwqIndirectionTable(bench.context, list), TypeError, "it is disposed");
  assertEquals([calls("create_rwq_ind_table"), alive().contexts], [[], 0]);
});

stubTest("new RwqIndirectionTable() takes a list as long as it was at first", () => {
  using bench = openBench(4);
  const list = [...bench.workQueues];
  const growing = new Proxy(list, {
    get(target, name, receiver): unknown {
      if (name === "0" && target.length < 200) target.push(...bench.workQueues);
      return Reflect.get(target, name, receiver);
    },
  });
  const table = new RwqIndirectionTable(bench.context, growing);
  assertEquals(table.size, 4);
  assertEquals(calls("create_rwq_ind_table")[0]!.wqs, table.workQueues.map((wq) => wq.wqNum));
});

stubTest("Work queues and tables show what matters on one line", () => {
  using bench = openBench(2);
  const [wq] = bench.workQueues;
  const table = new RwqIndirectionTable(bench.context, bench.workQueues);
  assertEquals(Deno.inspect(wq), `WorkQueue { wqNum: ${wq!.wqNum}, state: "RESET" }`);
  const { tableNumber } = table;
  assertEquals(Deno.inspect(table), `RwqIndirectionTable { tableNumber: ${tableNumber}, size: 2 }`);
  bench.pd.close();
  assertEquals(Deno.inspect(wq), "WorkQueue { disposed }");
});
