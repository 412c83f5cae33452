/** Posting prepared requests, unchanged and changed, and polling their completions. */

import {
  type AddressHandle,
  type Context,
  type SendRequestList,
  WorkCompletions,
} from "../../mod.ts";
import { Clock, consume, type Plan, timeOfSteps, wholeLists } from "./clock.ts";
import { datagrams, LIST, prepareSends, QKEY } from "./datagrams.ts";

/** Reads status and the lower half of wr_id, which is no bigint. */
export function readLow(batch: WorkCompletions, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    if (batch.status(i) !== 0) throw batch.at(i).check();
    sum = (sum + batch.wrIdLow(i)) | 0;
  }
  return sum;
}

/** One prepared request, posted again and again. */
export function postSend(context: Context, plan: Plan): number {
  const { qp, sends } = datagrams(context);
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) qp.postSend(sends, 0, 1);
  }
  return clock.middle;
}

/** The same with the whole wr_id. Comparing it makes no bigint of its own, as a sum would. */
function readWhole(batch: WorkCompletions, count: number, wanted: bigint): number {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    if (batch.status(i) !== 0) throw batch.at(i).check();
    if (batch.wrId(i) === wanted) sum++;
  }
  return sum;
}

/** A list of 32 posted and as many completions polled; for one message. */
export function postPoll(context: Context, plan: Plan): number {
  const { qp, cq, sends, batch } = datagrams(context);
  return timeOfSteps(plan, LIST, () => {
    qp.postSend(sends);
    return readLow(batch, cq.pollInto(batch));
  });
}

/** The same with the whole wr_id. */
export function postPollBigInt(context: Context, plan: Plan): number {
  const { qp, cq, sends, batch } = datagrams(context);
  const wanted = BigInt(LIST - 1);
  return timeOfSteps(plan, LIST, () => {
    qp.postSend(sends);
    return readWhole(batch, cq.pollInto(batch), wanted);
  });
}

/** Gives each request another handle and another remote queue pair. */
export function change(
  sends: SendRequestList,
  ahs: readonly AddressHandle[],
  size: number,
  round: number,
): void {
  for (let i = 0; i < size; i++) {
    sends.setAh(i, ahs[(i + round) & (LIST - 1)]!);
    sends.setRemote(i, (round + i) & 0xff, QKEY);
  }
}

/** Lists of `size` requests that change between posts, and their completions; for one message. */
export function changed(context: Context, plan: Plan, size: number): number {
  const parts = datagrams(context);
  const { qp, cq, ahs } = parts;
  const sends = prepareSends(size, parts);
  const batch = new WorkCompletions(size);
  const whole = wholeLists(plan, size);
  const clock = new Clock(whole);
  let [round, sum] = [0, 0];
  while (clock.part()) {
    for (let done = 0; done < whole.count; done += size) {
      round = (round + 1) & 0xffff;
      change(sends, ahs, size, round);
      qp.postSend(sends, 0, size);
      sum = (sum + readLow(batch, cq.pollInto(batch))) | 0;
    }
  }
  consume(sum);
  return clock.middle;
}

/** The same with the whole wr_id. */
export function changedBigInt(context: Context, plan: Plan, size: number): number {
  const { qp, cq, ahs, sends, batch } = datagrams(context);
  const wanted = BigInt(size - 1);
  let round = 0;
  return timeOfSteps(plan, size, () => {
    round = (round + 1) & 0xffff;
    change(sends, ahs, size, round);
    qp.postSend(sends, 0, size);
    return readWhole(batch, cq.pollInto(batch), wanted);
  });
}
