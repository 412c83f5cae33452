/** Medians, the intervals in which they lie, and whether goals are met. */

import type { Result } from "./measurement.ts";
import type { Goal } from "./rows/types.ts";

/** An interval in which the median of a distribution lies, made from a few samples of it. */
export interface Interval {
  /** The middle sample, or the mean of the two in the middle. */
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** The probability that the interval has the median of the distribution. */
  readonly coverage: number;
}

/** The probability that intervals shall have. */
export const CONFIDENCE = 0.95;

/** Fewer samples have no interval of that probability. */
export const MIN_ROUNDS = 6;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * The interval of the median by order statistics, which assume nothing of the distribution. From the smallest and the
 * largest sample it goes inwards, as far as the probability stays at {@linkcode CONFIDENCE}.
 *
 * @throws {RangeError} If there is no sample, or one is not a finite number.
 */
export function interval(values: readonly number[]): Interval {
  if (values.length === 0) throw new RangeError("Cannot sum up rounds: there are none");
  const wrong = values.find((value) => !Number.isFinite(value));
  if (wrong !== undefined) throw new RangeError(`Cannot sum up rounds: one came to ${wrong}`);
  const sorted = values.toSorted((a, b) => a - b);
  let skipped = 0;
  while (coverage(sorted.length, skipped + 1) >= CONFIDENCE) skipped++;
  return {
    median: median(sorted),
    low: sorted[skipped]!,
    high: sorted[sorted.length - 1 - skipped]!,
    coverage: coverage(sorted.length, skipped),
  };
}

/** The median is outside if `skipped` samples or fewer lie on one side of it. Each side has half of the probability. */
function coverage(count: number, skipped: number): number {
  let outside = 0;
  let ways = 1;
  for (let i = 0; i <= skipped; i++) {
    outside += ways / 2 ** count;
    ways = ways * (count - i) / (i + 1);
  }
  return Math.max(0, 1 - 2 * outside);
}

/**
 * Whether a goal is met. It is met or missed if the whole interval is on that side of the limit; "within noise" says that
 * the rounds do not tell. A goal with a reason is "shown".
 */
export type Outcome = "met" | "missed" | "within noise" | "shown";

/** A goal and what was measured. */
export interface Verdict {
  readonly goal: Goal;
  /** The interval of the goal's value, made from its value in each round. */
  readonly measured: Interval;
  readonly outcome: Outcome;
}

/** Compares the rounds of a row with one of its goals. */
export function judge(goal: Goal, result: Result): Verdict {
  const measured = interval(result.rounds.map(goal.value));
  return { goal, measured, outcome: outcome(goal, measured) };
}

function outcome(
  { limit, atLeast, reason }: Goal,
  { low, high, coverage }: Interval,
): Outcome {
  if (reason !== undefined) return "shown";
  if (coverage < CONFIDENCE) return "within noise";
  const [best, worst] = atLeast ? [high, low] : [low, high];
  const meets = (value: number): boolean => atLeast ? value >= limit : value <= limit;
  if (meets(worst)) return "met";
  return meets(best) ? "within noise" : "missed";
}
