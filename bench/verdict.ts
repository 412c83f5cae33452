/** Goals and whether they are met. */

import type { Result } from "./measurement.ts";
import type { Goal } from "./rows/types.ts";
import { CONFIDENCE, type Interval, interval } from "./statistics.ts";

/**
 * Whether a goal is met. It is met or missed if the whole interval is on that side of the limit; "within noise" says that
 * the rounds do not tell.
 */
export type Outcome = "met" | "missed" | "within noise";

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

function outcome({ limit, atLeast }: Goal, { low, high, coverage }: Interval): Outcome {
  if (coverage < CONFIDENCE) return "within noise";
  const [best, worst] = atLeast ? [high, low] : [low, high];
  const meets = (value: number): boolean => atLeast ? value >= limit : value <= limit;
  if (meets(worst)) return "met";
  return meets(best) ? "within noise" : "missed";
}
