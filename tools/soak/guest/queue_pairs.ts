/** Queue pairs that are made, made ready and closed. */

import { AccessFlags, CompletionQueue, MemoryRegion } from "../../../mod.ts";
import { CONNECTIONS } from "../plan.ts";
import { connect, makeEnd } from "./connections.ts";
import { makeQp } from "./datagrams.ts";
import { SIZE } from "./ledger.ts";
import { paced, type Run } from "./run.ts";

/** Makes a datagram queue pair or a connection at a time; receives are posted when they are closed. */
export async function makeQueuePairs(run: Run, rate: number): Promise<void> {
  let made = 0;
  await paced(rate, 1, run.stop, () => {
    using stack = new DisposableStack();
    if (made++ % CONNECTIONS === 0) makeConnection(run, stack);
    else makeDatagram(run, stack);
  });
}

function makeConnection(run: Run, stack: DisposableStack): void {
  const [left, right] = [makeEnd(run.pd, stack), makeEnd(run.pd, stack)];
  connect(left.qp, right.qp, run.gids[0]!.gidIndex);
  right.qp.postRecv({ sge: right.mr.slice(0, SIZE) });
  run.count("queuePairs", 2);
}

function makeDatagram(run: Run, stack: DisposableStack): void {
  const cq = stack.use(new CompletionQueue(run.context, { cqe: 8 }));
  const mr = stack.use(new MemoryRegion(run.pd, 4096, AccessFlags.LOCAL_WRITE));
  const qp = stack.use(makeQp(run, cq));
  qp.postRecv({ sge: mr.slice(0, 1024) });
  run.count("queuePairs");
}
