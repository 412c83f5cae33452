/** The results as Markdown, and their place in bench/RESULTS.md. */

import type { Run, RunStage } from "./record.ts";
import { type Result, valuesOf } from "./measurement.ts";
import { ROWS } from "./rows/all.ts";
import type { Goal, Row, Stage } from "./rows/types.ts";
import { judge, median, type Outcome, type Verdict } from "./statistics.ts";
import { CONTENDERS } from "./plot.ts";
import { figuresOf, notes, show, showInterval } from "./table.ts";

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

const HEAD = ["work", ...CONTENDERS, "others", "goal", "measured", "verdict"];

/** The plots and the tables of a run. */
export function markdown(run: Run): string {
  const sections = Object.entries(run.stages).map(([stage, how]) =>
    section(stage as Stage, how, run.results)
  );
  return [
    "![Time of one operation in C, here and in pyverbs](results.svg)",
    summary(run),
    ...sections,
  ].join("\n\n");
}

function summary({ date, commit, confidence, results }: Run): string {
  const outcomes = results.flatMap((result) => verdictsOf(result).map(({ outcome }) => outcome));
  const count = (outcome: Outcome): number => outcomes.filter((each) => each === outcome).length;
  return `Measured on ${date.slice(0, 10)} at commit ${commit}: ${count("met")} goals met, ` +
    `${count("missed")} missed, ${count("within noise")} within noise. ` +
    `In brackets: the interval in which the median lies with a probability of ${
      100 * confidence
    } %.`;
}

function section(stage: Stage, how: RunStage, results: readonly Result[]): string {
  const lines = ROWS.filter((row) => row.stage === stage).flatMap((row) => {
    const result = results.find(({ id }) => id === row.id);
    return result === undefined ? [] : linesOf(row, result);
  });
  const table = [HEAD, HEAD.map(() => "---"), ...lines];
  return [
    `**${TITLES[stage]}**`,
    conditions(how),
    table.map((cells) => `| ${cells.join(" | ")} |`).join("\n"),
  ].join("\n\n");
}

function conditions({ environment, method, seconds }: RunStage): string {
  const { kernel, rdmaCore, deno, processor, cores, accelerator } = environment;
  const emulation = accelerator === "none" ? "" : `, guest by ${accelerator}`;
  return `${processor}, ${cores} cores${emulation}, Linux ${kernel}, rdma-core ${rdmaCore}, ` +
    `Deno ${deno}; ${method.rounds} rounds, ${digits(seconds / 60)} minutes.`;
}

function digits(value: number): string {
  return value.toFixed(1);
}

function verdictsOf(result: Result): Verdict[] {
  const row = ROWS.find(({ id }) => id === result.id);
  const goals = row?.goals.filter((goal) => isMeasured(goal, result)) ?? [];
  return goals.map((goal) => judge(goal, result));
}

/** A recorded run may be older than a contender. */
function isMeasured({ contenders }: Goal, { rounds }: Result): boolean {
  return contenders.every((who) => rounds[0]?.[who] !== undefined);
}

/** A line for each goal, and one for a row without. */
function linesOf(row: Row, result: Result): string[][] {
  const verdicts = row.goals.map((goal) => verdictCells(goal, result));
  const remarks = [row.note, notes(result)].filter((note) => note !== undefined && note !== "");
  const title = [row.title, ...remarks.map((note) => `<br><sub>${note}</sub>`)].join("");
  const figures = CONTENDERS.map((who) => figuresText(row, result, [who]));
  const others = row.entries.map(({ who }) => who)
    .filter((who) => !(CONTENDERS as readonly string[]).includes(who));
  const first = [title, ...figures, figuresText(row, result, others, true)];
  return Array.from({ length: Math.max(1, verdicts.length) }, (_, i) => [
    ...i === 0 ? first : first.map(() => ""),
    ...verdicts[i] ?? ["shown", "", ""],
  ]);
}

function verdictCells(goal: Goal, result: Result): string[] {
  if (!isMeasured(goal, result)) return [goal.text, "", "not measured"];
  const { measured, outcome } = judge(goal, result);
  const shown = `${showInterval(measured)} ${goal.unit}`;
  return [goal.text, shown, outcome === "missed" ? "**missed**" : outcome];
}

function figuresText(row: Row, result: Result, whos: readonly string[], named = false): string {
  return whos.flatMap((who) =>
    figuresOf(result, who).map((figure) => {
      const value = show(median(valuesOf(result, who, figure)), row.unit);
      const name = [named ? who : "", figure === "value" ? "" : figure].filter(Boolean);
      return [...name, value].join(" ");
    })
  ).join(", ");
}

export async function writePage(path: string, run: Run): Promise<void> {
  await Deno.writeTextFile(path, between(await Deno.readTextFile(path), markdown(run)));
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", path] })
    .output();
  if (!success) throw new Error(`Cannot write results: deno fmt ${path} failed`);
}
