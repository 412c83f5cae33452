/** What is known about each verb: where it is bound, what offers it, which test calls it. */

import { prototypes } from "../../tests/library/header.ts";
import { bindings, reachedBy } from "./bindings.ts";
import { offeredBy, readParts } from "./classes.ts";
import { type Gap, REASONS } from "./reasons.ts";
import { since } from "./since.ts";
import { readTested, type Tested } from "./tested.ts";

/** One verb. */
export interface Coverage {
  readonly verb: string;
  /** Whether the installed header has it; the other verbs are newer. */
  readonly isInstalled: boolean;
  readonly since: number | undefined;
  /** Where it is bound. */
  readonly boundIn: string | undefined;
  readonly offeredBy: readonly string[];
  readonly tested: Tested[string];
  readonly reasons: Readonly<Partial<Record<Gap, string>>>;
}

/** Functions of the header that are not for programs: macros and other functions call them. */
const INTERNAL = /^(_|verbs_)/;

/** All public verbs of the installed header, in its order, and the newer ones that are bound. */
export async function readCoverage(): Promise<Coverage[]> {
  const [header, bound, parts, tested] = await Promise.all([
    prototypes(),
    bindings(),
    readParts(),
    readTested(),
  ]);
  const places = new Map(
    bound.map(({ verb, file, row }) => [verb, `${file} (${reachedBy(row)})`]),
  );
  const installed = header.map(({ name }) => name).filter((name) => !INTERNAL.test(name));
  const newer = [...places.keys()].filter((verb) =>
    !INTERNAL.test(verb) && !installed.includes(verb)
  );
  return [...installed, ...newer].map((verb) => ({
    verb,
    isInstalled: installed.includes(verb),
    since: since(verb),
    boundIn: places.get(verb),
    offeredBy: offeredBy(verb, parts),
    tested: tested[verb] ?? {},
    reasons: REASONS[verb] ?? {},
  }));
}

/** Whether a verb is bound, offered by a class or function, and called by a test. */
export function covers(row: Coverage): Record<Gap, boolean> {
  return {
    bound: row.boundIn !== undefined,
    typed: row.offeredBy.length > 0,
    tested: Object.keys(row.tested).length > 0,
  };
}
