/** Medians, the intervals in which they lie, and whether goals are met. */

import type { Result } from "./measurement.ts";
import type { Goal } from "./row.ts";

/** An interval in which the median of a distribution lies, made from a few samples of it. */
export interface Interval {
  /** The middle sample, or the mean of the two in the middle. */
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** Fewer samples have no interval with a probability of 95 %. */
const FEWEST = 6;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * The interval of the median by order statistics, which assume nothing of the distribution: from the smallest sample to the
 * largest, and of 9 or more from the second to the last but one. The median is in it with a probability of at least 95 %:
 * 1 - 2 / 2 ** 6 for 6 samples, 1 - 2 * (1 + 9) / 2 ** 9 for 9.
 *
 * @throws {RangeError} If there is no sample, or one is not a number.
 */
export function interval(values: readonly number[]): Interval {
  if (values.length === 0 || values.some(Number.isNaN)) {
    throw new RangeError(`Cannot sum up rounds: they came to [${values}]`);
  }
  const sorted = values.toSorted((a, b) => a - b);
  const skipped = sorted.length < 9 ? 0 : 1;
  return { median: median(sorted), low: sorted[skipped]!, high: sorted.at(-1 - skipped)! };
}

/** A goal's value in all rounds, and whether it is met. */
export interface Verdict {
  readonly measured: Interval;
  /**
   * Met or missed if the whole interval is on that side of the limit; "within noise" says that the rounds do not show
   * it. A goal with a reason is "shown".
   */
  readonly outcome: "met" | "missed" | "within noise" | "shown";
}

/** Compares the rounds of a row with one of its goals. */
export function judge({ value, limit, atLeast = false, reason }: Goal, result: Result): Verdict {
  const measured = interval(result.rounds.map(value));
  if (reason !== undefined) return { measured, outcome: "shown" };
  const met = [measured.low, measured.high].map((end) => atLeast ? end >= limit : end <= limit);
  if (met[0] !== met[1] || result.rounds.length < FEWEST) {
    return { measured, outcome: "within noise" };
  }
  return { measured, outcome: met[0] ? "met" : "missed" };
}
