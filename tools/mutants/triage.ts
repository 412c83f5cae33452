/** Survivors that somebody has looked at, with the reason why no test notices them: triage.txt has them. */

import { inProject } from "../host/paths.ts";
import type { Mutant } from "./generate.ts";

/**
 * Why mutants may survive, by their names. A line of the text is a mutant as the tool prints it, without the number of
 * its line, so that it stays right when other code changes. The next line is the reason: why the mutant changes nothing
 * that anybody can see, or why a test of it is not worth its price.
 */
export function reasonsIn(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(/^(\S.*)\n {2}(.+)$/gm)].map(([, name, reason]) => [name!, reason!]),
  );
}

/** The reasons that the project has. */
export function readTriage(): Map<string, string> {
  return reasonsIn(Deno.readTextFileSync(inProject("tools/mutants/triage.txt")));
}

/** A mutant by its file and its change. */
export function changeOf({ file, original, replacement }: Mutant): string {
  return `${file}: ${brief(original)} => ${brief(replacement)}`;
}

function brief(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 50)} ... ${line.slice(-15)}` : line;
}

/** The names with a reason that fit no mutant any more. */
export function stale(reasons: ReadonlyMap<string, string>, mutants: readonly Mutant[]): string[] {
  const names = new Set(mutants.map(changeOf));
  return [...reasons.keys()].filter((name) => !names.has(name));
}
