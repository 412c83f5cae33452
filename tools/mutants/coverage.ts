/** Which test file executes which lines, and how long it takes: measured once and kept. */

import { createHash } from "node:crypto";
import { inProject } from "../host/paths.ts";
import { testFiles } from "../tests/files.ts";
import { say } from "../../rxe/host/report.ts";
import { capture, exists } from "../../rxe/host/shell.ts";
import type { Mutant } from "./generate.ts";
import { likeness, type Timed, timedTests } from "./tests.ts";
import type { Tree } from "./tree.ts";

/** What one test file executes. */
export interface Coverage extends Timed {
  /** The executed lines of each file of the project, from 1. */
  readonly lines: { readonly [file: string]: readonly number[] };
  /** The contents that were measured. */
  readonly hashes: { readonly [file: string]: string };
}

/** Host tests that judge no mutant. */
const LEFT_OUT: readonly string[] = [
  // Takes minutes, and finds crashes only.
  "tests/library/misuse/misuse_test.ts",
  // Needs the git repository, which a copy of the project has not.
  "tests/library/tools/package_test.ts",
];

const FOLDER = inProject(".cache/mutants");

/** What each host test executes. It is measured again for files that changed, if mutants of them are drawn. */
export async function measure(
  trees: readonly Tree[],
  drawn: ReadonlySet<string>,
): Promise<Coverage[]> {
  const tests = testFiles(["tests/pure", "tests/library"]).filter((test) =>
    !LEFT_OUT.includes(test)
  );
  const measured = tests.map(read).filter((one) => one !== undefined && isFresh(one, drawn));
  const queue = tests.filter((test) => !measured.some((one) => one!.test === test));
  if (queue.length > 0) say(`mutants: measuring what ${queue.length} test files execute`);
  const work = async (tree: Tree): Promise<void> => {
    for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
      measured.push(await measureOne(tree, test));
    }
  };
  await Promise.all(trees.map(work));
  return measured.filter((one) => one !== undefined);
}

/** Undefined if the tests fail without a mutant, or never end: they judge nothing. */
async function measureOne(tree: Tree, test: string): Promise<Coverage | undefined> {
  const raw = Deno.makeTempDirSync({ prefix: "ibverbs-coverage-" });
  try {
    const [timed] = await timedTests(tree, [test], { DENO_COVERAGE_DIR: raw });
    if (timed === undefined) return undefined;
    for (const { name } of Deno.readDirSync(raw)) {
      // What a Worker leaves that is terminated while it writes.
      if (Deno.statSync(`${raw}/${name}`).size === 0) Deno.removeSync(`${raw}/${name}`);
    }
    const report = await capture(Deno.execPath(), "coverage", "--lcov", "--quiet", raw);
    if (report.status !== 0) {
      say(`mutants: ${test} judges nothing, its coverage cannot be read:\n${report.stderr}`);
      return undefined;
    }
    const lines = readLcov(report.stdout, tree.path);
    const hashes = Object.fromEntries(
      [test, ...Object.keys(lines)].map((file) => [file, hashOf(`${tree.path}/${file}`)]),
    );
    const coverage = { ...timed, lines, hashes };
    Deno.mkdirSync(FOLDER, { recursive: true });
    Deno.writeTextFileSync(pathOf(test), JSON.stringify(coverage));
    return coverage;
  } finally {
    Deno.removeSync(raw, { recursive: true });
  }
}

/** The executed lines in a report in the format of lcov, for files below a folder. */
export function readLcov(report: string, folder: string): { [file: string]: number[] } {
  const lines: { [file: string]: number[] } = {};
  let file = "";
  for (const line of report.split("\n")) {
    const [key, value = ""] = line.split(":", 2);
    if (key === "SF") file = value;
    const [number, count] = value.split(",").map(Number);
    if (key !== "DA" || count === 0 || !file.startsWith(`${folder}/`)) continue;
    (lines[file.slice(folder.length + 1)] ??= []).push(number!);
  }
  return lines;
}

function pathOf(test: string): string {
  return `${FOLDER}/${test.replaceAll("/", "-")}.json`;
}

function read(test: string): Coverage | undefined {
  return exists(pathOf(test)) ? JSON.parse(Deno.readTextFileSync(pathOf(test))) : undefined;
}

function isFresh({ test, hashes }: Coverage, drawn: ReadonlySet<string>): boolean {
  return Object.entries(hashes).every(([file, known]) =>
    file !== test && !drawn.has(file) || hashOf(inProject(file)) === known
  );
}

const known = new Map<string, string>();

/** The hash of a file, which does not change during a run; an empty text if there is none. */
function hashOf(path: string): string {
  const hash = known.get(path) ??
    (exists(path) ? createHash("sha256").update(Deno.readFileSync(path)).digest("hex") : "");
  known.set(path, hash);
  return hash;
}

/** The test files that execute a mutant's lines, those that most likely notice it first. */
export function testsOf(
  { file, lines: [first, last] }: Mutant,
  measured: readonly Coverage[],
): Timed[] {
  return measured
    .filter(({ lines }) => lines[file]?.some((line) => first <= line && line <= last))
    .sort((a, b) => costOf(a, file) - costOf(b, file));
}

/** A test file of the same subject is worth more time. */
function costOf({ test, seconds }: Timed, file: string): number {
  return seconds / 100 ** likeness(test, file);
}
