/** Compares the library with C and with pyverbs on the same work. */

import { compileC } from "../tests/c/compile.ts";
import { runInGuest } from "../tools/guest/run.ts";
import { oneOf, positive, text } from "../internal/command_line.ts";
import { ensurePackages, type Need, SetupError } from "../tools/host/setup.ts";
import { tool } from "../tools/host/tool.ts";
import { inProject, out } from "../tools/host/paths.ts";
import { buildPackage } from "../tools/package/build.ts";
import { bundleOf, keepCompiled, writeImportMap } from "./cold.ts";
import { record, recorded, report } from "./record.ts";
import { ROWS } from "./rows/all.ts";
import { RXE_NEEDS, RXE_PROGRAMS } from "./rows/rxe.ts";
import type { Program, Row, Stage } from "./rows/types.ts";
import type { StageOptions, StageOutput } from "./stage.ts";
import { table } from "./table.ts";

const HELP = `Compares the library with C and with pyverbs on the same work, in paired rounds.
A complete run is recorded in bench/results.json and bench/summary.svg, and shown in bench/RESULTS.md.

  deno task bench -- [OPTIONS]

  --stage STAGE  only call overhead, on this host with a provider that does nothing (native),
                 only work on soft-RoCE, in the guest (rxe), or only starts of programs (cold)
  --row NAME     only one row, by its name in bench/rows/
  --rounds N     rounds of each row; fewer than 6 have no verdict
  --report       measures nothing: writes what is recorded into bench/RESULTS.md again
  --list         the names of all rows
  --help         show this text
`;

const OPTIONS = {
  list: "flag",
  report: "flag",
  row: text,
  rounds: positive,
  stage: oneOf("native", "rxe", "cold"),
} as const;

const STAGES: readonly Stage[] = ["native", "rxe", "cold"];

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

const PROGRAMS: Readonly<Record<string, Program>> = {
  contender: { source: "c/contender.c", flags: ["-libverbs"] },
  provider: { source: "c/provider.c", flags: ["-shared", "-fPIC"] },
};

// Far above what the rows take where the guest is emulated.
const GUEST_SECONDS = 1200;

await tool(HELP, OPTIONS, async (options) => {
  if (options.list) console.log(ROWS.map(({ id }) => id).join("\n"));
  else if (options.report) await report(await recorded());
  else await bench(options);
  return 0;
});

interface Chosen {
  readonly row?: string;
  readonly stage?: Stage;
  readonly rounds?: number;
}

async function bench({ row, stage, rounds }: Chosen): Promise<void> {
  const rows = chosenRows(row, stage);
  await ensurePackages([...NEEDS, ...RXE_NEEDS]);
  await Deno.mkdir(out, { recursive: true });
  const outputs = new Map<Stage, StageOutput>();
  for (const each of STAGES) {
    const ids = rows.filter((row) => row.stage === each).map(({ id }) => id);
    if (ids.length > 0) outputs.set(each, await measure({ stage: each, rows: ids, rounds }));
  }
  console.log(table([...outputs.values()].flatMap(({ results }) => results)));
  // What is recorded is always of one run with the rounds of the method.
  const complete = row === undefined && stage === undefined && rounds === undefined;
  if (complete) await record(outputs);
}

function chosenRows(row: string | undefined, stage: Stage | undefined): Row[] {
  if (row !== undefined) {
    const chosen = ROWS.find(({ id }) => id === row);
    if (chosen === undefined) throw new SetupError(`unknown row ${row}; see --list`);
    if (stage !== undefined && chosen.stage !== stage) {
      throw new SetupError(`row ${row} is of stage ${chosen.stage}`);
    }
    return [chosen];
  }
  return ROWS.filter((candidate) => candidate.stage === (stage ?? candidate.stage));
}

async function measure(
  options: Omit<StageOptions, "programs" | "output">,
): Promise<StageOutput> {
  const { stage } = options;
  const output = `${out}/bench-${stage}.json`;
  const programs: Record<string, string> = await compile(
    stage === "rxe" ? { ...PROGRAMS, ...RXE_PROGRAMS } : PROGRAMS,
  );
  Object.assign(programs, await builtPackage());
  if (stage === "cold") {
    await keepCompiled(await bundleOf(programs["package"]!), inProject("mod.ts"));
  }
  const argument = JSON.stringify({ ...options, programs, output } satisfies StageOptions);
  const command = ["run", "-A", "--no-check", inProject("bench/stage.ts"), argument];
  const status = stage === "rxe"
    ? await runInGuest(["deno", ...command], { timeout: GUEST_SECONDS })
    : (await new Deno.Command(Deno.execPath(), { args: command }).spawn().status).code;
  if (status !== 0) throw new SetupError(`stage ${stage} failed with status ${status}`);
  return JSON.parse(await Deno.readTextFile(output));
}

/** The package as it is published, and an import map by which all rows use it. */
async function builtPackage(): Promise<Record<string, string>> {
  const [folder, importMap] = [`${out}/bench-package`, `${out}/bench-import-map.json`];
  await buildPackage(folder);
  await writeImportMap(importMap, folder);
  return { package: folder, importMap };
}

async function compile(
  programs: Readonly<Record<string, Program>>,
): Promise<Record<string, string>> {
  const compiled: Record<string, string> = {};
  for (const [name, { source, flags }] of Object.entries(programs)) {
    compiled[name] = await compileC(`../../bench/${source}`, flags);
  }
  return compiled;
}
