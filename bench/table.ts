/** Results as an aligned table. */

import { type Result, valuesOf } from "./measurement.ts";
import { ROWS } from "./rows/all.ts";
import type { Row } from "./rows/types.ts";
import { type Interval, interval, judge, median, type Verdict } from "./statistics.ts";

const HEAD = ["work", "contender", "median", "min", "max", "x C", "goal", "measured", ""];
const RIGHT = [2, 3, 4, 5, 7];
const FIGURES = HEAD.slice(1, 6);

/** The table of all rows that were measured, and what to bear in mind. */
export function table(results: readonly Result[]): string {
  const measured = results.flatMap((result) => {
    const row = ROWS.find(({ id }) => id === result.id);
    return row === undefined ? [] : [{ row, result }];
  });
  const lines = measured.flatMap(({ row, result }) => linesOf(row, result));
  const notes = measured.map(({ row, result }) => noteOf(row, result));
  return `${align([HEAD, ...lines], RIGHT)}\n\n${notes.join("\n")}`;
}

function linesOf(row: Row, result: Result): string[][] {
  const verdicts = row.goals.map((goal) => judge(goal, result));
  const figures = row.entries.flatMap(({ who }) => figureLines(row, result, who));
  const count = Math.max(figures.length, verdicts.length);
  return Array.from({ length: count }, (_, i) => [
    i === 0 ? row.title : "",
    ...figures[i] ?? FIGURES.map(() => ""),
    ...verdictCells(verdicts[i]),
  ]);
}

function noteOf({ id, decision, note, goals }: Row, result: Result): string {
  const reasons = goals.map(({ reason }) => reason).filter((reason, i, all) =>
    reason !== undefined && all.indexOf(reason) === i
  );
  return [`${id}, for ${decision}`, note, ...reasons, counts(result)]
    .filter((part) => part !== undefined && part !== "").join("; ");
}

/** A line for the value and one for each further figure. */
function figureLines(row: Row, result: Result, who: string): string[][] {
  return figuresOf(result, who).map((figure) => {
    const values = valuesOf(result, who, figure);
    const shown = [median(values), Math.min(...values), Math.max(...values)];
    const name = figure === "value" ? who : `${who} ${figure}`;
    return [name, ...shown.map(duration), ratioOf(row, result, who, figure)];
  });
}

/** Counted messages are notes. */
const COUNTS = ["retries", "lost"];

/** The figures that a contender has. */
function figuresOf(result: Result, who: string): string[] {
  return Object.keys(result.rounds[0]?.[who] ?? {}).filter((name) => !COUNTS.includes(name));
}

/** The interval of a contender's ratio to the row's reference; empty if there is none. */
function ratioOf(row: Row, result: Result, who: string, figure: string): string {
  const reference = row.reference ?? "C";
  if (who === reference || !figuresOf(result, reference).includes(figure)) return "";
  const others = valuesOf(result, reference, figure);
  return showInterval(
    interval(valuesOf(result, who, figure).map((value, i) => value / others[i]!)),
  );
}

function verdictCells(verdict: Verdict | undefined): string[] {
  if (verdict === undefined) return ["", "", ""];
  const { goal, measured, outcome } = verdict;
  const shown = `${showInterval(measured)} ${goal.unit}`;
  return [goal.text, shown, outcome.toUpperCase()];
}

/** Retries and losses, added up for each contender. */
function counts(result: Result): string {
  const counted = Object.keys(result.rounds[0] ?? {}).flatMap((who) =>
    COUNTS.map((figure) => {
      const sum = result.rounds.reduce((sum, round) => sum + (round[who]?.[figure] ?? 0), 0);
      return sum === 0 ? "" : `${who}: ${sum} ${figure}`;
    })
  );
  return counted.filter((note) => note !== "").join(", ");
}

function showInterval({ median, low, high }: Interval): string {
  return `${digits(median)} [${digits(low)}, ${digits(high)}]`;
}

/** Nanoseconds in a fitting unit. */
export function duration(nanoseconds: number): string {
  if (nanoseconds < 1e3) return `${digits(nanoseconds)} ns`;
  if (nanoseconds < 1e6) return `${digits(nanoseconds / 1e3)} us`;
  if (nanoseconds < 1e9) return `${digits(nanoseconds / 1e6)} ms`;
  return `${digits(nanoseconds / 1e9)} s`;
}

/** Three significant digits, no exponent. */
export function digits(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Number(value.toPrecision(3)).toString();
}

function align(cells: readonly string[][], right: readonly number[]): string {
  const widths = cells[0]!.map((_, i) => Math.max(...cells.map((line) => line[i]!.length)));
  return cells.map((line) =>
    line.map((cell, i) => right.includes(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))
      .join("  ").trimEnd()
  ).join("\n");
}
