// Intervals of medians, and what is concluded from them.

import { assertEquals, assertThrows } from "@std/assert";
import type { Result } from "../../../bench/measurement.ts";
import { atMost, atMostMs, fasterThan, missed } from "../../../bench/row.ts";
import { interval, judge, median } from "../../../bench/statistics.ts";

function counted(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

Deno.test("median() is the middle value, or between the two in the middle", () => {
  assertEquals(median([3, 1, 2]), 2);
  assertEquals(median([4, 1, 3, 2]), 2.5);
});

const intervals: [count: number, low: number, high: number][] = [
  [1, 1, 1],
  [5, 1, 5],
  [8, 1, 8],
  [9, 2, 8],
  [15, 2, 14],
];

Deno.test("interval() goes from one sample to another, by their number", () => {
  for (const [count, low, high] of intervals) {
    const samples = counted(count).toReversed();
    assertEquals(interval(samples), { median: median(samples), low, high });
  }
});

Deno.test("interval() has the median of a known distribution as often as it says", () => {
  let state = 1;
  const random = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
  const runs = 4000;
  let inside = 0;
  for (let i = 0; i < runs; i++) {
    // skewed: its median is 0.25, its mean is not
    const { low, high } = interval(counted(9).map(() => random() ** 2));
    if (low <= 0.25 && high >= 0.25) inside++;
  }
  assertEquals(Math.round(inside / runs * 100), 96);
});

Deno.test("interval() refuses no samples, and samples that are no numbers", () => {
  assertThrows(() => interval([]), RangeError, "they came to []");
  assertThrows(() => interval([1, NaN]), RangeError, "they came to [1,NaN]");
  assertThrows(() => interval([1, Infinity]), RangeError, "they came to [1,Infinity]");
});

/** Rounds in which Deno took so many times as long as C. C's own time changes from round to round. */
function paired(ratios: readonly number[]): Result {
  const rounds = ratios.map((ratio, i) => ({
    C: { value: 10 * (i + 1) },
    Deno: { value: 10 * (i + 1) * ratio },
  }));
  return { id: "row", rounds };
}

const verdicts: [ratios: number[], outcome: string][] = [
  [[1, 1.1, 1.2, 1.3, 1.4, 1.5], "met"],
  [[2, 2, 2, 2, 2, 2], "met"],
  [[1.5, 1.6, 1.7, 1.8, 1.9, 2.1], "within noise"],
  [[1.9, 2.1, 2.2, 2.3, 2.4, 2.5], "within noise"],
  [[2.1, 2.2, 2.3, 2.4, 2.5, 2.6], "missed"],
  // one round of nine that was interrupted does not count
  [[1, 1, 1, 1, 1, 1, 1, 1, 9], "met"],
  // five rounds tell too little, however clear they look
  [[1, 1, 1, 1, 1], "within noise"],
  [[9, 9, 9, 9, 9], "within noise"],
];

Deno.test("judge() goes by the interval of the ratios", () => {
  for (const [ratios, outcome] of verdicts) {
    assertEquals(judge(atMost(2, "C"), paired(ratios)).outcome, outcome, String(ratios));
  }
});

Deno.test("judge() turns the limit round when more is better", () => {
  const fast = paired([0.1, 0.11, 0.12, 0.13, 0.14, 0.15]);
  assertEquals(judge(fasterThan(6, "C"), fast).outcome, "met");
  assertEquals(judge(fasterThan(8, "C"), fast).outcome, "within noise");
  assertEquals(judge(fasterThan(11, "C"), fast).outcome, "missed");
});

Deno.test("judge() throws when a contender did not measure what is compared", () => {
  const result = paired([1, 1, 1, 1, 1, 1]);
  assertThrows(() => judge(atMost(2, "floor"), result), Error, "floor did not measure value");
});

Deno.test("judge() compares a time with a limit of its own", () => {
  assertEquals(judge(atMostMs(40, "C"), paired([1, 1, 1, 1, 1, 1])).outcome, "met");
  const slow = paired([1e7, 1e7, 1e7, 1e7, 1e7, 1e7]);
  assertEquals(judge(atMostMs(40), slow).outcome, "missed");
});

Deno.test("judge() only shows what was missed with two designs", () => {
  const verdict = judge(missed(atMost(2, "C"), "why"), paired([9, 9, 9, 9, 9, 9]));
  assertEquals([verdict.outcome, verdict.measured.median], ["shown", 9]);
});
