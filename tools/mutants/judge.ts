/** Judges mutants: each test file runs in a process, which makes one mutant after the other active. */

import { say } from "../host/setup.ts";
import { testFiles } from "../tests/files.ts";
import { foldersOf } from "../tests/plan.ts";
import { type Mutant, nameOf } from "./generate.ts";
import { runJob } from "./process.ts";
import { type Job, type Reach, reaches, type Survey } from "./runner.ts";
import type { Tree } from "./tree.ts";

export type Verdict = "killed" | "timed out" | "survived" | "not executed";

export interface Judged {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
}

/** How long tests may take. */
export interface Patience {
  /** Seconds until a process has loaded its test file. */
  readonly loading: number;
  /** Seconds of a quick test. Quick ones judge first, all that reach a mutant. */
  readonly quick: number;
  /** Seconds of slow tests for one mutant. */
  readonly budget: number;
}

/** Host tests that judge no mutant. */
const LEFT_OUT: readonly string[] = [
  // Takes minutes, and finds crashes only.
  "tests/library/misuse/misuse_test.ts",
  // Needs the git repository, which a copy of the project has not.
  "tests/library/tools/package_test.ts",
];

/** The test files that judge mutants on this host, those that need no library first. */
export function hostTests(): string[] {
  return (["pure", "library"] as const).flatMap((tier) => testFiles(foldersOf(tier)))
    .filter((test) => !LEFT_OUT.includes(test));
}

/** Tests of whatever there is, which judge what they reach although they are slow. */
const GENERAL: readonly string[] = [
  "tests/library/refusals_test.ts",
  "tests/library/faults/verbs_test.ts",
  "cli/tests/library/printed_test.ts",
];

/** So many test files try a mutant that they reach when they load, however slow they are. */
const LEAST_FILES = 4;

/** What suits tests on this host. */
const PATIENCE: Patience = { loading: 60, quick: 0.3, budget: 20 };

/**
 * Judges mutants in copies of the project that have all of them.
 *
 * @param files The test files.
 */
export async function judgeAll(
  trees: readonly Tree[],
  mutants: ReadonlyMap<string, Mutant>,
  files: readonly string[],
  patience: Patience = PATIENCE,
): Promise<Judged[]> {
  const round = new Round(mutants, patience);
  await share(trees, files, (tree, file) => round.judge(tree, file));
  await share(trees, round.open(), (tree, id) => round.judgeWhole(tree, id));
  await share(trees, round.slow(), (tree, [file, tests]) => round.judge(tree, file, tests));
  return round.end();
}

/** Gives each copy of the project the next item when it has finished one. */
async function share<T>(
  trees: readonly Tree[],
  items: readonly T[],
  work: (tree: Tree, item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(trees.map(async (tree) => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(tree, item);
  }));
}

/** Tests that judge mutants: their places in a file, by mutant. */
type Chosen = Record<string, number[]>;

/** The words of a path, which tell what a file is about. */
function wordsOf(path: string): Set<string> {
  const words = path.replace(/(_test)?\.ts$/, "").split(/[/_]/);
  return new Set(words.map((word) => word.replace(/s$/, "")));
}

/** The words of two paths that are the same, as a share: how likely a test is about a file. */
function likeness(a: string, b: string): number {
  const [words, others] = [wordsOf(a), wordsOf(b)];
  return words.intersection(others).size / words.union(others).size;
}

function keyOf(test: string, source: string): string {
  return `${test} ${source.slice(0, source.lastIndexOf("/"))}`;
}

/** What is known of some mutants, and how they are judged. */
class Round {
  readonly #verdicts = new Map<string, Verdict>();
  readonly #surveys = new Map<string, Survey>();
  /** The texts of test files. */
  readonly #texts = new Map<string, string>();
  /** Mutants that only a process judges in which they are active from the start, by test file. */
  readonly #whole = new Map<string, Set<string>>();

  /** How many mutants of a folder a test file has noticed: it notices others there, too. */
  readonly #kills = new Map<string, number>();

  constructor(readonly mutants: ReadonlyMap<string, Mutant>, readonly patience: Patience) {}

