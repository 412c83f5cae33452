/** Which test file executes which lines, and how long it takes: measured once and kept. */

import { createHash } from "node:crypto";
import { inProject } from "../host/paths.ts";
import { testFiles } from "../tests/files.ts";
import { say } from "../../rxe/host/report.ts";
import { capture } from "../../rxe/host/shell.ts";
import type { Mutant } from "./generate.ts";
import { likeness, LONGEST, runTests, type Timed } from "./tests.ts";
import type { Tree } from "./tree.ts";

/** What one test file executes. */
export interface Record extends Omit<Timed, "seconds"> {
  /** How long it takes; undefined if it fails or never ends, and so judges nothing. */
  readonly seconds?: number;
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

/** Measures test files that changed, or that executed some of these files before those changed. */
export async function measure(
  trees: readonly Tree[],
  files: ReadonlySet<string>,
): Promise<Record[]> {
  const records = new Map<string, Record>();
  const tests = testFiles(["tests/pure", "tests/library"]);
  const queue = tests.filter((test) => !LEFT_OUT.includes(test)).filter((test) => {
    const record = read(test);
    if (record !== undefined && isFresh(record, files)) records.set(test, record);
    return !records.has(test);
  });
  if (queue.length > 0) say(`mutants: measuring what ${queue.length} test files execute`);
  const work = async (tree: Tree): Promise<void> => {
    for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
      const record = await measureOne(tree, test);
      if (record.seconds === undefined) {
        say(`mutants: ${test} fails or is long, and judges nothing`);
      }
      Deno.mkdirSync(FOLDER, { recursive: true });
      Deno.writeTextFileSync(pathOf(test), JSON.stringify(record));
      records.set(test, record);
    }
  };
  await Promise.all(trees.map(work));
  return [...records.values()];
}

async function measureOne(tree: Tree, test: string): Promise<Record> {
  const raw = Deno.makeTempDirSync({ prefix: "ibverbs-coverage-" });
  try {
    const { status, output, seconds } = await runTests(tree, [test], LONGEST, {
      DENO_COVERAGE_DIR: raw,
    });
    for (const { name } of Deno.readDirSync(raw)) {
      // What a Worker leaves that is terminated while it writes.
      if (Deno.statSync(`${raw}/${name}`).size === 0) Deno.removeSync(`${raw}/${name}`);
    }
    const covered = await capture(Deno.execPath(), "coverage", "--lcov", "--quiet", raw);
    const failed = status !== 0 || covered.status !== 0;
    if (failed) say(`${output.slice(-500)}${covered.stderr.slice(-500)}`);
    const lines = readLcov(covered.stdout, tree.path);
    const hashes = Object.fromEntries(
      [test, ...Object.keys(lines)].map((file) => [file, hashOf(`${tree.path}/${file}`)]),
    );
    return { test, ...!failed && { seconds }, lines, hashes };
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

function read(test: string): Record | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(pathOf(test)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function isFresh({ test, hashes }: Record, files: ReadonlySet<string>): boolean {
  return Object.entries(hashes).every(([file, known]) =>
    file !== test && !files.has(file) || hashOf(inProject(file)) === known
  );
}

const hashes = new Map<string, string>();

/** The hash of a file, which does not change during a run; an empty text if there is none. */
function hashOf(path: string): string {
  const found = hashes.get(path) ?? hash(path);
  hashes.set(path, found);
  return found;
}

function hash(path: string): string {
  try {
    return createHash("sha256").update(Deno.readFileSync(path)).digest("hex");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** The test files that execute a mutant's lines, those that most likely notice it first. */
export function testsOf(
  { file, lines: [first, last] }: Mutant,
  records: readonly Record[],
): Timed[] {
  return records
    .flatMap(({ test, seconds, lines }) => seconds === undefined ? [] : [{ test, seconds, lines }])
    .filter(({ lines }) => lines[file]?.some((line) => first <= line && line <= last))
    .sort((a, b) => costOf(a, file) - costOf(b, file));
}

/** A test file of the same subject is worth more time. */
function costOf({ test, seconds }: Timed, file: string): number {
  return seconds / 100 ** likeness(test, file);
}
