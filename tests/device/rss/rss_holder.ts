// Holds work queues with receives posted, tables, and queue pairs that use them, until it is killed by
// rss_killed_test.ts.
import {
  AccessFlags,
  CompletionQueue,
  Context,
  MemoryRegion,
  microsoftRssKey,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  WorkQueue,
  WqState,
} from "../../../mod.ts";

const context = Context.open("stub0");
const pd = new ProtectionDomain(context);
const cq = new CompletionQueue(context, { cqe: 64 });
const mr = new MemoryRegion(pd, 65536, AccessFlags.LOCAL_WRITE);
const workQueues = Array.from({ length: 8 }, () => new WorkQueue(pd, { maxWr: 8, maxSge: 1, cq }));
for (const wq of workQueues) {
  wq.modify({ wqState: WqState.RDY });
  wq.postRecv({ sge: mr.slice(0, 4096) });
}
const rxHashConf = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: 0xff });
const tables = [workQueues.slice(0, 4), workQueues].map((workQueues) =>
  new RwqIndirectionTable(context, workQueues)
);
for (const rwqIndTbl of [...tables, tables[0]!]) {
  const qp = new QueuePair(pd, { type: QpType.RAW_PACKET, rwqIndTbl, rxHashConf });
  qp.modify({ qpState: QpState.INIT, portNum: 2 });
  qp.modify({ qpState: QpState.RTR });
}
Deno.stdout.writeSync(new TextEncoder().encode("ready\n"));
setInterval(() => {}, 1000);
