/** Results as an aligned table. */

import type { Measurement, Measurements, Result } from "./measurement.ts";
import { type Row, ROWS } from "./rows.ts";
import type { Figure } from "./set_up.ts";

/** A goal and what was reached. */
export interface Verdict {
  readonly text: string;
  readonly measured: string;
  readonly met: boolean;
}

/** Judges a row. */
export function judge(row: Row, results: readonly Result[]): Verdict[] {
  const all = new Map(results.map(({ id, measurements }) => [id, measurements]));
  return row.goals.map((goal) => {
    const value = goal.value(all.get(row.id)!, all);
    const met = goal.atLeast ? value >= goal.limit : value <= goal.limit;
    return { text: goal.text, measured: `${digits(value)}${goal.unit}`, met };
  });
}

/** The table of all rows that were measured. */
export function table(results: readonly Result[]): string {
  const cells = [["work", "contender", "median", "min", "max", "x C", "target", "measured", ""]];
  for (const { id, measurements } of results) {
    const row = ROWS.find((row) => row.id === id)!;
    cells.push(...lines(row, measurements, judge(row, results)));
  }
  return align(cells, [2, 3, 4, 5, 7]);
}

function lines(row: Row, measurements: Measurements, verdicts: Verdict[]): string[][] {
  const contenders = Object.entries(measurements);
  const count = Math.max(verdicts.length, contenders.length);
  return Array.from({ length: count }, (_, i) => {
    const title = i === 0 ? row.title : "";
    const verdict = verdicts[i];
    return [
      title,
      ...(contenders[i]
        ? contenderCells(contenders[i], measurements["C"], row.unit)
        : Array(5).fill("")),
      verdict?.text ?? "",
      verdict?.measured ?? "",
      verdict === undefined ? "" : verdict.met ? "met" : "MISSED",
    ];
  });
}

function contenderCells(
  [who, { median, min, max }]: [string, Measurement],
  c: Measurement | undefined,
  unit: Row["unit"],
): string[] {
  const show = unit === "bytes" ? bytes : duration;
  const ratio = c === undefined ? "" : digits(median / c.median);
  return [who, show(median), show(min), show(max), ratio];
}

/** The figures of the set-up. */
export function setUpTable(figures: readonly Figure[]): string {
  const head = ["set-up", "target", "measured", ""];
  return align([
    head,
    ...figures.map(({ title, value, unit, limit }) => [
      title,
      `at most ${limit} ${unit}`,
      `${digits(value)} ${unit}`,
      value <= limit ? "met" : "MISSED",
    ]),
  ], [2]);
}

function bytes(count: number): string {
  return `${digits(count / 1e3)} kB`;
}

/** Nanoseconds in a fitting unit. */
export function duration(nanoseconds: number): string {
  if (nanoseconds < 1e3) return `${digits(nanoseconds)} ns`;
  if (nanoseconds < 1e6) return `${digits(nanoseconds / 1e3)} us`;
  return `${digits(nanoseconds / 1e6)} ms`;
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
