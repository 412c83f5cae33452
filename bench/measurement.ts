/** Rounds of measurement and what they come to. */

/** One contender's measurements of one row, in the row's unit. */
export interface Measurement {
  /** The middle one. */
  readonly median: number;
  /** The smallest. */
  readonly min: number;
  /** The largest. */
  readonly max: number;
}

/** Measurements of a row, by contender. */
export type Measurements = Readonly<Record<string, Measurement>>;

/** A row's outcome as it is written to the results. */
export interface Result {
  /** The row's name. */
  readonly id: string;
  /** What each contender took. */
  readonly measurements: Measurements;
}

/** Sums up rounds. */
export function summarize(samples: readonly number[]): Measurement {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1
    ? sorted[middle]!
    : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}
