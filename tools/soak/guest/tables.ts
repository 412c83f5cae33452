/** RWQ indirection tables on the stub HCA, some with queue pairs. */

import {
  CompletionQueue,
  type Context,
  microsoftRssKey,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  WorkQueue,
  WqState,
} from "../../../mod.ts";
import { TABLES_OF_WORK_QUEUE, TABLES_WITH_QUEUE_PAIR } from "../plan.ts";
import { paced, type Run } from "./run.ts";

const QUEUES = 4;
const ETHERNET_PORT = 2;
const BURST = 8;
const SIZES = [1, 2, 4, 8, 16];

/** Makes and disposes tables until the run is over. */
export async function makeTables(run: Run, rate: number, stub: Context): Promise<void> {
  using pd = new ProtectionDomain(stub);
  using cq = new CompletionQueue(stub, { cqe: 1023 });
  const { SRC_IPV4, DST_IPV4 } = RxHashFields;
  const rxHash = new RxHash({
    rxHashKey: microsoftRssKey(),
    rxHashFieldsMask: SRC_IPV4 | DST_IPV4,
  });
  const queues = Array.from({ length: QUEUES }, () => makeQueue(run, pd, cq));
  let made = 0;
  await paced(rate, BURST, run.stop, () => {
    for (let i = 0; i < BURST; i++) {
      const table = makeTable(stub, queues, made++);
      run.count("tables");
      if (made % TABLES_WITH_QUEUE_PAIR === 0) useTable(run, pd, table, rxHash);
      if (made % TABLES_OF_WORK_QUEUE === 0) replaceQueue(made / TABLES_OF_WORK_QUEUE % QUEUES);
      table.close();
    }
  });

  /** The table and its queue pair, if there is one, go with the work queue. */
  function replaceQueue(place: number): void {
    queues[place]!.close();
    queues[place] = makeQueue(run, pd, cq);
  }
}

function makeQueue(run: Run, pd: ProtectionDomain, cq: CompletionQueue): WorkQueue {
  const wq = new WorkQueue(pd, { maxWr: 16, maxSge: 1, cq });
  wq.modify({ wqState: WqState.RDY });
  run.count("workQueues");
  return wq;
}

function makeTable(
  stub: Context,
  queues: readonly WorkQueue[],
  index: number,
): RwqIndirectionTable {
  const length = SIZES[index % SIZES.length]!;
  const entries = Array.from({ length }, (_, i) => queues[(index + i) % QUEUES]!);
  return new RwqIndirectionTable(stub, entries);
}

/** Makes a queue pair of the table. Half of them are disposed; the others go with the table. */
function useTable(
  run: Run,
  pd: ProtectionDomain,
  rwqIndTbl: RwqIndirectionTable,
  rxHashConf: RxHash,
): void {
  const qp = new QueuePair(pd, { type: QpType.RAW_PACKET, rwqIndTbl, rxHashConf });
  qp.modify({ qpState: QpState.INIT, portNum: ETHERNET_PORT });
  qp.modify({ qpState: QpState.RTR });
  run.count("rssQueuePairs");
  if (rwqIndTbl.tableNumber % 2 === 0) qp.close();
}
