/** Requests and completions as objects. */

import { CompletionQueue, type Context } from "../../mod.ts";
import { Clock, consume, type Plan, timeOfSteps } from "./clock.ts";
import { datagrams, LIST, QKEY, SIZE } from "./datagrams.ts";

/** The number of each first completion. Comparing with it reads a wr_id, and makes no bigint as a sum would. */
const ZERO = 0n;

/** A request made, posted and polled for each message. */
export function object(context: Context, plan: Plan): number {
  const { qp, cq, ahs, mr } = datagrams(context);
  const sge = mr.slice(0, SIZE);
  const clock = new Clock(plan);
  let sum = 0;
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) {
      const ah = ahs[i & (LIST - 1)]!;
      qp.postSend({ wrId: i, sge, ah, remoteQpn: i & 0xff, remoteQkey: QKEY });
      for (const wc of cq.poll(1)) if (wc.check().wrId === ZERO) sum++;
    }
  }
  consume(sum);
  return clock.middle;
}

/** Completions polled 32 at a time; for one. */
export function pollObjects(context: Context, plan: Plan): number {
  const { cq } = datagrams(context);
  return timeOfSteps(plan, LIST, () => {
    let sum = 0;
    for (const wc of cq.poll(LIST)) if (wc.check().wrId === ZERO) sum++;
    return sum;
  });
}

let waiting: CompletionQueue | undefined;

/** Completions that `for await` gives while they keep coming; for one. */
export async function iterate(context: Context, plan: Plan): Promise<number> {
  const cq = waiting ??= new CompletionQueue(context, { cqe: LIST });
  const clock = new Clock(plan);
  let sum = 0;
  while (clock.part()) {
    let done = 0;
    for await (const wc of cq.completions()) {
      if (wc.check().wrId === ZERO) sum++;
      if (++done === plan.count) break;
    }
  }
  consume(sum);
  return clock.middle;
}
