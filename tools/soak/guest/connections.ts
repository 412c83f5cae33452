/** Sends and writes of reliable connections, whose completions are awaited, and queue pairs that only come and go. */

import { RecvRequestList, SendRequestList, type WorkCompletion, WrOpcode } from "../../../mod.ts";
import { connectedPair, udPair, waitFor } from "../../../tests/device/setup.ts";
import { isMessage, SIZE, WORDS, wordsOf, writeMessage } from "./ledger.ts";
import { inRounds, paced, type Rounds, type Run } from "./run.ts";

/** Sends of a list, and as many writes. */
const HALF = 16;
const LIST = 2 * HALF;
/** The connection is made anew after so many lists. */
const LIFETIME = 50;

/** Sends and writes until the run is over. */
export function exchangeConnected(run: Run, rate: number): Promise<void> {
  return inRounds(run, rate, LIST, LIFETIME, () => connect(run));
}

/** Two ends. The left one sends and writes; the right one has room for what is written, and then for what is sent. */
function connect({ ledger, count }: Run): Rounds {
  const pair = connectedPair();
  const { left, right, remote } = pair;
  const [from, to] = [wordsOf(left.mr), wordsOf(right.mr)];
  const requests = new SendRequestList({ capacity: LIST });
  const recvs = new RecvRequestList({ capacity: HALF });
  const numbers: number[] = [];
  for (let i = 0; i < LIST; i++) {
    const request = { wrId: i, sge: left.mr.slice(i * SIZE, SIZE) };
    const remoteAddr = remote.remoteAddr + BigInt(i * SIZE);
    const write = { ...request, opcode: WrOpcode.RDMA_WRITE, ...remote, remoteAddr };
    requests.set(i, i < HALF ? request : write);
  }
  for (let i = 0; i < HALF; i++) {
    recvs.set(i, { wrId: LIST + i, sge: right.mr.slice((LIST + i) * SIZE, SIZE) });
  }
  count("queuePairs", 2);

  /** Sends a list. A request that fails or does not complete breaks the round. */
  async function round(): Promise<boolean> {
    right.qp.postRecv(recvs);
    for (let i = 0; i < LIST; i++) {
      numbers[i] = ledger.send();
      writeMessage(from, i * WORDS, numbers[i]!);
    }
    left.qp.postSend(requests, 0, LIST);
    const [sent, received] = await Promise.allSettled([
      waitFor(left.cq, LIST).then((all) => all.map(complete).every(Boolean)),
      waitFor(right.cq, HALF).then((all) => all.map(deliver).every(Boolean)),
    ]);
    for (const number of numbers) ledger.giveUp(number);
    return [sent, received].every((end) => end.status === "fulfilled" && end.value);
  }

  /** A write is delivered when it completes: then the memory of the peer has its bytes. */
  function complete(wc: WorkCompletion): boolean {
    const place = Number(wc.wrId);
    if (!wc.ok) ledger.refuse(numbers[place]!);
    return place < HALF ? wc.ok : deliver(wc);
  }

  function deliver({ ok, wrId }: WorkCompletion): boolean {
    const place = Number(wrId);
    if (!ok) return false;
    ledger.deliver(to[place * WORDS]!, isMessage(to, place * WORDS));
    count(place < LIST ? "writes" : "sends");
    return true;
  }

  return { round, [Symbol.dispose]: () => pair[Symbol.dispose]() };
}

/** Makes two datagram queue pairs or a connection at a time, each on a device that is opened for it; receives are posted when they are closed. */
export async function makeQueuePairs(run: Run, rate: number): Promise<void> {
  let made = 0;
  await paced(rate, 1, run.stop, () => {
    using pair = made++ % 3 === 0 ? connectedPair() : udPair();
    for (const { qp, mr } of [pair.left, pair.right]) qp.postRecv({ sge: mr.slice(0, 1024) });
    run.count("queuePairs", 2);
  });
}
