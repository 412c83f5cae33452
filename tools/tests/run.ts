/** Runs passes of tests and counts their results. */

import { runInGuest } from "../guest/run.ts";
import { processorsOfEach } from "../../rxe/guest/qemu.ts";
import { Held } from "../../rxe/guest/streams.ts";
import { tracing } from "../coverage/called.ts";
import { stdArguments } from "../host/jsr.ts";
import { inProject, out, project } from "../host/paths.ts";
import { say, SetupError } from "../../rxe/host/report.ts";
import { capture, exists } from "../../rxe/host/shell.ts";
import { pathWithEmulator } from "./emulator.ts";
import { guestCount, testFiles } from "./files.ts";
import { add, countCases, type Counts, NONE } from "./junit.ts";
import { complaints } from "./kernel_log.ts";
import type { Pass } from "./plan.ts";

/** How the passes are run. */
export interface Setting {
  /** Runs the device tier in guests, with rxe and the stub HCA. */
  guest: boolean;
  /** Further arguments for `deno test`. */
  extra: string[];
  /** Only some tests of each file were asked for. */
  filtered: boolean;
  /** Tests note the verbs that they call. */
  traced: boolean;
}

/** One start of `deno test`. */
interface Start {
  /** What follows `deno test`, without the report's option. */
  args: string[];
  /** The file of its report. */
  report: string;
  env: Record<string, string>;
}

// Far above what the whole tier needs where the guest is emulated; a test that hangs must not hang
// the run.
const DEVICE_SECONDS = 1200;

// Deno writes a report in pieces of a few bytes. Each is a message to the host when the file is in a
// folder of the host: two busy guests take 4 minutes for 70 kB.
const GUEST_REPORT = "/run/junit.xml";
const GUEST_COVERAGE = "/run/coverage";
const BRING_REPORT = `"$@"; status=$?
[ ! -e ${GUEST_REPORT} ] || cp ${GUEST_REPORT} "$0"
[ ! -e ${GUEST_COVERAGE} ] || tar -cf "\${0%/*}/coverage/\${0##*/}.tar" -C ${GUEST_COVERAGE} .
exit $status`;

/** Where each process of Deno notes which lines it runs, if that is measured. */
const COVERAGE = "DENO_COVERAGE_DIR";

const EXIT = "deno test ended with status";

/** Runs the passes one after the other. */
export async function runPasses(passes: readonly Pass[], setting: Setting): Promise<Counts> {
  let sum = NONE;
  for (const pass of passes) sum = add(sum, await runPass(pass, setting));
  return sum;
}

async function runPass(pass: Pass, setting: Setting): Promise<Counts> {
  const inGuest = pass.tier === "device" && setting.guest;
  const variables = Object.entries(pass.env).map(([name, value]) => `, ${name}=${value}`).join("");
  say(`\n== ${pass.tier} tests, ${inGuest ? "in the guest" : "on this host"}${variables}`);
  await Deno.mkdir(out, { recursive: true });
  const starts = await startsOf(pass, setting);
  for (const { report } of starts) if (exists(report)) await Deno.remove(report);
  const problems = inGuest ? await runInGuests(starts) : await runOnHost(starts[0]!);
  let counts = NONE;
  for (const { report } of starts) {
    if (exists(report)) counts = add(counts, countCases(await Deno.readTextFile(report)));
  }
  return judged(pass, counts, problems, setting.filtered);
}

async function startsOf({ tier, paths, env }: Pass, setting: Setting): Promise<Start[]> {
  const options = ["--no-check", "--allow-all", "--v8-flags=--expose-gc", ...await stdArguments()];
  const reachesVerbs = tier === "library" || tier === "device";
  const start = (name: string, ...what: string[]): Start => {
    const report = `${out}/junit-${name}.xml`;
    const trace = setting.traced && reachesVerbs ? tracing(name) : { args: [], env: {} };
    const args = [...options, ...trace.args, ...setting.extra, ...what];
    return { args, report, env: { ...env, ...trace.env } };
  };
  if (tier === "pure" || tier === "project") return [start(tier, ...paths)];
  if (tier === "library") {
    const one = start(tier, ...paths);
    return [{ ...one, env: { ...one.env, PATH: await pathWithEmulator() } }];
  }
  const files = testFiles(paths);
  const count = setting.guest ? guestCount(files.length) : 1;
  if (setting.guest) await translate(files);
  return Array.from(
    { length: count },
    (_, i) =>
      start(
        `${tier}-${i + 1}`,
        inProject("tools/tests/share.ts"),
        "--",
        `${i + 1}/${count}`,
        ...files,
      ),
  );
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

/** The arguments of Deno. */
function testCommand({ args }: Start, report: string): string[] {
  return ["test", `--junit-path=${report}`, ...args];
}

async function runOnHost(start: Start): Promise<string[]> {
  const { env, report } = start;
  const options = { args: testCommand(start, report), env, cwd: project, stdin: "null" } as const;
  const { code } = await new Deno.Command(Deno.execPath(), options).spawn().status;
  return code === 0 ? [] : [`${EXIT} ${code}`];
}

/** Has Deno translate the modules here, because that takes an emulated processor seconds. */
async function translate(files: readonly string[]): Promise<void> {
  const paths = [...files, ...testees()].map(inProject);
  // What cannot be loaded fails in the guest, with its message.
  await capture(Deno.execPath(), "cache", "--quiet", ...await stdArguments(), ...paths);
}

/** The programs that the tests start. */
function testees(): string[] {
  return [...Deno.readDirSync(inProject("examples"))]
    .filter(({ name }) => name.endsWith(".ts"))
    .map(({ name }) => `examples/${name}`);
}

/** Runs each start in a guest of its own, all at once; their output comes one after the other. */
async function runInGuests(starts: readonly Start[]): Promise<string[]> {
  const processors = processorsOfEach(starts.length);
  const guests = starts.map((start) => {
    const output = { stdout: new Held(), stderr: new Held() };
    return { output, problems: runInOneGuest(start, processors, output) };
  });
  const found: string[] = [];
  for (const { output, problems } of guests) {
    await output.stderr.release(Deno.stderr);
    await output.stdout.release(Deno.stdout);
    found.push(...await problems);
  }
  return found;
}

async function runInOneGuest(
  start: Start,
  processors: number,
  output: { stdout: Held; stderr: Held },
): Promise<string[]> {
  const problems: string[] = [];
  try {
    const command = ["deno", ...testCommand(start, GUEST_REPORT)];
    const status = await runInGuest(["sh", "-c", BRING_REPORT, start.report, ...command], {
      ...output,
      stub: true,
      processors,
      env: { ...start.env, ...Deno.env.has(COVERAGE) ? { [COVERAGE]: GUEST_COVERAGE } : {} },
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
