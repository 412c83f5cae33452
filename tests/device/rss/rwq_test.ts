// Indirection tables: what reaches the kernel, what is refused, and what outlives what.
import { assert, assertEquals } from "@std/assert";
import { alive, calls, hashOverAll, lastCall, makeRss, openBench, stubTest } from "../stub.ts";

for (const [size, log] of [[1, 0], [128, 7]] as const) {
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

stubTest("Objects of one RSS queue pair can be disposed in any order", () => {
  const names = ["qp", "table", "wq", "cq", "pd"] as const;
  for (const first of names) {
    const order = [first, ...names.filter((name) => name !== first)];
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
