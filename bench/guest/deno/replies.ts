/** A server that answers 32 peers, and those peers. See ../c/replies.h. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  type GidEntry,
  MemoryRegion,
  ProtectionDomain,
  type QueuePair,
  RecvRequestList,
  ReplyPath,
  SendRequestList,
  WorkCompletions,
} from "../../../mod.ts";
import { middlePart, type Plan, wholeLists } from "../../deno/clock.ts";
import { createQp, LIST, PORT, QKEY, SIZE } from "../../deno/datagrams.ts";
import { drain, ownGids, Patience, SLOT } from "./queues.ts";

class Replies {
  readonly #recvCq: CompletionQueue;
  readonly #sendCq: CompletionQueue;
  readonly #clientCq: CompletionQueue;
  readonly #server: QueuePair;
  readonly #client: QueuePair;
  readonly #mr: MemoryRegion;
  readonly #path: ReplyPath;
  readonly #requests = new SendRequestList({ capacity: LIST });
  readonly #answers = new SendRequestList({ capacity: LIST });
  readonly #serverRecvs = new RecvRequestList({ capacity: LIST });
  readonly #clientRecvs = new RecvRequestList({ capacity: LIST });
  readonly #received = new WorkCompletions(LIST);
  readonly #drained = new WorkCompletions(2 * LIST);
  readonly #patience = new Patience();

  constructor(context: Context, peers: readonly GidEntry[]) {
    const pd = new ProtectionDomain(context);
    const queue = (cqe: number): CompletionQueue =>
      new CompletionQueue(context, { cqe, channel: null });
    this.#recvCq = queue(LIST);
    this.#sendCq = queue(LIST);
    this.#clientCq = queue(2 * LIST);
    this.#server = createQp(pd, this.#sendCq, this.#recvCq);
    this.#client = createQp(pd, this.#clientCq, this.#clientCq);
    this.#path = new ReplyPath(pd, { port: PORT });
    const mr = this.#mr = new MemoryRegion(pd, 4 * LIST * SLOT, AccessFlags.LOCAL_WRITE);
    const remoteQpn = this.#server.qpNum;
    const dgid = peers[0]!.gid;
    for (let i = 0; i < LIST; i++) {
      const grh = { dgid, sgidIndex: peers[i % peers.length]!.gidIndex, hopLimit: 64 };
      const ah = new AddressHandle(pd, { portNum: PORT, grh });
      const sge = mr.slice(i * SLOT, SIZE);
      this.#requests.set(i, { wrId: i, sge, ah, remoteQpn, remoteQkey: QKEY });
      this.#answers.set(i, { wrId: i, sge: mr.slice((3 * LIST + i) * SLOT, SIZE) });
      const [ofServer, ofClient] = [(LIST + i) * SLOT, (2 * LIST + i) * SLOT];
      this.#serverRecvs.set(i, { wrId: ofServer, sge: mr.slice(ofServer, SLOT) });
      this.#clientRecvs.set(i, { wrId: ofClient, sge: mr.slice(ofClient, SLOT) });
    }
  }

  /** So many requests are sent, and all are answered. */
  round(count: number): void {
    this.#client.postRecv(this.#clientRecvs, 0, count);
    this.#server.postRecv(this.#serverRecvs, 0, count);
    this.#client.postSend(this.#requests, 0, count);
    this.#patience.start();
    for (let answered = 0; answered < count;) {
      const n = this.#answer();
      answered += n;
      if (n === 0 && this.#patience.isLate()) throw new Error("Cannot measure: a request is lost");
    }
    if (drain(this.#clientCq, this.#drained, 2 * count) < 2 * count) {
      throw new Error("Cannot measure: a reply is lost");
    }
  }

  /** Answers what a poll brings, in one list. */
  #answer(): number {
    const batch = this.#received;
    const n = this.#recvCq.pollInto(batch);
    if (n === 0) return 0;
    for (let i = 0; i < n; i++) {
      if (batch.status(i) !== 0) throw batch.at(i).check();
      this.#path.setAh(this.#answers, i, batch, i, this.#mr, batch.wrIdLow(i));
      this.#answers.setRemote(i, batch.srcQp(i), QKEY);
    }
    this.#server.postSend(this.#answers, 0, n);
    drain(this.#sendCq, this.#drained, n);
    return n;
  }
}

const made = new Map<number, Replies>();

function repliesOf(context: Context, peers: number): Replies {
  const known = made.get(peers);
  if (known !== undefined) return known;
  const replies = new Replies(context, ownGids(context, peers));
  made.set(peers, replies);
  return replies;
}

/** Replies to 32 peers, in lists; for one message. */
export function replyLoop(context: Context, plan: Plan): Promise<number> {
  const replies = repliesOf(context, LIST);
  return middlePart(wholeLists(plan, LIST), (count) => {
    for (let done = 0; done < count; done += LIST) replies.round(LIST);
  });
}

/** An echo: one request and its answer. */
export function echo(context: Context, plan: Plan): Promise<number> {
  const replies = repliesOf(context, 1);
  return middlePart(plan, (count) => {
    for (let done = 0; done < count; done++) replies.round(1);
  });
}
