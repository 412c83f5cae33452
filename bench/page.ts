/** The results in Markdown, and their place in bench/RESULTS.md. */

import type { Run, RunStage } from "./record.ts";
import type { Result } from "./measurement.ts";
import { ROWS } from "./rows/all.ts";
import type { Stage } from "./rows/types.ts";
import { judge } from "./statistics.ts";
import { table } from "./table.ts";

const BEGIN = "<!-- results: written by deno task bench -->";
const END = "<!-- end of results -->";

/**
 * Replaces what stands between the markers of a text.
 *
 * @throws {Error} If the text lacks a marker.
 */
export function between(text: string, replacement: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new Error(`Cannot write results: the page lacks "${BEGIN}"`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${replacement.trim()}\n\n${text.slice(end)}`;
}

const TITLES: Readonly<Record<Stage, string>> = {
  native: "Call overhead, on a provider that does nothing",
  rxe: "Work on soft-RoCE, in the guest",
  cold: "From the start of the process",
};

/** The tables of a run. */
export function markdown(run: Run): string {
  const sections = Object.entries(run.stages).map(([stage, how]) =>
    section(stage as Stage, how, run.results)
  );
  return [summary(run), ...sections].join("\n\n");
}

function summary({ date, commit, confidence, results }: Run): string {
  const outcomes = ROWS.flatMap((row) => {
    const result = results.find(({ id }) => id === row.id);
    return result === undefined ? [] : row.goals.map((goal) => judge(goal, result).outcome);
  });
  const counts = (["met", "missed", "within noise", "shown"] as const).map((outcome) =>
    `${outcomes.filter((each) => each === outcome).length} ${outcome}`
  );
  return `Measured on ${date.slice(0, 10)} at commit ${commit}. Goals: ${counts.join(", ")}. ` +
    `In brackets: the interval in which the median lies with a probability of ${
      100 * confidence
    } %.`;
}

function section(stage: Stage, how: RunStage, results: readonly Result[]): string {
  const measured = ROWS.filter((row) => row.stage === stage).flatMap(({ id }) =>
    results.filter((result) => result.id === id)
  );
  return `## ${TITLES[stage]}\n\n${conditions(how)}\n\n\`\`\`text\n${table(measured)}\n\`\`\``;
}

function conditions({ environment, method, seconds }: RunStage): string {
  const { kernel, rdmaCore, deno, processor, cores, accelerator } = environment;
  const emulation = accelerator === "none" ? "" : `, guest by ${accelerator}`;
  return `${processor}, ${cores} cores${emulation}, Linux ${kernel}, rdma-core ${rdmaCore}, ` +
    `Deno ${deno}; ${method.rounds} rounds, ${(seconds / 60).toFixed(1)} minutes.`;
}

export async function writePage(path: string, run: Run): Promise<void> {
  await Deno.writeTextFile(path, between(await Deno.readTextFile(path), markdown(run)));
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", path] })
    .output();
  if (!success) throw new Error(`Cannot write results: deno fmt ${path} failed`);
}
