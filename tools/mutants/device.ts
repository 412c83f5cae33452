/** Judges mutants by tests that need a device: in a guest, or for the guest's own code by starting one. */

import { ensureGuest } from "../../rxe/guest/parts.ts";
import { SetupError } from "../../rxe/host/report.ts";
import { runInGuest } from "../guest/run.ts";
import { inProject, out } from "../host/paths.ts";
import { testFiles } from "../tests/files.ts";
import type { Mutant } from "./generate.ts";
import { judgeAll, type Judged } from "./judge.ts";
import { likeness, timedTests } from "./tests.ts";
import { Tree } from "./tree.ts";

/** How many test files a mutant gets: a guest is slow. */
const MOST = 3;

/** Seconds for a whole guest. */
const GUEST_SECONDS = 3 * 3600;

/** The test of the guest's own code. It starts guests. */
const GUEST_TEST = "tests/project/guest_start_test.ts";

/** Device tests that use most of what has no device tests of its own. */
const GENERAL = ["queue_pair/ud_test.ts", "queue_pair/rc_test.ts", "lifetime/lifetime_test.ts"];

/**
 * The device tests whose names are most like a file's. What they execute is not measured: they take
 * minutes in a guest, and far longer with coverage.
 */
export function deviceTestsOf(file: string): string[] {
  const folder = "tests/device/";
  const found = testFiles([folder.slice(0, -1)])
    .map((test) => ({ test, like: likeness(test.slice(folder.length), file) }))
    .filter(({ like }) => like > 0)
    .sort((a, b) => b.like - a.like)
    .slice(0, MOST)
    .map(({ test }) => test);
  return found.length > 0 ? found : GENERAL.map((test) => `${folder}${test}`);
}

/** Judges mutants by device tests. */
export async function judgeWithDevice(mutants: readonly Mutant[]): Promise<Judged[]> {
  await ensureGuest();
  const { ofGuest = [], others = [] } = Object.groupBy(
    mutants,
    ({ file }) => file.startsWith("rxe/") ? "ofGuest" : "others",
  );
  return [
    ...others.length === 0 ? [] : await judgeInGuest(others),
    ...ofGuest.length === 0 ? [] : await judgeGuest(ofGuest),
  ];
}

/** Judges mutants of the guest's own code, here: no guest starts another one. */
async function judgeGuest(mutants: readonly Mutant[]): Promise<Judged[]> {
  using tree = new Tree();
  const tests = await timedTests(tree, [GUEST_TEST]);
  return await judgeAll([tree], mutants, () => tests);
}

/** Judges mutants in one guest with rxe0 and stub0. */
async function judgeInGuest(mutants: readonly Mutant[]): Promise<Judged[]> {
  const [given, report] = [`${out}/mutants_given.json`, `${out}/mutants.json`];
  await Deno.mkdir(out, { recursive: true });
  await Deno.writeTextFile(given, JSON.stringify(mutants));
  await Deno.remove(report).catch(() => {});
  const session = inProject("tools/mutants/in_guest.ts");
  const command = ["deno", "run", "--allow-all", "--no-check", session, given, report];
  const status = await runInGuest(command, { stub: true, timeout: GUEST_SECONDS });
  if (status !== 0) throw new SetupError(`the session in the guest ended with status ${status}`);
  return JSON.parse(await Deno.readTextFile(report));
}
