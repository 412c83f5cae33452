/** Survivors that somebody has looked at, with the reason why no test notices them. */

import type { Mutant } from "./generate.ts";

/** A mutant that may survive. */
export interface Row extends Pick<Mutant, "file" | "original" | "replacement"> {
  /** Why it changes nothing that anybody can see, or why a test of it is not worth its price. */
  readonly reason: string;
}

/** The table, by file. It names texts and not lines, so that it stays right when other code changes. */
export const TRIAGE: readonly Row[] = [
  {
    file: "net/rc/link.ts",
    original: "{\n      return Promise.reject(error);\n    }",
    replacement: "{}",
    reason: "The wait that follows rejects with the same error, one turn later.",
  },
  ...["true", "false"].map((replacement) => ({
    file: "net/ud/receiver.ts",
    original: "length >= MIN_BLOCK",
    replacement,
    reason: "Both ways copy the same bytes. One is faster for short messages.",
  })),
];

function key({ file, original, replacement }: Omit<Row, "reason">): string {
  return JSON.stringify([file, original, replacement]);
}

/** The reason why a mutant may survive, for each that has one. */
export function reasons(rows: readonly Row[]): (mutant: Mutant) => string | undefined {
  const byKey = new Map(rows.map((row) => [key(row), row.reason]));
  return (mutant) => byKey.get(key(mutant));
}

/** The rows that fit no mutant any more. */
export function stale(rows: readonly Row[], mutants: readonly Mutant[]): Row[] {
  const keys = new Set(mutants.map(key));
  return rows.filter((row) => !keys.has(key(row)));
}
