/** Runs test files in a copy of the project. */

import { stdArguments } from "../host/jsr.ts";
import { pathWithEmulator } from "../tests/emulator.ts";
import { say } from "../../rxe/host/report.ts";
import { lastLines } from "../../rxe/host/shell.ts";
import type { Tree } from "./tree.ts";

/** How a run of tests ended. */
export interface Ended {
  /** The status of `deno test`, or undefined when it took too long. */
  readonly status: number | undefined;
  readonly output: string;
  /** How long it took. */
  readonly seconds: number;
}

/** A test file that passes without a mutant. */
export interface Timed {
  /** The test file, from the project's folder. */
  readonly test: string;
  /** How long it takes. */
  readonly seconds: number;
}

/** Seconds after which a test file is given up. A busy machine is many times slower than a quiet one. */
const LONGEST = 240;

/** The status of timeout(1) for a command that took too long. */
const TIMED_OUT: readonly number[] = [124, 137];

/** Runs test files up to the first failure. */
export async function runTests(
  tree: Tree,
  tests: readonly string[],
  seconds: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const args = ["--signal=TERM", "--kill-after=2", `${seconds}`, Deno.execPath(), "test"];
  args.push("--quiet", "--allow-all", "--no-check", "--fail-fast", "--v8-flags=--expose-gc");
  const onHost = Deno.env.get("IBVERBS_GUEST") === undefined;
  const started = performance.now();
  const { code, stdout, stderr } = await new Deno.Command("timeout", {
    args: [...args, ...await stdArguments(), ...tests],
    cwd: tree.path,
    env: {
      NO_COLOR: "1",
      ...onHost && { IBVERBS_CACHE: tree.cache, PATH: await pathWithEmulator() },
      ...env,
    },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return {
    status: TIMED_OUT.includes(code) ? undefined : code,
    output: decoder.decode(stdout) + decoder.decode(stderr),
    seconds: (performance.now() - started) / 1000,
  };
}

/** Those of some test files that pass without a mutant. */
export async function timedTests(
  tree: Tree,
  tests: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Timed[]> {
  const passed: Timed[] = [];
  for (const test of tests) {
    const { status, seconds, output } = await runTests(tree, [test], LONGEST, env);
    if (status === 0) passed.push({ test, seconds });
    else say(`mutants: ${test} judges nothing:\n${lastLines(output, 20)}`);
  }
  return passed;
}

/** The words of two paths that are the same, as a share: how likely a test is about a file. */
export function likeness(a: string, b: string): number {
  const [words, others] = [a, b].map((path) =>
    new Set(path.replace(/(_test)?\.ts$/, "").split(/[/_]/).map((word) => word.replace(/s$/, "")))
  ) as [Set<string>, Set<string>];
  return words.intersection(others).size / words.union(others).size;
}
