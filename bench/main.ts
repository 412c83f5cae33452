/** Compares the library with C and with pyverbs on the same work. */

import { oneOf, positive, text } from "../tools/host/options.ts";
import { compileC } from "../tests/c/compile.ts";
import { recorderPath, shmPath } from "../tests/provider/compile.ts";
import { runInGuest } from "../tools/guest/run.ts";
import { inProject, out } from "../tools/host/paths.ts";
import { ensurePackages, type Need, SetupError } from "../tools/host/setup.ts";
import { tool } from "../tools/host/tool.ts";
import { growth } from "./growth.ts";
import { builtPackage, oldPackage } from "./package.ts";
import { record } from "./record.ts";
import { type Programs, type Row, type Stage, STAGES } from "./row.ts";
import { ROWS } from "./rows.ts";
import type { StageOptions, StageOutput } from "./stage.ts";
import { comparison, table } from "./table.ts";

const HELP = `Compares the library with C and with pyverbs on the same work, in paired rounds.
A complete run writes bench/RESULTS.md and a table of README.md.

  deno task bench -- [OPTIONS]

  --stage STAGE  only messages between two processes by shared memory (shm), only call overhead,
                 with a provider that does nothing (native), only work on soft-RoCE, in the guest
                 (rxe), or only starts of programs (cold)
  --row NAME     only one row, by its name in bench/rows.ts
  --rounds N     rounds of each row; fewer than 6 have no verdict
  --growth       only the table of many connections; with --stage rxe that of the guest, which no
                 complete run has
  --old FOLDER   also a package that was built before, by deno task package
  --calls        counts the system calls of a message with strace, and measures nothing; only rows
                 of two processes
  --realtime     runs contenders on this host before other programs, as root: for a host that has
                 other work
  --list         the names of all rows
  --help         show this text
`;

const STAGE_NAMES = Object.keys(STAGES) as Stage[];

const OPTIONS = {
  calls: "flag",
  growth: "flag",
  list: "flag",
  old: text,
  realtime: "flag",
  row: text,
  rounds: positive,
  stage: oneOf(...STAGE_NAMES),
} as const;

interface Chosen {
  readonly calls?: true;
  readonly growth?: true;
  readonly old?: string;
  readonly realtime?: true;
  readonly row?: string;
  readonly rounds?: number;
  readonly stage?: Stage;
}

const NEEDS: readonly Need[] = [
  ["gcc", "/usr/bin/gcc"],
  ["libc6-dev", "/usr/include/stdio.h"],
  ["libibverbs-dev", "/usr/include/infiniband/verbs.h"],
  ["librdmacm-dev", "/usr/include/rdma/rdma_cma.h"],
  ["python3-pyverbs", "/usr/lib/python3/dist-packages/pyverbs/__init__.py"],
  ["strace", "/usr/bin/strace"],
].map(([name, file]) => ({ package: name!, file: file!, reason: "the same work in C and Python" }));

// Far above what the rows take where the guest is emulated.
const GUEST_SECONDS = 3600;

// What the programs of a stage start inherits this.
const REALTIME = ["chrt", "--rr", "10"];

await tool(HELP, OPTIONS, async (options) => {
  if (options.list) console.log(ROWS.map(({ id }) => id).join("\n"));
  else await bench(options);
  return 0;
});

async function bench(chosen: Chosen): Promise<void> {
  const { calls, old, realtime, row, stage } = chosen;
  const rows = chosen.growth ? [] : chosenRows(chosen);
  await ensurePackages([...NEEDS]);
  await Deno.mkdir(out, { recursive: true });
  const built = await builtPackage();
  const programs = { ...await compiled(), ...built, ...old && await oldPackage(old) };
  const outputs = new Map<Stage, StageOutput>();
  for (const stage of STAGE_NAMES) {
    const ids = rows.filter((row) => row.stage === stage).map(({ id }) => id);
    if (ids.length === 0) continue;
    const rounds = chosen.rounds ?? STAGES[stage].rounds;
    const output = `${out}/bench-${stage}.json`;
    const options = { stage, rows: ids, rounds, calls, realtime, programs, output };
    outputs.set(stage, await measure(options));
  }
  if (chosen.growth && stage === "rxe") return await growthInGuest(programs);
  const many = calls || row !== undefined || stage !== undefined ? "" : await growth(
    programs,
    realtime ? REALTIME : [],
  );
  if (many !== "") console.log(many);
  if (!calls && rows.length > 0) {
    const results = [...outputs.values()].flatMap(({ results }) => results);
    console.log([table(results), ...old === undefined ? [] : [comparison(results)]].join("\n\n"));
    for (const [stage, { conditions }] of outputs) console.log(`\n${stage}: ${conditions}`);
  }
  // What is recorded is always of one run with the usual rounds.
  const isComplete = Object.entries(chosen).every(([name, option]) =>
    name === "realtime" || name === "old" || option === undefined
  );
  if (isComplete) await record(outputs, many);
}

function chosenRows({ row, stage, calls }: Chosen): readonly Row[] {
  const rows = ROWS.filter((each) =>
    each.id === (row ?? each.id) && each.stage === (stage ?? each.stage) &&
    (!calls || each.entries.every(({ trace }) => trace))
  );
  if (rows.length > 0) return rows;
  throw new SetupError(`no such row${row === undefined ? "" : `: ${row}`}; see --list and --help`);
}

async function measure(options: StageOptions): Promise<StageOutput> {
  const { stage, output, realtime } = options;
  const command = ["run", "-A", "--no-check", inProject("bench/stage.ts"), JSON.stringify(options)];
  const status = stage === "rxe"
    ? await runInGuest(["deno", ...command], { timeout: GUEST_SECONDS })
    : await runHere([...realtime ? REALTIME : [], Deno.execPath(), ...command]);
  if (status !== 0) throw new SetupError(`stage ${stage} failed with status ${status}`);
  return JSON.parse(await Deno.readTextFile(output));
}

/** Prints the table of many connections in the guest. */
async function growthInGuest(programs: Programs): Promise<void> {
  const command = ["run", "-A", "--no-check", inProject("bench/growth.ts")];
  const options = { timeout: GUEST_SECONDS };
  const status = await runInGuest(["deno", ...command, JSON.stringify(programs)], options);
  if (status !== 0) throw new SetupError(`growth in the guest failed with status ${status}`);
}

async function runHere([program, ...args]: readonly string[]): Promise<number> {
  return (await new Deno.Command(program!, { args }).spawn().status).code;
}

async function compiled(): Promise<Programs> {
  const recorder = await recorderPath();
  const compile = (name: string, ...flags: string[]): Promise<string> =>
    compileC(`../../bench/c/${name}.c`, flags);
  return {
    recorder,
    shm: await shmPath(),
    provider: await compile("provider", "-shared", "-fPIC", "-Wl,--no-as-needed", recorder, "-ldl"),
    contender: await compile("contender", "-libverbs"),
    distance: await compile("distance", "-lpthread"),
    pair: await compile("pair", "-libverbs", "-lrdmacm"),
  };
}
