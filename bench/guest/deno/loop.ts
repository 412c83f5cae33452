/** Datagrams that a queue pair sends to itself. See ../c/loop.h. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  type QueuePair,
  RecvRequestList,
  SendRequestList,
  WorkCompletions,
} from "../../../mod.ts";
import { middlePart, type Plan, wholeLists } from "../../deno/clock.ts";
import { createQp, LIST, PORT, QKEY, SIZE } from "../../deno/datagrams.ts";
import { losses, Patience, SLOT } from "./queues.ts";

class Loop {
  readonly #cq: CompletionQueue;
  readonly #qp: QueuePair;
  readonly #sends = new SendRequestList({ capacity: LIST });
  readonly #recvs = new RecvRequestList({ capacity: LIST });
  readonly #batch = new WorkCompletions(2 * LIST);
  readonly #patience = new Patience();
  /** Receives without a message. */
  #posted = 0;

  constructor(context: Context) {
    const pd = new ProtectionDomain(context);
    const cq = this.#cq = new CompletionQueue(context, { cqe: 2 * LIST, channel: null });
    const qp = this.#qp = createQp(pd, cq, cq);
    const mr = new MemoryRegion(pd, 2 * LIST * SLOT, AccessFlags.LOCAL_WRITE);
    const dgid = context.queryGid(PORT, 0);
    const ah = new AddressHandle(pd, { portNum: PORT, grh: { dgid, sgidIndex: 0, hopLimit: 64 } });
    for (let i = 0; i < LIST; i++) {
      const sge = mr.slice(i * SLOT, SIZE);
      this.#sends.set(i, { wrId: i, sge, ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
      this.#recvs.set(i, { wrId: LIST + i, sge: mr.slice((LIST + i) * SLOT, SLOT) });
    }
  }

  /** Sends so many messages and polls until the completions of all sends and receives are there. */
  exchange(count: number): void {
    if (this.#posted < count) {
      this.#qp.postRecv(this.#recvs, 0, count - this.#posted);
      this.#posted = count;
    }
    this.#qp.postSend(this.#sends, 0, count);
    const batch = this.#batch;
    this.#patience.start();
    let polled = 0;
    let n: number;
    do {
      n = this.#cq.pollInto(batch);
      for (let i = 0; i < n; i++) if (batch.status(i) !== 0) throw batch.at(i).check();
      polled += n;
    } while (polled < 2 * count && (n > 0 || !this.#patience.isLate()));
    losses.count += 2 * count - polled;
    // sends complete always
    this.#posted -= polled - count;
  }
}

let made: Loop | undefined;

/** Messages in lists; for one message. */
export function messages(context: Context, plan: Plan, list: number): Promise<number> {
  const loop = made ??= new Loop(context);
  return middlePart(wholeLists(plan, list), (count) => {
    for (let done = 0; done < count; done += list) loop.exchange(list);
  });
}
