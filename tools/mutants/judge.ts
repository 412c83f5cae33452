/** Judges mutants: each by the test files that reach it, with the mutant active in all that they start. */

import { stdArguments } from "../host/jsr.ts";
import { say } from "../host/setup.ts";
import { pathWithEmulator } from "../tests/emulator.ts";
import { testFiles } from "../tests/files.ts";
import { foldersOf } from "../tests/plan.ts";
import { type Mutant, nameOf } from "./generate.ts";
import { ACTIVE, REACHED } from "./switch.ts";
import type { Tree } from "./tree.ts";

export interface Judged {
  readonly mutant: Mutant;
  /** A test file that no longer ends has killed it, too. */
  readonly verdict: "killed" | "survived" | "not executed";
}

/** Host tests that judge no mutant. */
const LEFT_OUT: readonly string[] = [
  // Takes minutes, and finds crashes only.
  "tests/library/misuse/misuse_test.ts",
  // Needs the git repository, which a copy of the project has not.
  "tests/library/tools/package_test.ts",
];

/** Tests of whatever there is, which judge what they reach although they are slow. */
const GENERAL: readonly string[] = [
  "tests/library/refusals_test.ts",
  "tests/library/faults/verbs_test.ts",
  "cli/tests/library/printed_test.ts",
];

/** Seconds of tests for one mutant. */
const BUDGET = 60;

/** A test file may take so many times what it takes without a mutant, and some seconds more. */
const TIMES = 5;
const SLACK_SECONDS = 20;

/** What a test file takes and reaches without a mutant. */
interface Survey {
  readonly file: string;
  readonly text: string;
  readonly seconds: number;
  readonly reached: ReadonlySet<string>;
}

/** Judges mutants in copies of the project that have all of them, by the tests that need no device. */
export async function judgeAll(
  trees: readonly Tree[],
  mutants: ReadonlyMap<string, Mutant>,
): Promise<Judged[]> {
  const files = (["pure", "library"] as const).flatMap((tier) => testFiles(foldersOf(tier)))
    .filter((file) => !LEFT_OUT.includes(file));
  const surveys: Survey[] = [];
  await share(trees, files, async (tree, file) => {
    const survey = await surveyOf(tree, file);
    if (survey !== undefined) surveys.push(survey);
    const what = survey === undefined ? "judges nothing: it fails without them" : "is a judge";
    say(`mutants: ${file} ${what}`);
  });
  const judged: Judged[] = [];
  /** How often a test file has noticed a mutant of a folder: it notices others there, too. */
  const kills = new Map<string, number>();
  await share(trees, [...mutants], async (tree, [id, mutant]) => {
    const judges = judgesOf(mutant, surveys.filter(({ reached }) => reached.has(id)), kills);
    let verdict: Judged["verdict"] = judges.length === 0 ? "not executed" : "survived";
    for (const { file, seconds } of judges) {
      const limit = SLACK_SECONDS + TIMES * seconds;
      const env = { [ACTIVE]: id };
      // A busy machine lets a test fail, but not twice.
      if (await passes(tree, file, env, limit) || await passes(tree, file, env, limit)) continue;
      verdict = "killed";
      kills.set(keyOf(file, mutant), 1 + (kills.get(keyOf(file, mutant)) ?? 0));
      break;
    }
    judged.push({ mutant, verdict });
    say(`${judged.length}/${mutants.size} ${verdict}: ${nameOf(mutant)}`);
  });
  return judged;
}

/** The test files that judge a mutant: first those that are quick and likely to notice it, as far as the budget goes. */
function judgesOf(
  mutant: Mutant,
  surveys: readonly Survey[],
  kills: ReadonlyMap<string, number>,
): Survey[] {
  const cost = ({ file, text, seconds }: Survey): number => {
    const imports = text.includes(`/${mutant.file}"`) ? 100 : 1;
    const known = 1 + 10 * (kills.get(keyOf(file, mutant)) ?? 0);
    return seconds / (imports * known * 100 ** likeness(file, mutant.file));
  };
  let spent = 0;
  return surveys.toSorted((a, b) => cost(a) - cost(b)).filter(({ file, seconds }, i) => {
    const isWithin = i === 0 || (spent += seconds) < BUDGET;
    return isWithin || GENERAL.includes(file);
  });
}

function keyOf(test: string, { file }: Mutant): string {
  return `${test} ${file.slice(0, file.lastIndexOf("/"))}`;
}

/** The words of two paths that are the same, as a share: how likely a test is about a file. */
function likeness(a: string, b: string): number {
  const [words, others] = [a, b].map((path) =>
    new Set(path.replace(/(_test)?\.ts$/, "").split(/[/_]/).map((word) => word.replace(/s$/, "")))
  ) as [Set<string>, Set<string>];
  return words.intersection(others).size / words.union(others).size;
}

/** Undefined for a test file that does not pass. */
async function surveyOf(tree: Tree, file: string): Promise<Survey | undefined> {
  const log = `${tree.path}/reached`;
  Deno.writeTextFileSync(log, "");
  const start = performance.now();
  if (!await passes(tree, file, { [REACHED]: log }, 600)) return undefined;
  return {
    file,
    text: Deno.readTextFileSync(`${tree.path}/${file}`),
    seconds: (performance.now() - start) / 1000,
    reached: new Set(Deno.readTextFileSync(log).split("\n")),
  };
}

/** Whether the tests of a file pass within some seconds. */
async function passes(
  tree: Tree,
  file: string,
  env: Readonly<Record<string, string>>,
  seconds: number,
): Promise<boolean> {
  const options = ["--quiet", "--allow-all", "--no-check", "--fail-fast", "--v8-flags=--expose-gc"];
  // A group of processes of its own, so that what the tests start ends with it.
  const process = new Deno.Command("setsid", {
    args: [Deno.execPath(), "test", ...options, ...await stdArguments(), file],
    cwd: tree.path,
    env: { ...env, IBVERBS_CACHE: tree.cache, PATH: await pathWithEmulator() },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const end = (): void => {
    new Deno.Command("kill", { args: ["-KILL", "--", `-${process.pid}`], stderr: "null" })
      .outputSync();
  };
  const timer = setTimeout(end, 1000 * seconds);
  const { success } = await process.status;
  clearTimeout(timer);
  end();
  return success;
}

/** Gives each copy of the project the next item when it has finished one. */
async function share<T>(
  trees: readonly Tree[],
  items: readonly T[],
  work: (tree: Tree, item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  await Promise.all(trees.map(async (tree) => {
    for (const item of queue) await work(tree, item);
  }));
}
