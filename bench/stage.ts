/** Measures rows of one stage, on the host or in the guest, and writes what they came to as JSON. */

import { endContenders } from "./contender.ts";
import { Distances } from "./distance.ts";
import type { Result, Round, Sample } from "./measurement.ts";
import type { Programs, Row, Stage } from "./row.ts";
import { ROWS, withOld } from "./rows.ts";
import { keepCompiled } from "./starts.ts";

/** How a stage is run: its one argument, as JSON. */
export interface StageOptions {
  readonly stage: Stage;
  /** The rows to measure, by name. */
  readonly rows: readonly string[];
  readonly rounds: number;
  /** Whether system calls are counted, and nothing is measured. */
  readonly calls?: boolean | undefined;
  /** Whether contenders run before other programs of the host. */
  readonly realtime?: boolean | undefined;
  readonly programs: Programs;
  readonly output: string;
}

export interface StageOutput {
  /** How and where it was measured, in words. */
  readonly conditions: string;
  readonly results: readonly Result[];
}

/**
 * The order of a round. It starts with another contender each time, and goes backwards every second time, so that nobody
 * always follows the same one.
 */
export function orderOf<T>(entries: readonly T[], round: number): T[] {
  const start = round % entries.length;
  const turned = [...entries.slice(start), ...entries.slice(0, start)];
  return round % 2 === 0 ? turned : turned.toReversed();
}

/** Has all contenders of a row measure, one after the other. */
async function measureRound(row: Row, round: number, programs: Programs): Promise<Round> {
  const samples: Record<string, Sample> = {};
  for (const { who, measure } of orderOf(row.entries, round)) {
    samples[who] = await measure(row.count, programs);
  }
  return samples;
}

async function measureRow(
  row: Row,
  count: number,
  programs: Programs,
  distances: Distances,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let i = 0; i < count; i++) {
    const measure = (): Promise<Round> => measureRound(row, i, programs);
    rounds.push(await (row.stage === "shm" ? distances.round(programs, measure) : measure()));
  }
  return rounds;
}

async function run(options: StageOptions): Promise<StageOutput> {
  const { stage, rows, rounds, calls, realtime, programs } = options;
  const begin = performance.now();
  if (stage === "cold") await keepCompiled(programs);
  const results: Result[] = [];
  const distances = new Distances();
  for (const plain of ROWS.filter(({ id }) => rows.includes(id))) {
    console.error(`bench: ${plain.title}`);
    const row = programs["oldImportMap"] === undefined ? plain : withOld(plain);
    if (calls) {
      for (const { trace } of row.entries) console.log(`\n${await trace!(row.count, programs)}`);
    } else results.push({ id: row.id, rounds: await measureRow(row, rounds, programs, distances) });
    await endContenders();
  }
  const minutes = ((performance.now() - begin) / 60_000).toFixed(1);
  const environment = await environmentOf(stage === "rxe");
  const how = [
    `${rounds} rounds`,
    ...realtime && stage !== "rxe" ? ["SCHED_RR"] : [],
    `${minutes} minutes`,
  ];
  return { conditions: `${environment}${distances}; ${how.join(", ")}.`, results };
}

/** The machine and the software of a stage. */
async function environmentOf(inGuest: boolean): Promise<string> {
  const processor = Deno.readTextFileSync("/proc/cpuinfo").match(/^model name\s*: (.*)$/m)?.[1];
  const args = ["-W", "-f=${Version}", "libibverbs1"];
  const { stdout } = await new Deno.Command("dpkg-query", { args }).output();
  // Only KVM offers its guests this clock.
  const clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
  const guest = Deno.readTextFileSync(clocks).includes("kvm-clock")
    ? "guest by kvm"
    : "guest by tcg";
  const where = [processor, `${navigator.hardwareConcurrency} cores`, ...inGuest ? [guest] : []];
  const software = [`Linux ${Deno.osRelease()}`, `rdma-core ${new TextDecoder().decode(stdout)}`];
  return [...where, ...software, `Deno ${Deno.version.deno}`].join(", ");
}

if (import.meta.main) {
  const options: StageOptions = JSON.parse(Deno.args[0]!);
  await Deno.writeTextFile(options.output, JSON.stringify(await run(options)));
}
