/** Queue pairs that are made, made ready and closed, each two on a device that is opened for them. */

import { connectedPair, udPair } from "../../../tests/device/setup.ts";
import { paced, type Run } from "./run.ts";

/** Makes two datagram queue pairs or a connection at a time; receives are posted when they are closed. */
export async function makeQueuePairs(run: Run, rate: number): Promise<void> {
  let made = 0;
  await paced(rate, 1, run.stop, () => {
    using pair = made++ % 3 === 0 ? connectedPair() : udPair();
    for (const { qp, mr } of [pair.left, pair.right]) qp.postRecv({ sge: mr.slice(0, 1024) });
    run.count("queuePairs", 2);
  });
}
