/** Work of one process: calls, posting and polling, and objects that are made and destroyed. See ../c/contender.c. */

import { AddressHandle, CompletionQueue, WorkCompletionList } from "../../mod.ts";
import { Clock, type Plan, timeOfSteps } from "./clock.ts";
import { EMPTY, type End, LIST, makeQp as make, ownAddress, QKEY, use } from "./end.ts";

export function pollEmpty({ context }: End, plan: Plan): number {
  const cq = new CompletionQueue(context, { cqe: 1, channel: null, compVector: EMPTY });
  const batch = new WorkCompletionList(1);
  const clock = new Clock(plan);
  let sum = 0;
  while (clock.part()) for (let i = 0; i < plan.count; i++) sum += cq.pollInto(batch);
  use(sum);
  return clock.middle;
}

/** One prepared request, posted again and again. */
export function postSend({ qp, sends }: End, plan: Plan): number {
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) qp.postSend(sends, 0, 1);
  }
  return clock.middle;
}

let handles: readonly AddressHandle[] | undefined;

/** Each request gets another handle and another remote queue pair between posts. */
export function changed(end: End, plan: Plan): number {
  const { context, pd, qp, sendCq, sends } = end;
  // All rounds have the same: where V8 has moved the list of requests to old objects, each write of a new handle to it
  // takes 4 ns more.
  const ahs = handles ??= Array.from(
    { length: LIST },
    () => new AddressHandle(pd, ownAddress(context)),
  );
  const clock = new Clock(plan);
  let round = 0;
  while (clock.part()) {
    for (let done = 0; done < plan.count; done += LIST) {
      round = (round + 1) & 0xffff;
      for (let i = 0; i < LIST; i++) {
        sends.setAh(i, ahs[(i + round) & (LIST - 1)]!);
        sends.setRemote(i, (round + i) & 0xff, QKEY);
      }
      qp.postSend(sends, 0, LIST);
      end.drain(sendCq);
    }
  }
  return clock.middle;
}

export function makeAh({ context, pd }: End, plan: Plan): number {
  const attr = ownAddress(context);
  return timeOfSteps(plan, 1, () => new AddressHandle(pd, attr).close());
}

export function makeQp(end: End, plan: Plan): number {
  return timeOfSteps(plan, 1, () => make(end).close());
}
