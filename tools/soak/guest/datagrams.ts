/** Datagrams and their replies: a server answers by ReplyPath. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  MemoryRegion,
  QpType,
  QueuePair,
  RecvRequestList,
  ReplyPath,
  SendRequestList,
  WorkCompletions,
} from "../../../mod.ts";
import { isMessage, SIZE, wordsOf, writeMessage } from "./ledger.ts";
import { attrOf, inRounds, PATIENCE_MS, pause, PORT, QKEY, type Rounds, type Run } from "./run.ts";

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
  await inRounds(run, rate, 2 * LIST, LIFETIME, () => exchange(run, handles));
  for (const ah of [...handles, ...run.fresh.splice(0)]) ah.close();
}

/** A client and a server. They share a completion queue and memory: requests, what the server gets, and the client. */
function exchange(run: Run, handles: readonly AddressHandle[]): Rounds {
  const { ledger, arrivals, gids } = run;
  const stack = new DisposableStack();
  const cq = stack.use(new CompletionQueue(run.context, { cqe: 4 * LIST, channel: null }));
  const client = stack.use(makeQp(run, cq));
  const server = stack.use(makeQp(run, cq));
  const path = stack.use(new ReplyPath(run.pd, { port: PORT, maxPeers: LIST }));
  const mr = stack.use(new MemoryRegion(run.pd, 3 * LIST * SLOT, AccessFlags.LOCAL_WRITE));
  const words = wordsOf(mr);
  const slices = Array.from({ length: 2 * LIST }, (_, i) => mr.slice(i * SLOT + GRH, SIZE));
  const requests = new SendRequestList({ capacity: LIST });
  const replies = new SendRequestList({ capacity: LIST });
  const clientRecvs = new RecvRequestList({ capacity: LIST });
  const serverRecvs = new RecvRequestList({ capacity: LIST });
  const batch = new WorkCompletions(LIST);
  /** Numbers of the requests and then of the replies of a round. Sends have their place here for an identifier. */
  const numbers: number[] = [];
  const remote = { remoteQpn: server.qpNum, remoteQkey: QKEY };
  for (let i = 0; i < LIST; i++) {
    const ah = handles[i % handles.length]!;
    const [ofServer, ofClient] = [(LIST + i) * SLOT, (2 * LIST + i) * SLOT];
    requests.set(i, { wrId: i, sge: slices[i]!, ah, ...remote });
    replies.set(i, { wrId: i, sge: slices[LIST + i]! });
    serverRecvs.set(i, { wrId: ofServer, sge: mr.slice(ofServer, SLOT) });
    clientRecvs.set(i, { wrId: ofClient, sge: mr.slice(ofClient, SLOT) });
  }

  /** Sends a list of requests and waits for the replies. */
  async function round(): Promise<boolean> {
    client.postRecv(clientRecvs);
    server.postRecv(serverRecvs);
    numbers.length = 0;
    for (let i = 0; i < LIST; i++) write(i * SLOT);
    // Fresh handles replace the usual ones for this list.
    const used = run.fresh.splice(0, LIST);
    for (let i = 0; i < LIST; i++) requests.setAh(i, used[i] ?? handles[i % handles.length]!);
    run.count("ahsUsed", used.length);
    client.postSend(requests, 0, LIST);
    const isWhole = await isDone(4 * LIST);
    used.forEach((ah) => ah.close());
    if (!isWhole) numbers.forEach((number) => ledger.giveUp(number));
    return isWhole;
  }

  /** Writes the next message into a slot. */
  function write(offset: number): void {
    const number = ledger.send();
    numbers.push(number);
    writeMessage(words, (offset + GRH) / 4, number);
  }

  /** Polls until so many completions are there. */
  async function isDone(wanted: number): Promise<boolean> {
    const end = performance.now() + PATIENCE_MS;
    for (let empty = 0; wanted > 0;) {
      const done = poll();
      wanted -= done;
      empty = done > 0 ? 0 : empty + 1;
      if (empty < SPIN) continue;
      if (performance.now() > end) return false;
      await pause(1);
    }
    return true;
  }

  /** Counts what has come, and answers the requests among it in one list. */
  function poll(): number {
    const count = cq.pollInto(batch);
    let place = 0;
    for (let i = 0; i < count; i++) {
      if (batch.status(i) !== 0) noteError(i);
      else if (!batch.isSend(i) && deliver(i)) reply(i, place++);
    }
    if (place > 0) server.postSend(replies, 0, place);
    return count;
  }

  /** Counts a message. The result is true if it is a request. */
  function deliver(index: number): boolean {
    const offset = batch.wrIdLow(index);
    const at = (offset + GRH) / 4;
    const isAsSent = batch.byteLen(index) === GRH + SIZE && isMessage(words, at);
    ledger.deliver(words[at]!, isAsSent);
    run.count("datagrams");
    return offset < 2 * LIST * SLOT;
  }

  function reply(index: number, place: number): void {
    const offset = batch.wrIdLow(index);
    // The first datagrams from each address.
    if (arrivals.length < gids.length) arrivals.push([batch.at(index), mr.grhAt(offset)]);
    replies.setWrId(place, numbers.length);
    write(offset);
    replies.setSge(place, slices[offset / SLOT]!);
    path.setAh(replies, place, batch, index, mr, offset);
    replies.setRemote(place, batch.srcQp(index), QKEY);
  }

  function noteError(index: number): void {
    if (batch.isSend(index)) ledger.refuse(numbers[batch.wrIdLow(index)]!);
    else run.fail(`receive of a datagram: ${batch.at(index)}`);
  }

  return { round, [Symbol.dispose]: () => stack.dispose() };
}

/** A datagram queue pair, ready to send and receive. */
function makeQp({ pd }: Run, cq: CompletionQueue): QueuePair {
  const cap = { maxSendWr: LIST, maxRecvWr: LIST };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  return qp;
}
