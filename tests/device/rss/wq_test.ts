// Work queues: what reaches the kernel, their states, and their receives.
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { ProtectionDomain, WcStatus, WorkQueue, WqFlags, WqState, WqType } from "../../../mod.ts";
import { waitFor } from "../setup.ts";
import {
  assertFails,
  assertLastCall,
  calls,
  lastCall,
  openBench,
  openStub,
  stubTest,
} from "../stub.ts";

const { RESET, RDY, ERR } = WqState;

stubTest("new WorkQueue() sends every attribute to the kernel", () => {
  using stub = openStub();
  const { context, cq } = stub;
  new WorkQueue(stub.pd, { maxWr: 1, maxSge: 1, cq });
  const [pd, otherCq] = [new ProtectionDomain(context), stub.newCq()];
  const { SCATTER_FCS } = WqFlags;
  const wq = new WorkQueue(pd, {
    wqType: WqType.RQ,
    maxWr: 10,
    maxSge: 3,
    cq: otherCq,
    createFlags: SCATTER_FCS,
  });
  const pds = calls("alloc_pd").map((call) => call.pd);
  const cqs = calls("create_cq").map((call) => call.cq);
  assertLastCall("create_wq", {
    ret: 0,
    ctx: calls("alloc_ucontext")[0]!.ctx,
    pd: pds[1],
    cq: cqs[1],
    wq_type: WqType.RQ,
    max_wr: 10,
    max_sge: 3,
    create_flags: SCATTER_FCS,
    wq: wq.wqNum,
    max_wr_given: wq.maxWr,
    max_sge_given: wq.maxSge,
  });
  assertNotEquals(pds[0], pds[1]);
  assertNotEquals(cqs[0], cqs[1]);
});

stubTest("new WorkQueue() gives a queue in RESET with the sizes granted", () => {
  using stub = openStub();
  const { context, pd, cq } = stub;
  const wq = new WorkQueue(pd, { maxWr: 10, maxSge: 3, cq });
  assertEquals([wq.state, wq.wqType, wq.maxWr, wq.maxSge], [RESET, WqType.RQ, 16, 4]);
  assert(wq.pd === pd && wq.cq === cq && wq.context === context);
  assertEquals(lastCall("create_wq")!.create_flags, 0);
});

stubTest("WorkQueue.modify() sends every attribute to the kernel, and the mask", () => {
  using bench = openBench(1);
  const wq = bench.workQueues[0]!;
  const wqNum = wq.wqNum;
  wq.modify({ wqState: RDY });
  assertLastCall("modify_wq", { ret: 0, wq: wqNum, attr_mask: 1, wq_state: RDY });
  wq.modify({ wqState: ERR, currWqState: RDY });
  assertLastCall("modify_wq", { attr_mask: 3, wq_state: ERR, curr_wq_state: RDY });
  wq.modify({ currWqState: ERR });
  assertLastCall("modify_wq", { attr_mask: 2, curr_wq_state: ERR });
  assertFails(
    () => wq.modify({ wqState: RESET, currWqState: ERR, flags: 5, flagsMask: 7 }),
    "ibv_modify_wq",
    "EOPNOTSUPP",
  );
  assertLastCall("modify_wq", {
    attr_mask: 7,
    wq_state: RESET,
    curr_wq_state: ERR,
    flags: 5,
    flags_mask: 7,
  });
});

stubTest("A work queue that is moved to ERR flushes its receives", async () => {
  using bench = openBench(2);
  const [wq, other] = bench.workQueues as [WorkQueue, WorkQueue];
  const mr = bench.newMr();
  wq.modify({ wqState: RDY });
  wq.postRecv([{ wrId: 7n, sge: mr.slice(0, 64) }, { wrId: 2n ** 64n - 1n }]);
  other.postRecv({ wrId: 9n });
  wq.modify({ wqState: ERR });
  const flushed = await waitFor(wq.cq, 2);
  assertEquals(flushed.map((wc) => wc.status), [WcStatus.WR_FLUSH_ERR, WcStatus.WR_FLUSH_ERR]);
  assertEquals(flushed.map((wc) => wc.wrId), [7n, 2n ** 64n - 1n]);
  assertEquals(flushed.map((wc) => wc.qpNum), [wq.wqNum, wq.wqNum]);
  assertEquals(wq.cq.poll(), []);
});
