/** Results of tests that run folder by folder. */

import { SetupError } from "../host/setup.ts";
import { add, type Counts, NONE } from "../tests/junit.ts";

/** What a folder gave, and on which day. */
interface Part extends Counts {
  readonly date: string;
}

export type Parts = Record<string, Part>;

/**
 * What all folders gave, on the first of their days.
 *
 * @throws {SetupError} If one of them did not run.
 */
export function sumOf(parts: Parts, folders: readonly string[]): Part {
  const missing = folders.filter((folder) => parts[folder] === undefined);
  if (missing.length > 0) throw new SetupError(`these have not run yet: ${missing.join(", ")}`);
  const found = folders.map((folder) => parts[folder]!);
  const [date = ""] = found.map(({ date }) => date).sort();
  return { ...found.reduce(add, NONE), date };
}
