/** What is known about each verb without running it: where it is bound, and what offers it. */

import { prototypes } from "../../tests/library/header.ts";
import { inProject } from "../host/paths.ts";
import { bindings } from "./bindings.ts";
import { offeredBy, readParts } from "./classes.ts";

export interface Coverage {
  readonly verb: string;
  /** Whether the installed header has it; the other verbs are newer. */
  readonly isInstalled: boolean;
  readonly isBound: boolean;
  readonly offeredBy: readonly string[];
}

/** Functions of the header that are not for programs: macros and other functions call them. */
const INTERNAL = /^(_|verbs_)/;

/** The public verbs of the installed header, in its order. */
export async function installedVerbs(): Promise<string[]> {
  return (await prototypes()).map(({ name }) => name).filter((name) => !INTERNAL.test(name));
}

/** All public verbs of the installed header, and the newer ones that are bound. */
export async function readCoverage(): Promise<Coverage[]> {
  const [installed, parts] = await Promise.all([installedVerbs(), readParts()]);
  const bound = bindings().map(({ verb }) => verb);
  const newer = bound.filter((verb) => !INTERNAL.test(verb) && !installed.includes(verb));
  return [...installed, ...newer].map((verb) => ({
    verb,
    isInstalled: installed.includes(verb),
    isBound: bound.includes(verb),
    offeredBy: offeredBy(verb, parts),
  }));
}

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
