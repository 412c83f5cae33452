/** The recorded run: what README.md and bench/RESULTS.md show is made from it. */

import { inProject, project } from "../tools/host/paths.ts";
import { commit, type Environment } from "./environment.ts";
import type { Result } from "./measurement.ts";
import { type Method, methodOf } from "./method.ts";
import { plot } from "./plot.ts";
import { writePage } from "./page.ts";
import { CONFIDENCE } from "./statistics.ts";
import type { Stage } from "./rows/types.ts";
import type { StageOutput } from "./stage.ts";

const RESULTS = inProject("bench/results.json");
const PLOT = inProject("bench/summary.svg");
const PAGE = inProject("bench/RESULTS.md");

/** A complete run. */
export interface Run {
  readonly date: string;
  /** The commit; with "+" if files differed from it. */
  readonly commit: string;
  readonly confidence: number;
  readonly stages: Readonly<Record<string, RunStage>>;
  readonly results: readonly Result[];
}

/** How and where a stage was measured. */
export interface RunStage {
  readonly method: Method;
  readonly environment: Environment;
  readonly seconds: number;
}

export async function record(outputs: ReadonlyMap<Stage, StageOutput>): Promise<void> {
  const stages = [...outputs].map(([stage, { environment, seconds }]) => {
    return [stage, { method: methodOf(stage), environment, seconds }] as const;
  });
  const run: Run = {
    date: new Date().toISOString(),
    commit: await commit(project),
    confidence: CONFIDENCE,
    stages: Object.fromEntries(stages),
    results: [...outputs.values()].flatMap(({ results }) => results),
  };
  await Deno.writeTextFile(RESULTS, serialize(run));
  await report(run);
}

/** Draws the chart of a run, and writes its tables into bench/RESULTS.md. */
export async function report(run: Run): Promise<void> {
  await Deno.writeTextFile(PLOT, plot(run.results));
  await writePage(PAGE, run);
}

export async function recorded(): Promise<Run> {
  return JSON.parse(await Deno.readTextFile(RESULTS));
}

/** JSON with a row on each line. */
function serialize({ results, ...rest }: Run): string {
  const head = `{\n  ${JSON.stringify(rest).slice(1, -1)}`;
  const lines = results.map((result) => `    ${JSON.stringify(result)}`);
  return `${head},\n  "results": [\n${lines.join(",\n")}\n  ]\n}\n`;
}
