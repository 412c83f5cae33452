/** Datagrams and their replies: a server answers by ReplyPath. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  MemoryRegion,
  type MemorySlice,
  QpType,
  QueuePair,
  RecvRequests,
  ReplyPath,
  SendRequests,
  WorkCompletions,
} from "../../../mod.ts";
import { isMessage, SIZE, writeMessage } from "./ledger.ts";
import { paced, pause } from "./pace.ts";
import { PATIENCE_MS, PORT, QKEY, type Run } from "./run.ts";

const LIST = 32;
const GRH = 40;
/** Room for a message and its GRH. */
const SLOT = 128;
/** Empty polls before others have their turn. */
const SPIN = 16;
/** The queue pairs are made anew after so many lists. */
const LIFETIME = 1000;

/** Sends requests and replies until the run is over. */
export async function exchangeDatagrams(run: Run): Promise<void> {
  const handles = run.gids.map(({ gid: dgid, gidIndex: sgidIndex }) =>
    new AddressHandle(run.pd, { portNum: PORT, grh: { dgid, sgidIndex, hopLimit: 64 } })
  );
  let exchange = new Exchange(run, handles);
  let rounds = 0;
  await paced(run.rates.datagrams, 2 * LIST, run.stop, async () => {
    const isWhole = await exchange.round();
    if (isWhole && ++rounds % LIFETIME !== 0) return;
    exchange.dispose();
    exchange = new Exchange(run, handles);
  });
  exchange.dispose();
  for (const ah of [...handles, ...run.fresh.splice(0)]) ah.close();
}

/** A client and a server. */
class Exchange {
  readonly #run: Run;
  readonly #handles: readonly AddressHandle[];
  readonly #stack = new DisposableStack();
  readonly #clientCq: CompletionQueue;
  readonly #serverCq: CompletionQueue;
  readonly #client: QueuePair;
  readonly #server: QueuePair;
  readonly #path: ReplyPath;
  readonly #mr: MemoryRegion;
  readonly #words: Uint32Array;
  readonly #slices: MemorySlice[] = [];
  readonly #requests = new SendRequests({ capacity: LIST });
  readonly #replies = new SendRequests({ capacity: LIST });
  readonly #clientRecvs = new RecvRequests({ capacity: LIST });
  readonly #serverRecvs = new RecvRequests({ capacity: LIST });
  readonly #batch = new WorkCompletions(LIST);
  /** Numbers of the requests and replies of a round, by their place. */
  readonly #sent: number[] = [];
  readonly #replied: number[] = [];

