/** What is known about each verb without running it: whether it is bound and typed, and what docs/verbs.md says. */

import { prototypes } from "../../tests/library/header.ts";
import { inProject, sourcesIn } from "../host/paths.ts";
import { bindings } from "./bindings.ts";

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

/** Where most verbs are tested. */
export const DEVICE = "a device";
/** Where a verb that no device offers is tested. */
export const RECORDER = "the recording provider";

/** A row of `docs/verbs.md`. */
export interface Known {
  /** The classes and functions that offer the verb. */
  readonly here: string;
  readonly since: string;
  readonly testedOn: string;
}

export const KNOWN: ReadonlyMap<string, Known> = new Map(
  Deno.readTextFileSync(inProject("docs/verbs.md")).split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, verb = "", here = "", since = "", testedOn = ""]) => [
      verb.replaceAll("`", ""),
      { here, since, testedOn },
    ]),
);

/** What is wrong with the verbs, a line each: one that is not bound, that nothing in types/ calls, or that has no right row. */
export async function faultsOfVerbs(): Promise<string[]> {
  const bound = new Set(bindings().map(({ verb }) => verb));
  const read = (file: string): string => Deno.readTextFileSync(inProject(file));
  const code = sourcesIn("types").map(read).join("\n").replaceAll(/^ *(\/\*\*|\*|\/\/).*$/gm, "");
  const exported = new Set(read("mod.ts").match(/\w+/g));
  return (await publicVerbs()).flatMap((verb) => {
    const { here = "", since = "" } = KNOWN.get(verb) ?? {};
    const names = Array.from(here.matchAll(/`(\w+)(?:\(\))?`/g), ([, name]) => name!);
    const isCalled = new RegExp(`(?:[."]|[{,] )${verb}\\b`).test(code);
    return [
      ...bound.has(verb) ? [] : [`${verb} is not bound`],
      ...isCalled ? [] : [`${verb} is not typed: nothing in types/ calls it`],
      ...names.length > 0 && since !== "" ? [] : [`docs/verbs.md needs a row for ${verb}`],
      ...names.filter((name) => !exported.has(name))
        .map((name) => `docs/verbs.md: ${verb}: mod.ts does not export ${name}`),
    ];
  });
}
