/** Which tests run, where and how often. */

import { SetupError } from "../host/report.ts";

/** The folders of tests, in the order in which they run. */
export const TIERS = ["pure", "library", "device"] as const;

/** A folder of tests. */
export type Tier = typeof TIERS[number];

/** One start of `deno test`. */
export interface Pass {
  tier: Tier;
  /** Files or folders. */
  paths: string[];
  env: Record<string, string>;
}

/** What the user asked for. */
export interface Choice {
  /** Files or folders below tests/; all when empty. */
  paths: string[];
  /** Runs what reaches native code twice, through thunks and without. */
  both: boolean;
}

/** The passes for a choice. */
export function plan({ paths, both }: Choice): Pass[] {
  const stray = paths.find((path) => !TIERS.some((tier) => belongs(path, tier)));
  if (stray !== undefined) {
    throw new SetupError(
      `Cannot test "${stray}": it is in none of tests/${TIERS.join(", tests/")}`,
    );
  }
  const once = TIERS.map((tier): Pass => ({ tier, paths: pathsOf(tier, paths), env: {} }));
  const chosen = once.filter((pass) => pass.paths.length > 0);
  return chosen.flatMap((pass) =>
    both && pass.tier !== "pure"
      ? ["on", "off"].map((mode) => ({ ...pass, env: { IBVERBS_THUNKS: mode } }))
      : [pass]
  );
}

function pathsOf(tier: Tier, paths: string[]): string[] {
  return paths.length === 0 ? [`tests/${tier}/`] : paths.filter((path) => belongs(path, tier));
}

function belongs(path: string, tier: Tier): boolean {
  return `${path.replace(/^\.\//, "")}/`.startsWith(`tests/${tier}/`);
}
