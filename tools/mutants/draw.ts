/** Draws mutants by a seed. */

import { createHash } from "node:crypto";
import type { Mutant } from "./generate.ts";

/** With fewer, the share of a folder says nothing. */
const LEAST_OF_FOLDER = 60;

/** The folder that a mutant counts for. */
export function folderOf({ file }: Mutant): string {
  return file.slice(0, file.indexOf("/"));
}

/**
 * All mutants by folder, each folder in an order that the seed decides. A mutant keeps its place
 * when other code changes.
 */
export function shuffle(mutants: readonly Mutant[], seed: string): Map<string, Mutant[]> {
  const seen = new Map<string, number>();
  const keys = new Map<Mutant, string>();
  for (const mutant of mutants) {
    const { file, mutator, original, replacement } = mutant;
    const name = JSON.stringify([seed, file, mutator, original, replacement]);
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    keys.set(mutant, createHash("sha256").update(`${name}${nth}`).digest("hex"));
  }
  const sorted = mutants.toSorted((a, b) => keys.get(a)! < keys.get(b)! ? -1 : 1);
  return Map.groupBy(sorted, folderOf);
}

/** How many mutants to draw from each folder: in proportion to what it has, but not too few. */
export function quotas(sizes: ReadonlyMap<string, number>, count: number): Map<string, number> {
  const least = Math.min(LEAST_OF_FOLDER, Math.floor(count / sizes.size / 2));
  const shares = new Map<string, number>();
  const open = new Map(sizes);
  for (let left = count; open.size > 0;) {
    const all = [...open.values()].reduce((sum, size) => sum + size);
    const small = [...open].find(([, size]) => left * size / all < least);
    const [folder, size] = small ?? [...open][0]!;
    const share = Math.min(size, small ? least : Math.round(left * size / all));
    shares.set(folder, share);
    open.delete(folder);
    left -= share;
  }
  return shares;
}