  constructor(run: Run, handles: readonly AddressHandle[]) {
    this.#run = run;
    this.#handles = handles;
    const stack = this.#stack;
    const queue = (): CompletionQueue =>
      stack.use(new CompletionQueue(run.context, { cqe: 2 * LIST, channel: null }));
    [this.#clientCq, this.#serverCq] = [queue(), queue()];
    this.#client = stack.use(makeQp(run, this.#clientCq));
    this.#server = stack.use(makeQp(run, this.#serverCq));
    this.#path = stack.use(new ReplyPath(run.pd, { port: PORT, maxPeers: LIST }));
    this.#mr = stack.use(new MemoryRegion(run.pd, 3 * LIST * SLOT, AccessFlags.LOCAL_WRITE));
    const bytes = this.#mr.bytes();
    this.#words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    this.#prepare();
    run.count("queuePairs", 2);
  }

  #prepare(): void {
    const mr = this.#mr;
    const remote = { remoteQpn: this.#server.qpNum, remoteQkey: QKEY };
    for (let i = 0; i < 3 * LIST; i++) this.#slices.push(mr.slice(i * SLOT + GRH, SIZE));
    for (let i = 0; i < LIST; i++) {
      const ah = this.#handles[i % this.#handles.length]!;
      const [ofServer, ofClient] = [(LIST + i) * SLOT, (2 * LIST + i) * SLOT];
      this.#requests.set(i, { wrId: i, sge: this.#slices[i]!, ah, ...remote });
      this.#replies.set(i, { wrId: i, sge: this.#slices[LIST + i]! });
      this.#serverRecvs.set(i, { wrId: ofServer, sge: mr.slice(ofServer, SLOT) });
      this.#clientRecvs.set(i, { wrId: ofClient, sge: mr.slice(ofClient, SLOT) });
    }
  }

  /** Sends a list of requests and waits for the replies. The result is false if not all came. */
  async round(): Promise<boolean> {
    const { ledger } = this.#run;
    this.#client.postRecv(this.#clientRecvs);
    this.#server.postRecv(this.#serverRecvs);
    for (let i = 0; i < LIST; i++) {
      const number = this.#sent[i] = ledger.send();
      writeMessage(this.#words, (i * SLOT + GRH) / 4, number);
    }
    this.#replied.length = 0;
    const used = this.#useFresh();
    this.#client.postSend(this.#requests, LIST);
    const isWhole = await this.#await(4 * LIST);
    used.forEach((ah) => ah.close());
    if (!isWhole) [...this.#sent, ...this.#replied].forEach((number) => ledger.giveUp(number));
    return isWhole;
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
      const done = this.#serve() + this.#receive();
      wanted -= done;
      empty = done > 0 ? 0 : empty + 1;
      if (empty < SPIN) continue;
      if (performance.now() > end) return false;
      await pause(1);
    }
    return true;
  }

  /** The server's side: counts requests, and answers them in one list. */
  #serve(): number {
    const batch = this.#batch;
    const count = this.#serverCq.pollInto(batch);
    let replies = 0;
    for (let i = 0; i < count; i++) {
      if (batch.status(i) !== 0) {
        this.#noteError(i, this.#replied);
      } else if (!batch.isSend(i)) {
        this.#reply(i, replies++);
      }
    }
    if (replies > 0) this.#server.postSend(this.#replies, replies);
    return count;
  }

  #reply(index: number, place: number): void {
    const batch = this.#batch;
    const offset = batch.wrIdLow(index);
    this.#deliver(offset, batch.byteLen(index));
    this.#noteArrival(index, offset);
    const number = this.#run.ledger.send();
    this.#replied.push(number);
    writeMessage(this.#words, (offset + GRH) / 4, number);
    this.#replies.setWrId(place, this.#replied.length - 1);
    this.#replies.setSge(place, this.#slices[offset / SLOT]!);
    this.#path.setAh(this.#replies, place, batch, index, this.#mr, offset);
    this.#replies.setRemote(place, batch.srcQp(index), QKEY);
  }

  /** The client's side. */
  #receive(): number {
    const batch = this.#batch;
    const count = this.#clientCq.pollInto(batch);
    for (let i = 0; i < count; i++) {
      if (batch.status(i) !== 0) this.#noteError(i, this.#sent);
      else if (!batch.isSend(i)) this.#deliver(batch.wrIdLow(i), batch.byteLen(i));
    }
    return count;
  }

  #deliver(offset: number, byteLen: number): void {
    const at = (offset + GRH) / 4;
    const isAsSent = byteLen === GRH + SIZE && isMessage(this.#words, at);
    this.#run.ledger.deliver(this.#words[at]!, isAsSent);
  }

  #noteError(index: number, numbers: readonly number[]): void {
    if (this.#batch.isSend(index)) this.#run.ledger.refuse(numbers[this.#batch.wrIdLow(index)]!);
    else this.#run.fail(`receive of a datagram: ${this.#batch.at(index)}`);
  }

  /** Keeps the first datagrams from each address. */
  #noteArrival(index: number, offset: number): void {
    const { arrivals, gids } = this.#run;
    if (arrivals.length === gids.length) return;
    arrivals.push({ wc: this.#batch.at(index), grh: this.#mr.grhAt(offset) });
  }

  dispose(): void {
    this.#stack.dispose();
  }
}

/** A datagram queue pair, ready to send and receive. */
export function makeQp(run: Pick<Run, "pd">, cq: CompletionQueue): QueuePair {
  const cap = { maxSendWr: LIST, maxRecvWr: LIST };
  const qp = new QueuePair(run.pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  return qp;
}
