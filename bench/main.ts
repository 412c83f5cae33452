/**
 * Compares the library with C and with pyverbs on the same work.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { compileC } from "../tests/c/compile.ts";
import { runInGuest } from "../tools/guest/run.ts";
import { ensurePackages, type Need } from "../tools/host/packages.ts";
import { inProject, out } from "../tools/host/paths.ts";
import { main, SetupError } from "../tools/host/report.ts";
import type { Result } from "./measurement.ts";
import { plot } from "./plot.ts";
import { ROWS } from "./rows.ts";
import { type Figure, measureSetUp } from "./set_up.ts";
import type { StageOptions } from "./stage.ts";
import { setUpTable, table } from "./table.ts";

const HELP = `Compares the library with C and with pyverbs on the same work, in alternating rounds.
A complete run is recorded in bench/results.json and drawn in bench/results.svg.

  deno task bench -- [OPTIONS]

  --stage 1|2    only call overhead, on this host with a provider that does nothing (1),
                 or only work on soft-RoCE, in the guest (2)
  --rounds N     rounds of each contender; 9
  --quick        short rounds, and 3 of them
  --row NAME     only one row, by its name in bench/rows.ts
  --help         show this text
`;

const reason = "the same work in C is compiled here";
const NEEDS: Need[] = [
  { package: "gcc", file: "/usr/bin/gcc", reason },
  { package: "libc6-dev", file: "/usr/include/stdio.h", reason },
  { package: "libibverbs-dev", file: "/usr/include/infiniband/verbs.h", reason },
  {
    package: "python3-pyverbs",
    file: "/usr/lib/python3/dist-packages/pyverbs/__init__.py",
    reason: "a contender",
  },
  { package: "ibverbs-utils", file: "/usr/bin/ibv_ud_pingpong", reason: "a contender" },
];

// Far above what the rows take where the guest is emulated.
const GUEST_SECONDS = 1200;

await main(async () => {
  const flags = parseArgs(Deno.args[0] === "--" ? Deno.args.slice(1) : Deno.args, {
    boolean: ["help", "quick"],
    string: ["row", "rounds", "stage"],
    unknown: (argument) => {
      throw new SetupError(`unknown argument ${argument}; see --help`);
    },
  });
  if (flags.help) {
    console.log(HELP);
    return 0;
  }
  const rounds = Number(flags.rounds ?? (flags.quick ? 3 : 9));
  const stages = stagesOf(flags.stage, flags.row);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new SetupError("--rounds takes a number from 1");
  }
  await ensurePackages(NEEDS);
  await Deno.mkdir(out, { recursive: true });
  const results: Result[] = [];
  for (const stage of stages) {
    results.push(...await measure(stage, rounds, flags.quick, flags.row));
  }
  console.log(table(results));
  if (stages.length === 2) {
    const setUp = await measureSetUp(rounds);
    console.log(`\n${setUpTable(setUp)}`);
    if (!flags.quick) await record(rounds, results, setUp);
  }
  return 0;
});

async function record(rounds: number, results: Result[], setUp: Figure[]): Promise<void> {
  const processor = Deno.readTextFileSync("/proc/cpuinfo").match(/^model name\s*: (.*)$/m)?.[1];
  const recorded = { date: new Date(), deno: Deno.version.deno, processor, rounds, results, setUp };
  await Deno.writeTextFile(
    inProject("bench/results.json"),
    `${JSON.stringify(recorded, null, 2)}\n`,
  );
  await Deno.writeTextFile(inProject("bench/results.svg"), plot(results));
}

function stagesOf(stage: string | undefined, row: string | undefined): readonly (1 | 2)[] {
  if (row === undefined) return stage === undefined ? [1, 2] : [parseStage(stage)];
  const chosen = ROWS.find(({ id }) => id === row);
  if (chosen === undefined) {
    throw new SetupError(`--row takes one of ${ROWS.map(({ id }) => id).join(", ")}`);
  }
  return [chosen.stage];
}

function parseStage(text: string): 1 | 2 {
  if (text === "1") return 1;
  if (text === "2") return 2;
  throw new SetupError(`--stage takes 1 or 2, not "${text}"`);
}

async function measure(
  stage: 1 | 2,
  rounds: number,
  quick: boolean,
  row: string | undefined,
): Promise<Result[]> {
  const output = `${out}/bench-${stage}.json`;
  const options: StageOptions = {
    stage,
    rounds,
    quick,
    row,
    milliseconds: quick ? 50 : 200,
    patience: stage === 2 ? 2500 : 250,
    contender: await compileC("../../bench/c/contender.c", ["-libverbs"]),
    pinger: await compileC("../../bench/c/pinger.c", ["-libverbs"]),
    provider: await compileC("../../bench/c/provider.c", ["-shared", "-fPIC"]),
    output,
  };
  const command = ["run", "-A", "--no-check", inProject("bench/stage.ts"), JSON.stringify(options)];
  const status = stage === 1
    ? (await new Deno.Command(Deno.execPath(), { args: command }).spawn().status).code
    : await runInGuest(["deno", ...command], { timeout: GUEST_SECONDS });
  if (status !== 0) throw new SetupError(`stage ${stage} failed with status ${status}`);
  return JSON.parse(await Deno.readTextFile(output));
}
