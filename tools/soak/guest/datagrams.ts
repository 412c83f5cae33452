/** Datagrams and their replies: a server answers by ReplyPath. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  MemoryRegion,
  type MemorySlice,
  QpType,
  QueuePair,
  RecvRequestList,
  ReplyPath,
  SendRequestList,
  WorkCompletions,
} from "../../../mod.ts";
import { isMessage, SIZE, wordsOf, writeMessage } from "./ledger.ts";
import { attrOf, paced, PATIENCE_MS, pause, PORT, QKEY, type Run } from "./run.ts";

const LIST = 32;
const GRH = 40;
/** Room for a message and its GRH. */
const SLOT = 128;
/** Empty polls before others have their turn. */
const SPIN = 16;
/** The queue pairs are made anew after so many lists. */
const LIFETIME = 1000;

/** Sends requests and replies until the run is over. */
export async function exchangeDatagrams(run: Run, rate: number): Promise<void> {
  const handles = run.gids.map((_, i) => new AddressHandle(run.pd, attrOf(run, i)));
  let exchange = new Exchange(run, handles);
  let rounds = 0;
  await paced(rate, 2 * LIST, run.stop, async () => {
    const isWhole = await exchange.round();
    if (isWhole && ++rounds % LIFETIME !== 0) return;
    exchange.dispose();
    exchange = new Exchange(run, handles);
  });
  exchange.dispose();
  for (const ah of [...handles, ...run.fresh.splice(0)]) ah.close();
}

/** A client and a server. They share a completion queue and memory: requests, what the server gets, and the client. */
class Exchange {
  readonly #run: Run;
  readonly #handles: readonly AddressHandle[];
  readonly #stack = new DisposableStack();
  readonly #cq: CompletionQueue;
  readonly #client: QueuePair;
  readonly #server: QueuePair;
  readonly #path: ReplyPath;
  readonly #mr: MemoryRegion;
  readonly #words: Uint32Array;
  readonly #slices: readonly MemorySlice[];
  readonly #requests = new SendRequestList({ capacity: LIST });
  readonly #replies = new SendRequestList({ capacity: LIST });
  readonly #clientRecvs = new RecvRequestList({ capacity: LIST });
  readonly #serverRecvs = new RecvRequestList({ capacity: LIST });
  readonly #batch = new WorkCompletions(LIST);
  /** Numbers of the requests and then of the replies of a round. Sends have their place here for an identifier. */
  readonly #numbers: number[] = [];

  constructor(run: Run, handles: readonly AddressHandle[]) {
    this.#run = run;
    this.#handles = handles;
    const stack = this.#stack;
    this.#cq = stack.use(new CompletionQueue(run.context, { cqe: 4 * LIST, channel: null }));
    this.#client = stack.use(makeQp(run, this.#cq));
    this.#server = stack.use(makeQp(run, this.#cq));
    this.#path = stack.use(new ReplyPath(run.pd, { port: PORT, maxPeers: LIST }));
    const mr = this.#mr = stack.use(
      new MemoryRegion(run.pd, 3 * LIST * SLOT, AccessFlags.LOCAL_WRITE),
    );
    this.#words = wordsOf(mr);
    this.#slices = Array.from({ length: 2 * LIST }, (_, i) => mr.slice(i * SLOT + GRH, SIZE));
    const remote = { remoteQpn: this.#server.qpNum, remoteQkey: QKEY };
    for (let i = 0; i < LIST; i++) {
      const ah = handles[i % handles.length]!;
      const [ofServer, ofClient] = [(LIST + i) * SLOT, (2 * LIST + i) * SLOT];
      this.#requests.set(i, { wrId: i, sge: this.#slices[i]!, ah, ...remote });
      this.#replies.set(i, { wrId: i, sge: this.#slices[LIST + i]! });
      this.#serverRecvs.set(i, { wrId: ofServer, sge: mr.slice(ofServer, SLOT) });
      this.#clientRecvs.set(i, { wrId: ofClient, sge: mr.slice(ofClient, SLOT) });
    }
  }

