/** RWQ indirection tables on the stub HCA, some with queue pairs. */

import { QpState, QpType, QueuePair, WqState } from "../../../mod.ts";
import { Bench, ETHERNET_PORT, hashOverIpv4, startAll } from "../../../tests/device/stub.ts";
import { TABLES_OF_WORK_QUEUE, TABLES_WITH_QUEUE_PAIR } from "../plan.ts";
import { paced, type Run } from "./run.ts";

const QUEUES = 4;
const BURST = 8;
const SIZES = [1, 2, 4, 8, 16];

/** Makes and disposes tables until the run is over. */
export async function makeTables(run: Run, rate: number): Promise<void> {
  using bench = new Bench(QUEUES);
  const queues = [...bench.workQueues];
  startAll(queues);
  const rxHashConf = hashOverIpv4();
  let made = 0;
  await paced(rate, BURST, run.stop, () => {
    for (let i = 0; i < BURST; i++) {
      const length = SIZES[made % SIZES.length]!;
      const entries = Array.from({ length }, (_, i) => queues[(made + i) % QUEUES]!);
      using rwqIndTbl = bench.newTable(entries);
      run.count("tables");
      if (++made % TABLES_WITH_QUEUE_PAIR === 0) {
        const qp = new QueuePair(bench.pd, { type: QpType.RAW_PACKET, rwqIndTbl, rxHashConf });
        qp.modify({ qpState: QpState.INIT, portNum: ETHERNET_PORT });
        qp.modify({ qpState: QpState.RTR });
        run.count("rssQueuePairs");
        // Half of them are disposed; the others go with the table.
        if (made % (2 * TABLES_WITH_QUEUE_PAIR) === 0) qp.close();
      }
      if (made % TABLES_OF_WORK_QUEUE === 0) replace(made / TABLES_OF_WORK_QUEUE % QUEUES);
    }
  });

  /** Tables and queue pairs that still use it go with the work queue. */
  function replace(place: number): void {
    queues[place]!.close();
    queues[place] = bench.newWq();
    queues[place].modify({ wqState: WqState.RDY });
    run.count("workQueues");
  }
}
