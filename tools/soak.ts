/** Does everything at once for a long time, in the guest, and shows that nothing leaks and nothing is lost. */

import { many, oneOf, positive } from "../internal/command_line.ts";
import { exists, say, SetupError } from "./host/setup.ts";
import { stdArguments } from "./host/jsr.ts";
import { inProject, out } from "./host/paths.ts";
import { runInGuest } from "./guest/run.ts";
import { deadline, type Plan, planOf, type WorkloadName, WORKLOADS } from "./soak/plan.ts";
import type { SoakRecord } from "./soak/record.ts";
import { faults, growths } from "./soak/verdict.ts";
import { tool } from "./host/tool.ts";

const MINUTES = 60;
const SHORT_MINUTES = 1;
const NAMES = Object.keys(WORKLOADS) as WorkloadName[];

const HELP =
  `Makes address handles, tables, queue pairs, messages, address changes, aborted calls and Workers
at once, in the guest. It counts every message, and samples memory, kernel objects, descriptors and
threads.

  deno task long soak [OPTIONS]

  --minutes N      length of the run (default ${MINUTES}); a slow machine gets more time
  --short          a run of ${SHORT_MINUTES} minute at lower rates; its record is in out/ only, not in docs/
  --without NAME   leave a workload out, to see the run fail; may be given several times:
                   ${NAMES.join(", ")}
  --one-processor  the guest uses one processor. By emulation on a busy machine, a call that wakes a thread
                   on another processor takes up to ten times as long

Exit status: 1 if less than 80 % of the plan is done, if a message is lost, comes twice or is changed, if a
series grows beyond its limit, or if kernel objects are left.
`;

/** The program needs time to start and to close everything. */
const MARGIN_SECONDS = 300;
const ONE_PROCESSOR = [
  "sh",
  "-c",
  'echo 0 >/sys/devices/system/cpu/cpu1/online && exec "$@"',
  "sh",
];
const PROGRAM = "tools/soak/guest/main.ts";
const RECORD = `${out}/soak.json`;

await tool(
  HELP,
  { short: "flag", minutes: positive, without: many(oneOf(...NAMES)), "one-processor": "flag" },
  async ({ short = false, minutes, without, "one-processor": oneProcessor }) => {
    const seconds = 60 * (minutes ?? (short ? SHORT_MINUTES : MINUTES));
    const record = await run(planOf(seconds, short, without), oneProcessor ?? false);
    if (!short) await Deno.copyFile(RECORD, inProject("docs/soak.json"));
    return report(record);
  },
);

async function run(plan: Plan, oneProcessor: boolean): Promise<SoakRecord> {
  const command = [
    ...oneProcessor ? ONE_PROCESSOR : [],
    ...["deno", "run", "-A", "--no-check", "--v8-flags=--expose-gc"],
    ...await stdArguments(),
    ...[PROGRAM, JSON.stringify(plan), RECORD],
  ];
  await Deno.mkdir(out, { recursive: true });
  if (exists(RECORD)) await Deno.remove(RECORD);
  const timeout = deadline(plan.seconds) + MARGIN_SECONDS;
  const status = await runInGuest(command, { stub: true, timeout });
  if (!exists(RECORD)) {
    throw new SetupError(`the program in the guest ended with status ${status} and no record`);
  }
  return JSON.parse(await Deno.readTextFile(RECORD));
}

/** The last line is read by machines too. */
function report(record: SoakRecord): number {
  const found = faults(record);
  for (const { text } of growths(record)) say(text);
  for (const fault of found) say(`fault: ${fault}`);
  const { messages, counts, processorSeconds, seconds } = record.outcome;
  const share = Math.round(100 * processorSeconds / seconds);
  const figures = Object.entries({ ...messages, ...counts })
    .map(([name, count]) => `${name} ${count}`);
  say(`soak: ${Math.round(seconds)} s, ${share} % of a processor`);
  console.log(`\n${figures.join(", ")}, faults ${found.length}`);
  return found.length === 0 ? 0 : 1;
}
