/** Runs passes of tests and counts their results. */

import { runInGuest } from "../guest/run.ts";
import { processorsOfEach } from "../../rxe/guest/qemu.ts";
import { Held, lines, writeAll } from "../../rxe/guest/streams.ts";
import { stdArguments } from "../host/jsr.ts";
import { compileC } from "../../tests/c/compile.ts";
import { inProject, out, project, sourcesIn } from "../host/paths.ts";
import { capture, exists, say, SetupError } from "../host/setup.ts";
import { brief } from "./brief.ts";
import { mapToBundles } from "./bundled.ts";
import { atOnce, type Job, jobsOf, type Setting } from "./jobs.ts";
import { add, countCases, type Counts, NONE } from "./junit.ts";
import { complaints } from "./kernel_log.ts";
import { testFiles } from "./files.ts";
import type { Pass } from "./plan.ts";

/** Where a job's output goes. */
type Output = Readonly<Record<"stdout" | "stderr", Held>>;

export interface Ending {
  readonly counts: Counts;
  /** The status of `deno test`; undefined if the guest did not report it. */
  readonly status: number | undefined;
  /** What went wrong beside the tests. */
  readonly problems: readonly string[];
}

// Far above what the whole tier needs where the guest is emulated; a test that hangs must not hang
// the run.
const DEVICE_SECONDS = 1200;

// Deno writes a report in pieces of a few bytes. Each is a message to the host when the file is in a
// folder of the host: two busy guests take 4 minutes for 70 kB.
const GUEST_REPORT = "/run/junit.xml";
const BRING_REPORT = `"$@"; status=$?
[ ! -e ${GUEST_REPORT} ] || cp ${GUEST_REPORT} "$0"
exit $status`;

/** Runs the passes, some at once; their output comes one after the other. */
export async function runPasses(
  passes: readonly Pass[],
  setting: Setting & { readonly filtered: boolean },
): Promise<Counts> {
  await Deno.mkdir(out, { recursive: true });
  const jobs = (await Promise.all(passes.map((pass) => jobsOf(pass, setting)))).flat();
  const isGuestNeeded = jobs.some(({ inGuest }) => inGuest);
  const bundles = isGuestNeeded ? translate(passes).then(mapToBundles) : undefined;
  const runs = jobs.map((job) => ({
    job,
    output: { stdout: new Held(), stderr: new Held() },
    ending: Promise.withResolvers<Ending>(),
  }));
  const runners = Map.groupBy(runs, ({ job }) => job.runner);
  const guests = [...runners.values()].filter(([run]) => run!.job.inGuest).length;
  for (const [runner, ofRunner] of runners) {
    // Whoever is free takes the next one.
    const rest = ofRunner.values();
    const work = async (): Promise<void> => {
      for (const { job, output, ending } of rest) {
        await runJob(job, { guests, bundles, ...setting }, output).then(
          ending.resolve,
          ending.reject,
        );
      }
    };
    for (let i = 0; i < atOnce(runner); i++) work();
  }
  let sum = NONE;
  for (const { job, output, ending } of runs) {
    say(`\n== ${job.title}`);
    await output.stderr.release(Deno.stderr);
    await output.stdout.release(Deno.stdout);
    const ended = await ending.promise;
    const faults = faultsOf(ended, setting.filtered);
    for (const fault of faults) say(`error: ${fault}`);
    sum = add(sum, add(ended.counts, { ...NONE, failed: faults.length }));
  }
  return sum;
}

/** What failed beside tests, so that the final numbers include it. */
export function faultsOf({ counts, status, problems }: Ending, filtered: boolean): string[] {
  const { passed, failed, ignored } = counts;
  const found = [...problems];
  // A failed test ends the command with status 1; that is one failure, not two.
  if (status !== undefined && status !== (failed > 0 ? 1 : 0)) {
    found.push(`deno test ended with status ${status}`);
  }
  if (passed + failed === 0 && !filtered) found.push("no test was executed");
  // The report does not distinguish tests that are filtered out from ignored ones.
  if (ignored > 0 && !filtered) found.push(`${ignored} tests were ignored`);
  return found;
}

interface Guests extends Pick<Setting, "brief" | "system"> {
  /** How many run at once. */
  readonly guests: number;
  /** An import map, when what guests need is translated; none if no job runs in a guest. */
  readonly bundles: Promise<string> | undefined;
}

async function runJob(job: Job, guests: Guests, output: Output): Promise<Ending> {
  const { report } = job;
  if (exists(report)) await Deno.remove(report);
  const ended = job.inGuest
    ? await runInOneGuest(job, guests, output)
    : { status: await runHere(job, output, guests.brief), problems: [] };
  const counts = exists(report) ? countCases(await Deno.readTextFile(report)) : NONE;
  return { ...ended, counts };
}

function testCommand({ args }: Job, report: string): string[] {
  return ["test", `--junit-path=${report}`, ...args];
}

async function runHere(job: Job, output: Output, isBrief: boolean): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: testCommand(job, job.report),
    env: job.env,
    cwd: project,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await Promise.all((["stdout", "stderr"] as const).map(async (name) => {
    const shown = isBrief && name === "stdout" ? encoded(brief(lines(child[name]))) : child[name];
    for await (const bytes of shown) await writeAll(output[name], bytes);
  }));
  return (await child.status).code;
}

async function* encoded(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  for await (const line of lines) yield new TextEncoder().encode(`${line}\n`);
}

/** What device tests have the C compiler make. */
const C_PARTS: readonly (readonly [string, readonly string[]])[] = [
  ["ah_from_wc.c", ["-libverbs"]],
  ["../device/permissions/driver.c", ["-shared", "-fPIC"]],
];

/** Translates modules and C here, because that takes an emulated processor seconds. What fails here fails there. */
async function translate(passes: readonly Pass[]): Promise<void> {
  const files = passes.flatMap(({ tier, paths }) => tier === "device" ? testFiles(paths) : []);
  // Tests start the examples.
  const paths = [...files, ...sourcesIn("examples")].map(inProject);
  await capture(Deno.execPath(), "cache", "--quiet", ...await stdArguments(), ...paths);
  await Promise.allSettled(C_PARTS.map(([name, flags]) => compileC(name, flags)));
}

async function runInOneGuest(
  job: Job,
  { guests, bundles, system }: Guests,
  output: Output,
): Promise<Omit<Ending, "counts">> {
  const problems: string[] = [];
  try {
    const importMap = await bundles;
    const command = ["deno", ...testCommand(job, GUEST_REPORT)];
    const status = await runInGuest(["sh", "-c", BRING_REPORT, job.report, ...command], {
      ...output,
      ...system,
      stub: true,
      processors: processorsOfEach(guests),
      env: {
        ...job.env,
        ...importMap !== undefined && { IBVERBS_IMPORT_MAP: importMap },
      },
      timeout: DEVICE_SECONDS,
      onKernelLog: (log) =>
        problems.push(...complaints(log).map((line) => `the guest's kernel: ${line}`)),
    });
    return { status, problems };
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return { status: undefined, problems: [...problems, error.message] };
  }
}
