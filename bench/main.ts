/** Compares the library with C and with pyverbs on the same work. */

import { oneOf, positive, text } from "../tools/host/options.ts";
import { compileC } from "../tests/c/compile.ts";
import { recorderPath } from "../tests/provider/compile.ts";
import { runInGuest } from "../tools/guest/run.ts";
import { inProject, out } from "../tools/host/paths.ts";
import { ensurePackages, type Need, SetupError } from "../tools/host/setup.ts";
import { tool } from "../tools/host/tool.ts";
import { builtPackage, oldPackage } from "./package.ts";
import { record } from "./record.ts";
import type { Programs, Row, Stage } from "./row.ts";
import { ROWS } from "./rows.ts";
import type { StageOptions, StageOutput } from "./stage.ts";
import { table } from "./table.ts";

const HELP = `Compares the library with C and with pyverbs on the same work, in paired rounds.
A complete run writes bench/RESULTS.md and a table of README.md.

  deno task bench -- [OPTIONS]

  --stage STAGE  only call overhead, on this host with a provider that does nothing (native),
                 only work on soft-RoCE, in the guest (rxe), or only starts of programs (cold)
  --row NAME     only one row, by its name in bench/rows.ts
  --rounds N     rounds of each row; fewer than 6 have no verdict
  --old FOLDER   also a package that was built before, by deno task package; only rows of
                 posting and polling
  --calls        counts the system calls of a message with strace, and measures nothing; only rows
                 of two processes
  --list         the names of all rows
  --help         show this text
`;

const OPTIONS = {
  calls: "flag",
  list: "flag",
  old: text,
  row: text,
  rounds: positive,
  stage: oneOf("native", "rxe", "cold"),
} as const;

interface Chosen {
  readonly calls?: true;
  readonly old?: string;
  readonly row?: string;
  readonly rounds?: number;
  readonly stage?: Stage;
}

/** Titles of stages, and rounds of their rows. */
const STAGES: Readonly<Record<Stage, readonly [title: string, rounds: number]>> = {
  native: ["Call overhead, on a provider that does nothing", 9],
  rxe: ["Work on soft-RoCE, in the guest", 9],
  cold: ["From the start of the process", 15],
};

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

await tool(HELP, OPTIONS, async (options) => {
  if (options.list) console.log(ROWS.map(({ id }) => id).join("\n"));
  else await bench(options);
  return 0;
});

async function bench(chosen: Chosen): Promise<void> {
  const { calls, old } = chosen;
  const rows = chosenRows(chosen);
  await ensurePackages([...NEEDS]);
  await Deno.mkdir(out, { recursive: true });
  const built = await builtPackage();
  const programs = { ...await compiled(), ...built, ...old && await oldPackage(old) };
  const outputs = new Map<string, StageOutput>();
  for (const [stage, [title, usual]] of Object.entries(STAGES)) {
    const ids = rows.filter((row) => row.stage === stage).map(({ id }) => id);
    if (ids.length === 0) continue;
    const rounds = chosen.rounds ?? usual;
    const output = `${out}/bench-${stage}.json`;
    const options = { stage: stage as Stage, rows: ids, rounds, calls, programs, output };
    outputs.set(title, await measure(options));
  }
  if (!calls) console.log(table([...outputs.values()].flatMap(({ results }) => results)));
  // What is recorded is always of one run with the usual rounds.
  if (Object.values(chosen).every((option) => option === undefined)) await record(outputs);
}

function chosenRows({ row, stage, old, calls }: Chosen): readonly Row[] {
  const rows = ROWS.filter((each) =>
    each.id === (row ?? each.id) && each.stage === (stage ?? each.stage) &&
    (!old || each.old) && (!calls || each.entries.every(({ trace }) => trace))
  );
  if (rows.length > 0) return rows;
  throw new SetupError(`no such row${row === undefined ? "" : `: ${row}`}; see --list and --help`);
}

async function measure(options: StageOptions): Promise<StageOutput> {
  const { stage, output } = options;
  const command = ["run", "-A", "--no-check", inProject("bench/stage.ts"), JSON.stringify(options)];
  const status = stage === "rxe"
    ? await runInGuest(["deno", ...command], { timeout: GUEST_SECONDS })
    : (await new Deno.Command(Deno.execPath(), { args: command }).spawn().status).code;
  if (status !== 0) throw new SetupError(`stage ${stage} failed with status ${status}`);
  return JSON.parse(await Deno.readTextFile(output));
}

async function compiled(): Promise<Programs> {
  const recorder = await recorderPath();
  const compile = (name: string, ...flags: string[]): Promise<string> =>
    compileC(`../../bench/c/${name}.c`, flags);
  return {
    recorder,
    provider: await compile("provider", "-shared", "-fPIC", "-Wl,--no-as-needed", recorder, "-ldl"),
    contender: await compile("contender", "-libverbs"),
    pair: await compile("pair", "-libverbs", "-lrdmacm"),
  };
}
