/** Measures rows of one stage, on the host or in the guest, and writes what they came to as JSON. */

import { type Environment, environment } from "./environment.ts";
import { PREPARATIONS } from "./guest/gids.ts";
import type { Result } from "./measurement.ts";
import { methodOf } from "./method.ts";
import { Contender } from "./process.ts";
import { Rounds } from "./rounds.ts";
import { ROWS } from "./rows/all.ts";
import type { ProcessEntry, Stage } from "./rows/types.ts";

/** How a stage is run: its one argument, as JSON. */
export interface StageOptions {
  readonly stage: Stage;
  /** The rows to measure, by name. */
  readonly rows: readonly string[];
  /** The number of rounds, if not that of the method. */
  readonly rounds?: number | undefined;
  /** The compiled programs, by name. "provider" is the library that takes libibverbs' place. */
  readonly programs: Readonly<Record<string, string>>;
  readonly output: string;
}

export interface StageOutput {
  readonly environment: Environment;
  readonly results: readonly Result[];
  readonly seconds: number;
}

const here = new URL(".", import.meta.url).pathname;

/** Starts contenders, on the host with the no-op provider. */
function start({ stage, programs }: StageOptions, process: ProcessEntry["process"]): Contender {
  const substitute = (variable: string): Record<string, string> =>
    stage === "rxe" ? {} : { [variable]: programs["provider"]! };
  if (process === "c") {
    return new Contender("C", [programs["contender"]!], substitute("LD_PRELOAD"));
  }
  if (process === "python") {
    const command = ["/usr/bin/python3", `${here}python/contender.py`];
    return new Contender("pyverbs", command, substitute("LD_PRELOAD"));
  }
  const map = `--import-map=${programs["importMap"]}`;
  const args = ["run", "-A", "--no-check", map, `${here}deno/contender.ts`];
  return new Contender("Deno", [Deno.execPath(), ...args], substitute("IBVERBS_LIBRARY"));
}

async function run(options: StageOptions): Promise<StageOutput> {
  const { stage, programs } = options;
  const begin = performance.now();
  const method = methodOf(stage, options.rounds);
  await using rounds = new Rounds(method, (process) => start(options, process), programs);
  const results: Result[] = [];
  for (const row of ROWS.filter(({ id }) => options.rows.includes(id))) {
    console.error(`bench: ${row.title}`);
    if (row.prepare !== undefined) await PREPARATIONS[row.prepare]();
    results.push({ id: row.id, rounds: await rounds.measure(row) });
  }
  const seconds = (performance.now() - begin) / 1000;
  return { environment: await environment(stage === "rxe"), results, seconds };
}

if (import.meta.main) {
  const options: StageOptions = JSON.parse(Deno.args[0]!);
  await Deno.writeTextFile(options.output, JSON.stringify(await run(options)));
}
