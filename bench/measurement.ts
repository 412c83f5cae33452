/** What rounds of measurement come to. */

/** What one round of one contender came to. */
export interface Sample {
  /** The measured value: nanoseconds of one operation. */
  readonly value: number;
  /** More figures of the same round by name, such as percentiles; `retries` and `lost` count messages. */
  readonly [figure: string]: number;
}

/** The samples of one round, by contender. They were taken one after the other, so they can be compared. */
export type Round = Readonly<Record<string, Sample>>;

/** A row's outcome, as it is written to the results. */
export interface Result {
  readonly id: string;
  readonly rounds: readonly Round[];
}

/** The values of one contender, or of one of its figures, in the order of the rounds. */
export function valuesOf(result: Result, who: string, figure: string = "value"): number[] {
  return result.rounds.map((round) => figureOf(round, who, figure));
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
