/** Runs passes of tests and counts their results. */

import { runInGuest } from "../guest/run.ts";
import { stdArguments } from "../host/jsr.ts";
import { out, project } from "../host/paths.ts";
import { say, SetupError } from "../host/report.ts";
import { exists } from "../host/shell.ts";
import { pathWithEmulator } from "./emulator.ts";
import { add, countCases, type Counts } from "./junit.ts";
import { complaints } from "./kernel_log.ts";
import type { Pass } from "./plan.ts";
import { withStub } from "./stub.ts";

/** How the passes are run. */
export interface Setting {
  /** Runs the device tier in the guest, with rxe and the stub HCA. */
  guest: boolean;
  /** Further arguments for `deno test`. */
  extra: string[];
  /** Only some tests of each file were asked for. */
  filtered: boolean;
}

// Far above what the whole tier needs where the guest is emulated; a test that hangs must not hang
// the run.
const DEVICE_SECONDS = 1200;

const EXIT = "deno test ended with status";

/** Runs the passes one after the other. */
export async function runPasses(passes: readonly Pass[], setting: Setting): Promise<Counts> {
  let sum: Counts = { passed: 0, failed: 0, ignored: 0 };
  for (const pass of passes) sum = add(sum, await runPass(pass, setting));
  return sum;
}

async function runPass(pass: Pass, setting: Setting): Promise<Counts> {
  const inGuest = pass.tier === "device" && setting.guest;
  const variables = Object.entries(pass.env).map(([name, value]) => `, ${name}=${value}`).join("");
  say(`\n== ${pass.tier} tests, ${inGuest ? "in the guest" : "on this host"}${variables}`);
  await Deno.mkdir(out, { recursive: true });
  const report = `${out}/junit-${pass.tier}.xml`;
  if (exists(report)) await Deno.remove(report);
  const args = await testArguments(pass, setting, report);
  const problems = inGuest
    ? await runTierInGuest(args, pass.env)
    : await runOnHost(args, await hostEnvironment(pass));
  const counts = exists(report)
    ? countCases(await Deno.readTextFile(report))
    : { passed: 0, failed: 0, ignored: 0 };
  return judged(pass, counts, problems, setting.filtered);
}

async function testArguments(pass: Pass, setting: Setting, report: string): Promise<string[]> {
  const options = ["--no-check", "--allow-all", "--v8-flags=--expose-gc", `--junit-path=${report}`];
  return ["test", ...options, ...await stdArguments(), ...setting.extra, ...pass.paths];
}

/** Turns what went wrong beside the tests into failures, so that the final numbers tell of it. */
function judged(pass: Pass, counts: Counts, problems: string[], filtered: boolean): Counts {
  const found = [...problems];
  if (pass.tier === "device" && !filtered) {
    if (counts.passed + counts.failed === 0) found.push("no device test was executed");
    if (counts.ignored > 0) found.push(`${counts.ignored} device tests were ignored`);
  }
  // A failed test makes the command fail too; that is one failure, not two.
  const others = counts.failed > 0 ? found.filter((problem) => !problem.startsWith(EXIT)) : found;
  for (const problem of others) say(`error: ${problem}`);
  return add(counts, { passed: 0, failed: others.length, ignored: 0 });
}

async function hostEnvironment({ tier, env }: Pass): Promise<Record<string, string>> {
  return tier === "library" ? { ...env, PATH: await pathWithEmulator() } : env;
}

async function runOnHost(args: string[], env: Record<string, string>): Promise<string[]> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args,
    env,
    cwd: project,
    stdin: "null",
  }).spawn().status;
  return code === 0 ? [] : [`${EXIT} ${code}`];
}

async function runTierInGuest(args: string[], env: Record<string, string>): Promise<string[]> {
  const problems: string[] = [];
  try {
    const status = await runInGuest(await withStub(["deno", ...args]), {
      env,
      timeout: DEVICE_SECONDS,
      onKernelLog: (log) =>
        problems.push(...complaints(log).map((line) => `the guest's kernel: ${line}`)),
    });
    if (status !== 0) problems.push(`${EXIT} ${status}`);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    problems.push(error.message);
  }
  return problems;
}
