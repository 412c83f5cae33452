/**
 * Does everything at once for a long time, in the guest, and shows that nothing leaks and nothing is lost.
 *
 * @module
 */

import { denoCommand } from "../rxe/host/deno_command.ts";
import { positive, readOnlyOptions, text, type Value } from "../rxe/host/options.ts";
import { main, say, SetupError } from "../rxe/host/report.ts";
import { stdArguments } from "./host/jsr.ts";
import { inProject } from "./host/paths.ts";
import { runInGuest } from "./guest/run.ts";
import { intervalOf, type Plan, RATES } from "./soak/plan.ts";
import { plot } from "./soak/plot.ts";
import { Lines } from "./soak/lines.ts";
import type { Outcome, Sample, SoakRecord } from "./soak/record.ts";
import { faults } from "./soak/verdict.ts";

const MINUTES = 60;
const SHORT_MINUTES = 1;

const HELP =
  `Makes address handles, tables, queue pairs, messages, address changes, aborted calls and Workers
at once, in the guest. It counts every message, and samples memory, kernel objects, descriptors and
threads.

  ${denoCommand()} task long soak [OPTIONS]

  --minutes N      length of the run (default ${MINUTES})
  --short          a run of ${SHORT_MINUTES} minute
  --plot FILE      where the plot goes (default docs/drawings/soak.svg; none with --short)
  --record FILE    where the samples and counts go (default docs/soak.json; none with --short)
  --one-processor  the guest uses one processor. By emulation on a busy machine, a call that wakes a thread
                   on another processor takes up to ten times as long
  --help           show this text

Operations in a second:
${
    Object.entries(RATES).map(([name, rate]) => `  ${`--${name} N`.padEnd(16)} default ${rate}`)
      .join("\n")
  }

Exit status: 1 if a message is lost, comes twice or is changed, if a series grows beyond its limit, or if
kernel objects are left.
`;

const rate: Value<number> = {
  takes: "a number from 0",
  read: (text) => /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : undefined,
};

/** The program needs time to start and to close everything. */
const TIMEOUT_SECONDS = 300;
const ONE_PROCESSOR = [
  "sh",
  "-c",
  'echo 0 >/sys/devices/system/cpu/cpu1/online && exec "$@"',
  "sh",
];
const PROGRAM = "tools/soak/guest/main.ts";

await main(async () => {
  const {
    help,
    short,
    "one-processor": oneProcessor,
    plot: plotFile,
    record: recordFile,
    minutes,
    ...rates
  } = readOnlyOptions(
    Deno.args,
    {
      help: "flag",
      short: "flag",
      "one-processor": "flag",
      minutes: positive,
      plot: text,
      record: text,
      ahs: rate,
      tables: rate,
      datagrams: rate,
      connected: rate,
      queuePairs: rate,
      addresses: rate,
      aborts: rate,
      workers: rate,
    },
  );
  if (help) {
    console.log(HELP);
    return 0;
  }
  const files = {
    plot: plotFile ?? (short ? undefined : inProject("docs/drawings/soak.svg")),
    record: recordFile ?? (short ? undefined : inProject("docs/soak.json")),
  };
  const length = minutes ?? (short ? SHORT_MINUTES : MINUTES);
  const record = await run({
    minutes: length,
    rates: { ...RATES, ...rates },
    interval: intervalOf(length),
  }, oneProcessor ?? false);
  if (files.plot !== undefined) Deno.writeTextFileSync(files.plot, plot(record));
  if (files.record !== undefined) Deno.writeTextFileSync(files.record, jsonOf(record));
  return report(record);
});

async function run(plan: Plan, oneProcessor: boolean): Promise<SoakRecord> {
  const samples: Sample[] = [];
  let outcome: Outcome | undefined;
  const stdout = new Lines((line) => {
    if (!line.startsWith("{")) return console.log(line);
    const said = JSON.parse(line) as Sample | Outcome;
    if ("failures" in said) {
      outcome = said;
    } else {
      tell(said, samples.at(-1));
      samples.push(said);
    }
  });
  const deno = ["deno", "run", "-A", "--no-check", "--v8-flags=--expose-gc"];
  const command = [
    ...oneProcessor ? ONE_PROCESSOR : [],
    ...deno,
    ...await stdArguments(),
    PROGRAM,
    JSON.stringify(plan),
  ];
  const timeout = plan.minutes * 60 + TIMEOUT_SECONDS;
  const status = await runInGuest(command, { stub: true, timeout, stdout });
  if (outcome === undefined) {
    throw new SetupError(`the program in the guest ended with status ${status} and no outcome`);
  }
  return { minutes: plan.minutes, rates: plan.rates, outcome, samples };
}

/** Says once a minute how far the run is. */
function tell({ seconds, done }: Sample, last: Sample | undefined): void {
  const minutes = Math.floor(seconds / 60);
  if (minutes === Math.floor((last?.seconds ?? 0) / 60)) return;
  const figures = Object.entries(done).map(([name, count]) => `${name} ${count}`);
  say(`soak: ${minutes} min, ${figures.join(", ")}`);
}

function jsonOf(record: SoakRecord): string {
  const { samples, ...others } = record;
  const lines = samples.map((sample) => `    ${JSON.stringify(sample)}`);
  const head = JSON.stringify(others, undefined, 2).replace(/\n}$/, "");
  return `${head},\n  "samples": [\n${lines.join(",\n")}\n  ]\n}\n`;
}

/** The last line is read by machines too. */
function report(record: SoakRecord): number {
  const found = faults(record);
  for (const fault of found) say(`fault: ${fault}`);
  const { messages, counts, processorSeconds, seconds } = record.outcome;
  const share = Math.round(100 * processorSeconds / seconds);
  const figures = Object.entries({ ...messages, ...counts })
    .map(([name, count]) => `${name} ${count}`);
  say(`soak: ${Math.round(seconds)} s, ${share} % of a processor`);
  console.log(`\n${figures.join(", ")}, faults ${found.length}`);
  return found.length === 0 ? 0 : 1;
}
