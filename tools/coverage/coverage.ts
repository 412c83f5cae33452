/** What is known about each verb without running it: where it is bound, and what offers it. */

import { prototypes } from "../../tests/library/header.ts";
import { inProject } from "../host/paths.ts";
import { bindings } from "./bindings.ts";
import { offeredBy, readParts } from "./classes.ts";

export interface Coverage {
  readonly verb: string;
  readonly isBound: boolean;
  readonly offeredBy: readonly string[];
}

/** Functions of the header that are not for programs: macros and other functions call them. */
const INTERNAL = /^(_|verbs_)/;

/** All public verbs: those that are bound, and those that only the installed header has. */
export async function publicVerbs(): Promise<string[]> {
  const names = [
    ...bindings().map(({ verb }) => verb),
    ...(await prototypes()).map(({ name }) => name),
  ];
  return [...new Set(names)].filter((name) => !INTERNAL.test(name));
}

/** What is known about each public verb. */
export async function readCoverage(): Promise<Coverage[]> {
  const [verbs, parts] = await Promise.all([publicVerbs(), readParts()]);
  const bound = new Set(bindings().map(({ verb }) => verb));
  return verbs.map((verb) => ({
    verb,
    isBound: bound.has(verb),
    offeredBy: offeredBy(verb, parts),
  }));
}

/** Where most verbs are tested. */
export const DEVICE = "a device";
/** Where a verb that no device offers is tested. */
export const RECORDER = "the recording provider";

/** Two columns of a row. */
export interface Known {
  readonly since: string;
  readonly testedOn: string;
}

/** What `docs/verbs.md` says of verbs that nothing else tells: the generator keeps these columns. */
export const KNOWN: ReadonlyMap<string, Known> = new Map(
  [
    ...Deno.readTextFileSync(inProject("docs/verbs.md")).matchAll(
      /^\| `(\w+)` *\|.*\| *([^|]*?) *\| *([^|]*?) *\|$/gm,
    ),
  ].map(([, verb, since, testedOn]) => [verb!, { since: since!, testedOn: testedOn! }]),
);
