/** How long single iterations take. See ../c/iteration.h. */

import type { Context } from "../../mod.ts";
import { consume, type Plan } from "./clock.ts";
import { datagrams, LIST } from "./datagrams.ts";
import { change, readLow } from "./posting.ts";

const LONGEST = 1_000_000;
const SECOND = 1e9;

// The clock that the C contender reads.
const CLOCK_MONOTONIC = 1;
const { symbols } = Deno.dlopen("libc.so.6", {
  clock_gettime: { parameters: ["i32", "pointer"], result: "i32" },
});
const timespec = new Uint32Array(4);
const pointer = Deno.UnsafePointer.of(timespec);
symbols.clock_gettime(CLOCK_MONOTONIC, pointer);
const first = timespec[0]!;

/** Nanoseconds since the module was loaded, about: a number that is exact. */
function monotonic(): number {
  symbols.clock_gettime(CLOCK_MONOTONIC, pointer);
  return (timespec[0]! - first) * SECOND + timespec[2]!;
}

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
