/** Sends and writes of reliable connections, whose completions are awaited, and queue pairs that only come and go. */

import { RecvRequestList, SendRequestList, type WorkCompletion, WrOpcode } from "../../../mod.ts";
import { connectedPair, udPair, waitFor } from "../../../tests/device/setup.ts";
import { isMessage, SIZE, WORDS, wordsOf, writeMessage } from "./ledger.ts";
import { paced, type Run } from "./run.ts";

/** Sends of a list, and as many writes. */
const HALF = 16;
const LIST = 2 * HALF;
/** The connection is made anew after so many lists. */
const LIFETIME = 50;

/** Sends and writes until the run is over. */
export async function exchangeConnected(run: Run, rate: number): Promise<void> {
  let connection = new Connection(run);
  let rounds = 0;
  await paced(rate, LIST, run.stop, async () => {
    const isWhole = await connection.round();
    if (isWhole && ++rounds % LIFETIME !== 0) return;
    connection.close();
    connection = new Connection(run);
  });
  connection.close();
}

/** Two ends. The left one sends and writes; the right one has room for what is written, and then for what is sent. */
class Connection {
  readonly #run: Run;
  readonly #pair = connectedPair();
  readonly #from = wordsOf(this.#pair.left.mr);
  readonly #to = wordsOf(this.#pair.right.mr);
  readonly #requests = new SendRequestList({ capacity: LIST });
  readonly #recvs = new RecvRequestList({ capacity: HALF });
  readonly #numbers: number[] = [];

  constructor(run: Run) {
    this.#run = run;
    const { left, right, remote } = this.#pair;
    for (let i = 0; i < LIST; i++) {
      const request = { wrId: i, sge: left.mr.slice(i * SIZE, SIZE) };
      const remoteAddr = remote.remoteAddr + BigInt(i * SIZE);
      const { RDMA_WRITE } = WrOpcode;
      const write = { ...request, opcode: RDMA_WRITE, ...remote, remoteAddr };
      this.#requests.set(i, i < HALF ? request : write);
    }
    for (let i = 0; i < HALF; i++) {
      this.#recvs.set(i, { wrId: LIST + i, sge: right.mr.slice((LIST + i) * SIZE, SIZE) });
    }
    run.count("queuePairs", 2);
  }

  /** Sends a list. The result is false if a request failed or did not complete. */
  async round(): Promise<boolean> {
    const { left, right } = this.#pair;
    right.qp.postRecv(this.#recvs);
    for (let i = 0; i < LIST; i++) {
      this.#numbers[i] = this.#run.ledger.send();
      writeMessage(this.#from, i * WORDS, this.#numbers[i]!);
    }
    left.qp.postSend(this.#requests, 0, LIST);
    const [sent, received] = await Promise.allSettled([
      waitFor(left.cq, LIST).then((all) => all.map((wc) => this.#complete(wc)).every(Boolean)),
      waitFor(right.cq, HALF).then((all) => all.map((wc) => this.#deliver(wc)).every(Boolean)),
    ]);
    for (const number of this.#numbers) this.#run.ledger.giveUp(number);
    return [sent, received].every((end) => end.status === "fulfilled" && end.value);
  }

  /** A write is delivered when it completes: then the memory of the peer has its bytes. */
  #complete(wc: WorkCompletion): boolean {
    const place = Number(wc.wrId);
    if (!wc.ok) this.#run.ledger.refuse(this.#numbers[place]!);
    return place < HALF ? wc.ok : this.#deliver(wc);
  }

  #deliver({ ok, wrId }: WorkCompletion): boolean {
    const place = Number(wrId);
    if (!ok) return false;
    this.#run.ledger.deliver(this.#to[place * WORDS]!, isMessage(this.#to, place * WORDS));
    this.#run.count(place < LIST ? "writes" : "sends");
    return true;
  }

  close(): void {
    this.#pair[Symbol.dispose]();
  }
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
