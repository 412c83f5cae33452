/** How long single iterations take. See ../c/iteration.h. */

import type { Context } from "../../mod.ts";
import { consume, type Plan } from "./clock.ts";
import { datagrams, LIST } from "./datagrams.ts";
import { monotonic } from "./monotonic.ts";
import { change, readLow } from "./posting.ts";

const LONGEST = 1_000_000;
const SECOND = 1e9;

/** 32 changed requests posted and polled, one after the other, for so many seconds: percentiles of one iteration. */
export function iteration(context: Context, { count: seconds }: Plan): Record<string, number> {
  const { qp, cq, ahs, sends, batch } = datagrams(context);
  const histogram = new Uint32Array(LONGEST + 1);
  const start = monotonic();
  let last = start;
  let total = 0;
  let round = 0;
  let sum = 0;
  while (last - start < (seconds + 1) * SECOND) {
    round = (round + 1) & 0xffff;
    change(sends, ahs, LIST, round);
    qp.postSend(sends, 0, LIST);
    sum = (sum + readLow(batch, cq.pollInto(batch))) | 0;
    const then = monotonic();
    const taken = then - last;
    last = then;
    // the first second is for warming up
    if (then - start < SECOND) continue;
    histogram[Math.min(taken, LONGEST)]!++;
    total++;
  }
  consume(sum);
  const percentile = (share: number): number => percentileOf(histogram, share * total);
  return { value: percentile(0.5), p99: percentile(0.99), "p99.9": percentile(0.999) };
}

function percentileOf(histogram: Uint32Array, rank: number): number {
  let seen = 0;
  return histogram.findIndex((count) => (seen += count) >= rank);
}