  open(): string[] {
    return [...this.mutants.keys()].filter((id) => !this.#verdicts.has(id));
  }

  /** The slow tests that judge open mutants, by file: for each mutant the most promising ones. */
  slow(): [file: string, Chosen][] {
    const found = new Map<string, Chosen>();
    for (const id of this.open()) {
      const { file: source } = this.mutants.get(id)!;
      const costs = [...this.#surveys].flatMap(([file, { tests }]) =>
        tests.filter((one) => one.seconds > this.patience.quick && reaches(one, id))
          .map((one) => ({ file, ...one, cost: one.seconds / this.#promise(file, source) }))
      ).sort((a, b) => a.cost - b.cost);
      let spent = 0;
      for (const { file, test, seconds } of costs) {
        spent += seconds;
        const isLong = spent > this.patience.budget && spent > seconds;
        if (isLong && !GENERAL.includes(file)) continue;
        const chosen = found.get(file) ?? {};
        (chosen[id] ??= []).push(test);
        found.set(file, chosen);
      }
    }
    return [...found];
  }

  /** Finds out what a file's tests reach, and judges the open mutants by them until each has been tried. */
  async judge(tree: Tree, file: string, tests?: Chosen): Promise<void> {
    let todo = this.open().filter((id) => tests === undefined || id in tests);
    let suspect: string | undefined;
    while (true) {
      const survey = this.#surveys.get(file);
      if (survey !== undefined && todo.length === 0) return;
      const known = { ...survey && { survey }, ...tests && { tests } };
      const isSuspect = suspect !== undefined;
      const job: Job = {
        file,
        mutants: todo,
        quick: this.patience.quick,
        suspect: isSuspect,
        ...known,
      };
      const ended = await runJob(tree, job, this.patience.loading);
      let active: string | null = null;
      for (const one of ended.told) {
        if ("survey" in one) {
          this.#surveys.set(file, one.survey);
          this.#texts.set(file, Deno.readTextFileSync(`${tree.path}/${file}`));
          say(`mutants: ${file} passed ${one.survey.tests.length} tests`);
        }
        if ("begin" in one) active = one.begin ?? active;
        if (!("id" in one)) continue;
        active = null;
        if (one.verdict === "static") this.#addWhole(one.id, file);
        if (one.verdict === "killed") this.#kill(one.id, "killed", file);
        if (one.verdict === "suspect") active = one.id;
        else todo = todo.filter((id) => id !== one.id);
      }
      if (!this.#surveys.has(file)) {
        say(`mutants: ${file} judges nothing (${ended.status}):\n${ended.output.trim()}`);
        return;
      }
      if (active === null) {
        if (ended.hung || ended.status !== 0) todo.shift();
        suspect = undefined;
      } else if (active === suspect) {
        this.#kill(active, ended.hung ? "timed out" : "killed", file);
        todo = todo.filter((id) => id !== active);
        suspect = undefined;
      } else {
        suspect = active;
        todo = [active, ...todo.filter((id) => id !== active)];
      }
    }
  }

  /** Judges a mutant that test files reach when they load, by processes in which it is active. */
  async judgeWhole(tree: Tree, id: string): Promise<void> {
    const { file: source } = this.mutants.get(id)!;
    const costs = [...this.#surveys]
      .filter(([file, { loading }]) => loading.includes(id) || this.#whole.get(id)?.has(file))
      .map(([file, survey]) => {
        const seconds = 0.5 + survey.tests.reduce((sum, one) => sum + one.seconds, 0);
        return { file, survey, seconds, cost: seconds / this.#promise(file, source) };
      })
      .sort((a, b) => a.cost - b.cost);
    let spent = 0;
    for (const [i, { file, survey, seconds }] of costs.entries()) {
      spent += seconds;
      const isLong = spent > this.patience.budget && i >= LEAST_FILES;
      if (isLong && !GENERAL.includes(file)) continue;
      const verdict = await this.#judgeWholeBy(tree, id, file, survey, 10 + 5 * seconds);
      if (verdict !== undefined) return this.#kill(id, verdict, file);
    }
  }

  /** A mutant hangs if without it the same tests end in less than a third of the time, now. */
  async #judgeWholeBy(
    tree: Tree,
    id: string,
    file: string,
    survey: Survey,
    limit: number,
  ): Promise<Verdict | undefined> {
    const job: Job = { file, survey, quick: this.patience.quick };
    const ended = await runJob(tree, job, limit, id);
    if (!ended.hung) {
      return ended.told.some((one) => "passed" in one && one.passed) ? undefined : "killed";
    }
    const without = await runJob(tree, job, limit);
    if (!without.hung && without.seconds < limit / 3) return "timed out";
    return await this.#judgeWholeBy(tree, id, file, survey, 2 * limit);
  }

  /** How likely a test file notices a mutant of a source file, as a factor: most of all if it imports that file. */
  #promise(file: string, source: string): number {
    const imports = this.#texts.get(file)!.includes(`/${source}"`) ? 100 : 1;
    const kills = this.#kills.get(keyOf(file, source)) ?? 0;
    return imports * 100 ** likeness(file, source) * (1 + 10 * kills);
  }

  #addWhole(id: string, file: string): void {
    this.#whole.set(id, (this.#whole.get(id) ?? new Set()).add(file));
  }

  #kill(id: string, verdict: Verdict, by: string): void {
    if (this.#verdicts.has(id)) return;
    this.#verdicts.set(id, verdict);
    const key = keyOf(by, this.mutants.get(id)!.file);
    this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1);
    const count = `${this.#verdicts.size}/${this.mutants.size}`;
    say(`${count} ${verdict} by ${by}: ${nameOf(this.mutants.get(id)!)}`);
  }

  end(): Judged[] {
    const surveys = [...this.#surveys.values()];
    const executed = new Set(surveys.flatMap(({ loading, tests }) => [
      ...loading,
      ...tests.flatMap(({ here, others }: Reach) => [...Object.keys(here), ...others]),
    ]));
    return [...this.mutants].map(([id, mutant]) => ({
      mutant,
      verdict: this.#verdicts.get(id) ?? (executed.has(id) ? "survived" : "not executed"),
    }));
  }
}
