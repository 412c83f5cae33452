/** What rounds of measurement come to. */

/** What one round of one contender came to. */
export interface Sample {
  /** The measured value: nanoseconds of one operation. */
  readonly value: number;
  /** More figures of the same round, in nanoseconds: "p99", and "processor", the time of all threads. */
  readonly [figure: string]: number;
}

/** The samples of one round, by contender. They were taken one after the other, so they can be compared. */
export type Round = Readonly<Record<string, Sample>>;

/** A row's outcome. */
export interface Result {
  readonly id: string;
  readonly rounds: readonly Round[];
}

/**
 * One figure of a round.
 *
 * @throws {Error} If the contender did not measure it.
 */
export function figureOf(round: Round, who: string, figure: string = "value"): number {
  const value = round[who]?.[figure];
  if (value === undefined) throw new Error(`Cannot compare: ${who} did not measure ${figure}`);
  return value;
}

/** One figure of all rounds. */
export function valuesOf(result: Result, who: string, figure?: string): number[] {
  return result.rounds.map((round) => figureOf(round, who, figure));
}