  /** Sends a list of requests and waits for the replies. The result is false if not all came. */
  async round(): Promise<boolean> {
    this.#client.postRecv(this.#clientRecvs);
    this.#server.postRecv(this.#serverRecvs);
    this.#numbers.length = 0;
    for (let i = 0; i < LIST; i++) this.#write(i * SLOT);
    const used = this.#useFresh();
    this.#client.postSend(this.#requests, 0, LIST);
    const isWhole = await this.#await(4 * LIST);
    used.forEach((ah) => ah.close());
    if (!isWhole) this.#numbers.forEach((number) => this.#run.ledger.giveUp(number));
    return isWhole;
  }

  /** Writes the next message into a slot. */
  #write(offset: number): void {
    const number = this.#run.ledger.send();
    this.#numbers.push(number);
    writeMessage(this.#words, (offset + GRH) / 4, number);
  }

  /** Fresh handles replace the usual ones for this list. */
  #useFresh(): AddressHandle[] {
    const used = this.#run.fresh.splice(0, LIST);
    for (let i = 0; i < LIST; i++) {
      this.#requests.setAh(i, used[i] ?? this.#handles[i % this.#handles.length]!);
    }
    this.#run.count("ahsUsed", used.length);
    return used;
  }

  /** Polls until so many completions are there. */
  async #await(wanted: number): Promise<boolean> {
    const end = performance.now() + PATIENCE_MS;
    for (let empty = 0; wanted > 0;) {
      const done = this.#poll();
      wanted -= done;
      empty = done > 0 ? 0 : empty + 1;
      if (empty < SPIN) continue;
      if (performance.now() > end) return false;
      await pause(1);
    }
    return true;
  }

  /** Counts what has come, and answers the requests among it in one list. */
  #poll(): number {
    const batch = this.#batch;
    const count = this.#cq.pollInto(batch);
    let replies = 0;
    for (let i = 0; i < count; i++) {
      if (batch.status(i) !== 0) this.#noteError(i);
      else if (!batch.isSend(i) && this.#deliver(i)) this.#reply(i, replies++);
    }
    if (replies > 0) this.#server.postSend(this.#replies, 0, replies);
    return count;
  }

  /** Counts a message. The result is true if it is a request. */
  #deliver(index: number): boolean {
    const offset = this.#batch.wrIdLow(index);
    const at = (offset + GRH) / 4;
    const isAsSent = this.#batch.byteLen(index) === GRH + SIZE && isMessage(this.#words, at);
    this.#run.ledger.deliver(this.#words[at]!, isAsSent);
    this.#run.count("datagrams");
    return offset < 2 * LIST * SLOT;
  }

  #reply(index: number, place: number): void {
    const batch = this.#batch;
    const offset = batch.wrIdLow(index);
    this.#noteArrival(index, offset);
    this.#replies.setWrId(place, this.#numbers.length);
    this.#write(offset);
    this.#replies.setSge(place, this.#slices[offset / SLOT]!);
    this.#path.setAh(this.#replies, place, batch, index, this.#mr, offset);
    this.#replies.setRemote(place, batch.srcQp(index), QKEY);
  }

  #noteError(index: number): void {
    const batch = this.#batch;
    if (batch.isSend(index)) this.#run.ledger.refuse(this.#numbers[batch.wrIdLow(index)]!);
    else this.#run.fail(`receive of a datagram: ${batch.at(index)}`);
  }

  /** Keeps the first datagrams from each address. */
  #noteArrival(index: number, offset: number): void {
    const { arrivals, gids } = this.#run;
    if (arrivals.length === gids.length) return;
    arrivals.push([this.#batch.at(index), this.#mr.grhAt(offset)]);
  }

  dispose(): void {
    this.#stack.dispose();
  }
}

/** A datagram queue pair, ready to send and receive. */
function makeQp({ pd }: Run, cq: CompletionQueue): QueuePair {
  const cap = { maxSendWr: LIST, maxRecvWr: LIST };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  return qp;
}
