// Indirection tables: what reaches the kernel, what is refused, and what outlives what.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { QpType, QueuePair } from "../../../mod.ts";
import { resourceCounts } from "../setup.ts";
import {
  alive,
  assertFails,
  calls,
  hashOverAll,
  hashOverIpv4,
  lastCall,
  makeRss,
  openBench,
  stubTest,
} from "../stub.ts";

for (const [size, log] of [[1, 0], [2, 1], [4, 2], [128, 7]] as const) {
  stubTest(`new RwqIndirectionTable() sends ${size} work queues to the kernel`, () => {
    using bench = openBench(size);
    const workQueues = bench.workQueues.toReversed();
    const table = bench.newTable(workQueues);
    const call = lastCall("create_rwq_ind_table")!;
    assertEquals(call.ret, 0);
    assertEquals(call.ctx, calls("alloc_ucontext")[0]!.ctx);
    assertEquals(call.log_ind_tbl_size, log);
    assertEquals(call.wqs, workQueues.map((wq) => wq.wqNum));
    assertEquals(call.table, table.tableNumber);
    assertEquals([table.size, table.logIndTblSize], [size, log]);
    assertEquals(table.workQueues, workQueues);
    assertEquals(alive().tables, 1);
  });
}

stubTest("new RwqIndirectionTable() takes a work queue in several entries", () => {
  using bench = openBench(2);
  const [a, b] = bench.workQueues;
  bench.newTable([a!, b!, b!, a!]);
  assertEquals(lastCall("create_rwq_ind_table")!.wqs, [a, b, b, a].map((wq) => wq!.wqNum));
});

stubTest("new RwqIndirectionTable() keeps its entries when the list changes", () => {
  using bench = openBench(2);
  const workQueues = [...bench.workQueues];
  const table = bench.newTable(workQueues);
  workQueues.pop();
  assertEquals(table.workQueues, bench.workQueues);
  assert(Object.isFrozen(table.workQueues));
});

stubTest("new RwqIndirectionTable() tells the device's limits when it refuses", () => {
  using bench = openBench(1);
  const { maxRwqIndirectionTableSize } = bench.context.queryDeviceEx().rssCaps;
  for (const size of [2 * maxRwqIndirectionTableSize, 8192]) {
    const workQueues = new Array(size).fill(bench.workQueues[0]!);
    const error = assertFails(
      () => bench.newTable(workQueues),
      "ibv_create_rwq_ind_table",
      "EINVAL",
    );
    assertStringIncludes(error.hint!, `tables of ${maxRwqIndirectionTableSize} entries`);
  }
});

stubTest("RwqIndirectionTable.close() leaves the work queues", () => {
  using bench = openBench();
  bench.newTable().close();
  assertEquals([alive().tables, alive().wqs], [0, 4]);
  bench.newTable();
  assertEquals(bench.workQueues.some((wq) => wq.disposed), false);
});

stubTest("WorkQueue.close() disposes its tables and their queue pairs first", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  const table = qp.rwqIndTbl!;
  const second = bench.newTable();
  bench.workQueues[2]!.close();
  assertEquals([qp.disposed, table.disposed, second.disposed], [true, true, true]);
  assertEquals(bench.workQueues.map((wq) => wq.disposed), [false, false, true, false]);
  const order = calls().map(({ verb }) => verb).filter((verb) => verb.startsWith("destroy"));
  assertEquals(order.at(-1), "destroy_wq");
  assert(order.indexOf("destroy_qp") < order.lastIndexOf("destroy_rwq_ind_table"));
  assertEquals([alive().qps, alive().tables, alive().wqs], [0, 0, 3]);
});

stubTest("RwqIndirectionTable.close() disposes its queue pairs first", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  qp.rwqIndTbl!.close();
  assertEquals(qp.disposed, true);
  assertEquals([alive().qps, alive().tables, alive().wqs], [0, 0, 4]);
});

stubTest("CompletionQueue.close() disposes the work queues it serves first", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  bench.workQueues[0]!.cq.close();
  assertEquals([qp.disposed, qp.rwqIndTbl!.disposed], [true, true]);
  assertEquals(bench.workQueues.every((wq) => wq.disposed), true);
  assertEquals([alive().qps, alive().tables, alive().wqs, alive().cqs], [0, 0, 0, 0]);
});

stubTest("Objects of one RSS queue pair can be disposed in any order", () => {
  const names = ["qp", "table", "wq", "cq", "pd"] as const;
  for (const order of permutations(names)) {
    using bench = openBench(2);
    const { pd, workQueues } = bench;
    const qp = makeRss(bench, hashOverAll());
    const [wq] = workQueues;
    const objects = { qp, table: qp.rwqIndTbl!, wq: wq!, cq: wq!.cq, pd };
    for (const name of order) objects[name].close();
    const rest = Object.entries(objects).filter(([_, object]) => !object.disposed);
    assertEquals(rest, [], order.join());
  }
});

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) =>
    permutations(items.toSpliced(i, 1)).map((others) => [item, ...others])
  );
}

stubTest("RwqIndirectionTable refuses to be used once it is disposed", () => {
  using bench = openBench();
  const table = bench.newTable();
  table.close();
  table.close();
  assertEquals(calls("destroy_rwq_ind_table").length, 1);
  const refused = "Cannot use indirection table: it is disposed";
  const flow = { source: "10.0.0.1", destination: "10.0.0.2" };
  assertThrows(() => table.unsafeHandle, TypeError, refused);
  assertThrows(() => table.workQueueFor(flow, hashOverAll()), TypeError, refused);
  const init = { type: QpType.RAW_PACKET, rwqIndTbl: table, rxHashConf: hashOverAll() };
  assertThrows(() => new QueuePair(bench.pd, init), TypeError, refused);
});

stubTest("RwqIndirectionTable.workQueueFor() goes by the hash's lower bits", () => {
  using bench = openBench(2);
  const [a, b] = bench.workQueues;
  const workQueues = new Array(16).fill(a).with(5, b);
  const table = bench.newTable(workQueues);
  // their published hashes end in 2 and in 5
  const flow = { source: "66.9.149.187", destination: "161.142.100.80" };
  const other = { source: "153.39.163.191", destination: "202.188.127.2" };
  assert(table.workQueueFor(flow, hashOverIpv4()) === a);
  assert(table.workQueueFor(other, hashOverIpv4()) === b);
});

stubTest("RwqIndirectionTable.workQueueFor() joins both directions of a flow", () => {
  using bench = openBench(64);
  const table = bench.newTable();
  const there = { source: "66.9.149.187", destination: "161.142.100.80" };
  const back = { source: there.destination, destination: there.source };
  const queues = [undefined, { symmetric: true }].map((options) =>
    [there, back].map((flow) => table.workQueueFor(flow, hashOverIpv4(), options))
  );
  assert(queues[0]![0] !== queues[0]![1]);
  assert(queues[1]![0] === queues[1]![1]);
});

stubTest("10 000 tables that are made and disposed leave nothing behind", () => {
  using bench = openBench(2);
  const before = [resourceCounts(), alive()];
  for (let i = 0; i < 10_000; i++) bench.newTable().close();
  assertEquals([resourceCounts(), alive()], before);
});
