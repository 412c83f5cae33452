/** What `docs/verbs.md` says of verbs that nothing else tells: the generator keeps these columns. */

import { inProject } from "../host/paths.ts";

/** Where a verb that no device offers is tested. */
export const RECORDER = "the recording provider";

/** Two columns of a row. */
export interface Known {
  readonly since: string;
  readonly testedOn: string;
}

/** The columns, by verb. */
export const KNOWN: ReadonlyMap<string, Known> = new Map(
  [
    ...Deno.readTextFileSync(inProject("docs/verbs.md")).matchAll(
      /^\| `(\w+)` *\|.*\| *([^|]*?) *\| *([^|]*?) *\|$/gm,
    ),
  ].map(([, verb, since, testedOn]) => [verb!, { since: since!, testedOn: testedOn! }]),
);
