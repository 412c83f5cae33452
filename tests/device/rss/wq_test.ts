// Work queues: what reaches the kernel, their states, and their receives.
import { assertEquals } from "@std/assert";
import { WcStatus, type WorkQueue, WqState } from "../../../mod.ts";
import { waitFor } from "../setup.ts";
import { openBench, stubTest } from "../stub.ts";

const { RDY, ERR } = WqState;

stubTest("A work queue that is moved to ERR flushes its receives", async () => {
  using bench = openBench(2);
  const [wq, other] = bench.workQueues as [WorkQueue, WorkQueue];
  const mr = bench.newMr();
  wq.modify({ wqState: RDY });
  wq.postRecv([{ wrId: 7n, sge: mr.sge(0, 64) }, { wrId: 2n ** 64n - 1n }]);
  other.postRecv({ wrId: 9n });
  wq.modify({ wqState: ERR });
  const flushed = await waitFor(wq.cq, 2);
  assertEquals(flushed.map((wc) => wc.status), [WcStatus.WR_FLUSH_ERR, WcStatus.WR_FLUSH_ERR]);
  assertEquals(flushed.map((wc) => wc.wrId), [7n, 2n ** 64n - 1n]);
  assertEquals(flushed.map((wc) => wc.qpNum), [wq.wqNum, wq.wqNum]);
  assertEquals(wq.cq.poll(), []);
});
