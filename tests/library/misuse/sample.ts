// A part of the matrix: few cases of each misuse, drawn by a seed.

import type { Case } from "./cases.ts";

/** What the tests draw. Other parts take another seed, or `deno task long misuse` without one, which runs all. */
export const SEED = 18;

/** Of each misuse one of so many is drawn, and at least one. */
const PART = 32;

/**
 * Draws a part of the cases. Another misuse begins elsewhere, so that a place gets as many misuses as a misuse gets places.
 */
export function sample(cases: readonly Case[], seed: number): Case[] {
  const sizes = Map.groupBy(cases, ({ what }) => what);
  const misuses = [...sizes.keys()];
  const starts = new Map(misuses.map((what, i) => {
    return [what, (seed + i) % Math.min(PART, sizes.get(what)!.length)];
  }));
  const seen = new Map<string, number>();
  return cases.filter(({ what }) => {
    if (what === undefined) return true;
    const at = seen.get(what) ?? 0;
    seen.set(what, at + 1);
    return at % PART === starts.get(what);
  });
}
