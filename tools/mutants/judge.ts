/** Judges mutants: each is applied to a copy of the project, and the tests that execute it run. */

import { say } from "../../rxe/host/report.ts";
import type { Mutant } from "./generate.ts";
import { type Ended, runTests, type Timed } from "./tests.ts";
import type { Tree } from "./tree.ts";

/** How a mutant ended. */
export type Verdict = "killed" | "timed out" | "survived" | "not executed" | "no program";

/** A mutant and how it ended. */
export interface Judged {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
}

/** What only a mutant that is no program says: before any test, or instead of a file's tests. */
const NO_PROGRAM = /^error: SyntaxError: |\(uncaught error\)\nerror: SyntaxError: /;

/** How long tests may take. */
export interface Patience {
  /** Seconds that they may take longer than usual. */
  readonly slack: number;
  /** Seconds that those of one mutant take without it; those after that are left out. */
  readonly budget: number;
}

/** What suits tests on this host. */
const PATIENCE: Patience = { slack: 10, budget: 60 };

/**
 * Judges mutants, one at a time in each copy of the project.
 *
 * @param testsOf The tests of a mutant, the most promising one first. They pass without it.
 */
export async function judgeAll(
  trees: readonly Tree[],
  mutants: readonly Mutant[],
  testsOf: (mutant: Mutant) => readonly Timed[],
  patience: Patience = PATIENCE,
): Promise<Judged[]> {
  const queue = [...mutants];
  const judged: Judged[] = [];
  const work = async (tree: Tree): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const verdict = await judge(tree, mutant, testsOf(mutant), patience);
      judged.push({ mutant, verdict });
      say(`${judged.length}/${mutants.length} ${verdict}: ${nameOf(mutant)}`);
    }
  };
  await Promise.all(trees.map(work));
  return judged;
}

/** Where a mutant is and what it changes, on one line. */
export function nameOf({ file, lines, original, replacement }: Mutant): string {
  return `${file}:${lines[0]}: ${brief(original)} => ${brief(replacement)}`;
}

function brief(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 50)} ... ${line.slice(-15)}` : line;
}

/** Runs the most promising test file alone, because it mostly ends the matter, then the others. */
async function judge(
  tree: Tree,
  mutant: Mutant,
  tests: readonly Timed[],
  patience: Patience,
): Promise<Verdict> {
  const [first, ...others] = affordable(tests, patience.budget);
  if (first === undefined) return "not executed";
  for (const group of others.length === 0 ? [[first]] : [[first], others]) {
    const ended = await runWith(tree, mutant, group, patience);
    if (ended.status === undefined) return "timed out";
    if (NO_PROGRAM.test(ended.output)) return "no program";
    if (ended.status !== 0) return "killed";
  }
  return "survived";
}

/** The tests up to the budget, and the first one in any case. */
function affordable(tests: readonly Timed[], budget: number): Timed[] {
  let spent = 0;
  return tests.filter(({ seconds }, i) => (spent += seconds) <= budget || i === 0);
}

/**
 * Runs tests with a mutant. They take too long only if without the mutant they end in less than a
 * third of that time, now, whatever else this machine does.
 */
async function runWith(
  tree: Tree,
  mutant: Mutant,
  tests: readonly Timed[],
  patience: Patience,
): Promise<Ended> {
  const files = tests.map(({ test }) => test);
  let limit = Math.ceil(patience.slack + 3 * tests.reduce((sum, { seconds }) => sum + seconds, 0));
  while (true) {
    const ended = await applied(tree, mutant, files, limit);
    if (ended.status !== undefined) return ended;
    const without = await runTests(tree, files, limit);
    if (without.status !== undefined && without.seconds < limit / 3) return ended;
    limit *= 2;
  }
}

async function applied(
  tree: Tree,
  mutant: Mutant,
  files: readonly string[],
  limit: number,
): Promise<Ended> {
  using _applied = tree.apply(mutant);
  return await runTests(tree, files, limit);
}
