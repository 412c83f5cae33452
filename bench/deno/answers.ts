/**
 * A loop that answers datagrams: polls them, finds the handles of their senders, posts the answers, polls their
 * completions. ../c/answers.h has the same peers.
 */

import {
  CompletionQueue,
  type Context,
  Grh,
  type MemoryRegion,
  ReplyPath,
  WorkCompletions,
} from "../../mod.ts";
import { type Plan, timeOfSteps } from "./clock.ts";
import { datagrams, LIST, PORT, QKEY, RECEIVES } from "./datagrams.ts";
import { readLow } from "./posting.ts";
import { grhs } from "./replies.ts";

const SLOTS = 1 << 17;

function xorshift(): () => number {
  let state = 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>>= 0;
  };
}

interface Answering {
  readonly path: ReplyPath;
  readonly mr: MemoryRegion;
  readonly receives: CompletionQueue;
}

let made: Answering | undefined;

function answering(context: Context, peers: number): Answering {
  if (made !== undefined) return made;
  const { pd } = datagrams(context);
  const path = new ReplyPath(pd, { port: PORT, maxPeers: Math.max(peers, LIST) });
  const random = xorshift();
  const mr = grhs(pd, context.queryGid(PORT, 0), SLOTS, () => random() % peers);
  const init = { cqe: 2 * LIST, channel: null, compVector: RECEIVES };
  return made = { path, mr, receives: new CompletionQueue(context, init) };
}

let at = 0;

/** Answers `size` datagrams at a time; for one. A process knows so many peers, each as likely as the others. */
export function answer(context: Context, plan: Plan, size: number, peers: number): number {
  const { path, mr, receives } = answering(context, peers);
  const { qp, cq, sends } = datagrams(context);
  const batch = new WorkCompletions(size);
  const sent = new WorkCompletions(size);
  meetPeers(receives, { path, mr });
  return timeOfSteps(plan, size, () => {
    const n = receives.pollInto(batch);
    for (let i = 0; i < n; i++) {
      if (batch.status(i) !== 0) throw batch.at(i).check();
      path.setAh(sends, i, batch, i, mr, at * Grh.SIZE);
      sends.setRemote(i, batch.srcQp(i), QKEY);
      at = (at + 1) & (SLOTS - 1);
    }
    qp.postSend(sends, 0, n);
    return readLow(sent, cq.pollInto(sent));
  });
}

/** Makes the handles of all peers that the path has room for: the rows are of known peers. */
function meetPeers(receives: CompletionQueue, { path, mr }: Pick<Answering, "path" | "mr">): void {
  if (at > 0 || path.size > 0) return;
  const batch = new WorkCompletions(1);
  receives.pollInto(batch);
  for (let i = 0; i < SLOTS && path.size < path.maxPeers; i++) {
    path.toAt(batch, 0, mr, i * Grh.SIZE);
  }
}
