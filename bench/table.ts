/** Results as an aligned table. */

import { type Result, type Sample, valuesOf } from "./measurement.ts";
import { ratio, type Row, type Shown } from "./row.ts";
import { goalsBesideOld, ROWS } from "./rows.ts";
import { type Interval, interval, judge, median } from "./statistics.ts";

const FIGURES = ["value", "mean", "p99", "processor"] as const;
const HEAD = [
  ...["work", "contender", "median", "mean", "p99", "processor", "x C"],
  ...["goal", "measured", ""],
];
const RIGHT = [2, 3, 4, 5, 6, 8];

/** The table of all rows that were measured, and what to bear in mind. */
export function table(results: readonly Result[]): string {
  const measured = measuredBy(results);
  const lines = measured.flatMap(({ row, result }) => linesOf(row, result));
  return `${align([HEAD, ...lines])}\n\n${measured.map(({ row }) => noteOf(row)).join("\n")}`;
}

/** The contenders that were measured with an old package too: the times of both, and how many times the old one the new one is. */
export function comparison(results: readonly Result[]): string {
  const lines = measuredBy(results).flatMap(({ row, result }) =>
    goalsBesideOld(row).map(({ who, old, goal }) => {
      const [now, before] = [who, old].map((name) =>
        quantity(median(valuesOf(result, name)), row.shown)
      );
      const { measured, outcome } = judge(goal, result);
      const verdict = outcome === "missed" ? "SLOWER" : "";
      return [row.title, who, before!, now!, showInterval(measured), verdict];
    })
  );
  return align([["work", "contender", "old", "new", "new / old", ""], ...lines], [2, 3, 4]);
}

function measuredBy(results: readonly Result[]): { readonly row: Row; readonly result: Result }[] {
  return results.flatMap((result) => {
    const row = ROWS.find(({ id }) => id === result.id);
    return row === undefined ? [] : [{ row, result }];
  });
}

function linesOf({ title, entries, goals, shown }: Row, result: Result): string[][] {
  return Array.from({ length: Math.max(entries.length, goals.length) }, (_, i) => [
    i === 0 ? title : "",
    ...entries[i] === undefined ? Array(6).fill("") : figureCells(result, entries[i].who, shown),
    ...goals[i] === undefined ? ["", "", ""] : verdictCells(goals[i], result),
  ]);
}

function figureCells(result: Result, who: string, shown: Shown = "time"): string[] {
  const cells = FIGURES.map((figure) => {
    if (!(figure in (result.rounds[0]?.[who] ?? {} as Sample))) return "";
    const value = median(valuesOf(result, who, figure));
    if (figure === "value") return quantity(value, shown);
    // A rate has no distribution.
    return shown === "time" || figure === "processor" ? duration(value) : "";
  });
  const others = "C" in result.rounds[0]! && who !== "C" ? valuesOf(result, "C") : [];
  const ratios = others.map((other, i) => ratio(valuesOf(result, who)[i]!, other));
  const timesC = ratios.length === 0 ? "" : showInterval(interval(ratios));
  return [who, ...cells, timesC];
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

/** Nanoseconds of one operation, as a row shows them. */
export function quantity(nanoseconds: number, shown: Shown = "time"): string {
  if (shown === "time") return duration(nanoseconds);
  if (shown !== "rate") return `${digits(shown.bytes / nanoseconds)} GB/s`;
  const rate = 1e9 / nanoseconds;
  return rate < 1e6 ? `${digits(rate / 1e3)} k/s` : `${digits(rate / 1e6)} M/s`;
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

function align(lines: readonly string[][], right: readonly number[] = RIGHT): string {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines.map((line) =>
    line.map((cell, i) => right.includes(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))
      .join("  ").trimEnd()
  ).join("\n");
}
