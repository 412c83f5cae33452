/** Runs the tests of mutants. */

import { stdArguments } from "../host/jsr.ts";
import { SetupError } from "../../rxe/host/report.ts";
import { lastLines } from "../../rxe/host/shell.ts";
import type { Mutant } from "./mutant.ts";
import type { Tree } from "./tree.ts";

/** How a mutant ended. */
export type Verdict = "killed" | "timed out" | "survived" | "no program";

/** A mutant and how it ended. */
export interface Judged {
  /** The mutant's name. */
  readonly id: string;
  /** How it ended. A mutant that hangs is killed as well. */
  readonly verdict: Verdict;
}

/** The status of timeout(1) for a command that took too long. */
const TIMED_OUT: readonly number[] = [124, 137];

/** What only a mutant that is no program says. */
const NO_PROGRAM =
  /ReferenceError|SyntaxError: |could not be parsed|does not provide an export named/;

interface Ended {
  readonly status: number;
  readonly output: string;
}

/** Runs test files in a copy of the project, up to the first failure. */
async function runTests(
  tree: Tree,
  tests: readonly string[],
  thunks: string,
  seconds: number,
): Promise<Ended> {
  const args = ["--signal=TERM", "--kill-after=2", `${seconds}`, Deno.execPath(), "test"];
  args.push("--quiet", "--allow-all", "--no-check", "--fail-fast", "--v8-flags=--expose-gc");
  const { code, stdout, stderr } = await new Deno.Command("timeout", {
    args: [...args, ...await stdArguments(), ...tests],
    cwd: tree.path,
    env: { IBVERBS_THUNKS: thunks, NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { status: code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

/**
 * Runs the tests of some mutants without any mutant: a test that fails anyway kills nothing.
 *
 * @throws {SetupError} If a test fails.
 */
export async function checkTests(
  tree: Tree,
  mutants: readonly Mutant[],
  seconds: number,
): Promise<void> {
  for (const [thunks, group] of Map.groupBy(mutants, ({ thunks }) => thunks)) {
    const tests = [...new Set(group.flatMap(({ tests }) => tests))].sort();
    const { status, output } = await runTests(tree, tests, thunks, seconds);
    if (status === 0) continue;
    throw new SetupError(
      `the tests fail without a mutant (status ${status}):\n${lastLines(output, 40)}`,
    );
  }
}

/** Applies a mutant and runs its tests. A mutant that is no program counts for nothing: the list is wrong. */
export async function judge(tree: Tree, mutant: Mutant, seconds: number): Promise<Judged> {
  const { id, tests, thunks } = mutant;
  using _applied = tree.apply(mutant);
  const { status, output } = await runTests(tree, tests, thunks, seconds);
  if (status === 0) return { id, verdict: "survived" };
  if (TIMED_OUT.includes(status)) return { id, verdict: "timed out" };
  return { id, verdict: NO_PROGRAM.test(output) ? "no program" : "killed" };
}
