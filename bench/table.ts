/** Results as an aligned table. */

import { type Result, type Sample, valuesOf } from "./measurement.ts";
import type { Row } from "./row.ts";
import { ROWS, withOld } from "./rows.ts";
import { type Interval, interval, judge, median } from "./statistics.ts";

const HEAD = ["work", "contender", "median", "p99", "processor", "x C", "goal", "measured", ""];
const RIGHT = [2, 3, 4, 5, 7];

/** The table of all rows that were measured, and what to bear in mind. */
export function table(results: readonly Result[]): string {
  const measured = results.flatMap((result) => {
    const row = ROWS.find(({ id }) => id === result.id);
    if (row === undefined) return [];
    return [{ row: "Deno, old" in (result.rounds[0] ?? {}) ? withOld(row) : row, result }];
  });
  const lines = measured.flatMap(({ row, result }) => linesOf(row, result));
  return `${align([HEAD, ...lines])}\n\n${measured.map(({ row }) => noteOf(row)).join("\n")}`;
}

function linesOf({ title, entries, goals }: Row, result: Result): string[][] {
  return Array.from({ length: Math.max(entries.length, goals.length) }, (_, i) => [
    i === 0 ? title : "",
    ...entries[i] === undefined ? ["", "", "", "", ""] : figureCells(result, entries[i].who),
    ...goals[i] === undefined ? ["", "", ""] : verdictCells(goals[i], result),
  ]);
}

function figureCells(result: Result, who: string): string[] {
  const has = (figure: string): boolean => figure in (result.rounds[0]?.[who] ?? {} as Sample);
  const show = (figure: string): string =>
    has(figure) ? duration(median(valuesOf(result, who, figure))) : "";
  const others = "C" in result.rounds[0]! && who !== "C" ? valuesOf(result, "C") : [];
  const ratios = others.map((other, i) => valuesOf(result, who)[i]! / other);
  const ratio = ratios.length === 0 ? "" : showInterval(interval(ratios));
  return [who, show("value"), show("p99"), show("processor"), ratio];
}

function verdictCells(goal: Row["goals"][number], result: Result): string[] {
  const { measured, outcome } = judge(goal, result);
  return [goal.text, `${showInterval(measured)} ${goal.unit ?? "x"}`, outcome.toUpperCase()];
}

function noteOf({ id, note, goals }: Row): string {
  const reasons = new Set(goals.flatMap(({ reason }) => reason ?? []));
  return [`${id}, for ${note}`, ...reasons].join("; ");
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

function align(lines: readonly string[][]): string {
  const widths = HEAD.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines.map((line) =>
    line.map((cell, i) => RIGHT.includes(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))
      .join("  ").trimEnd()
  ).join("\n");
}
