/** A loop that answers datagrams of known peers. ../c/answers.h has the same peers. */

import {
  AccessFlags,
  CompletionQueue,
  Grh,
  MemoryRegion,
  ReplyPath,
  WorkCompletionList,
} from "../../mod.ts";
import { type Plan, timeOfSteps } from "./clock.ts";
import { type End, grhFrom, LIST, PORT, QKEY, RECEIVES } from "./end.ts";

const PEERS = 32;
/** Headers in a ring, in an order without a pattern: a power of two. */
const HEADERS = 1 << 17;

interface Answering {
  readonly path: ReplyPath;
  readonly mr: MemoryRegion;
  readonly receives: CompletionQueue;
}

let made: Answering | undefined;

function answering({ context, pd }: End): Answering {
  if (made !== undefined) return made;
  const mr = new MemoryRegion(pd, HEADERS * Grh.SIZE, AccessFlags.LOCAL_WRITE);
  const [bytes, gid] = [mr.bytes, context.queryGid(PORT, 0).bytes];
  for (let i = 0; i < HEADERS; i++) {
    bytes.set(grhFrom(gid, Math.imul(i, 0x9e3779b1) >>> 27), i * Grh.SIZE);
  }
  const path = new ReplyPath(pd, { portNum: PORT, maxPeers: PEERS });
  const init = { cqe: 2 * LIST, channel: null, compVector: RECEIVES };
  return made = { path, mr, receives: new CompletionQueue(context, init) };
}

let at = 0;

/** Answers `size` datagrams at a time: polls them, finds their senders, posts, and polls completions. For one. */
export function answer(end: End, plan: Plan, size: number): number {
  const { path, mr, receives } = answering(end);
  const { qp, sendCq, sends } = end;
  const [batch, sent] = [new WorkCompletionList(size), new WorkCompletionList(size)];
  return timeOfSteps(plan, size, () => {
    const n = receives.pollInto(batch);
    for (let i = 0; i < n; i++) {
      if (batch.status(i) !== 0) throw batch.at(i).check();
      sends.setAh(i, path.toAt(batch, i, mr, at * Grh.SIZE));
      sends.setRemote(i, batch.srcQp(i), QKEY);
      at = (at + 1) & (HEADERS - 1);
    }
    qp.postSend(sends, 0, n);
    end.drain(sendCq, sent);
  });
}
