/** The curves as a plot: time of one operation by size, both on logarithmic scales. */

import { type Result, valuesOf } from "./measurement.ts";
import { CURVES, pointId } from "./rows/scaling.ts";
import type { Curve } from "./rows/types.ts";
import { median } from "./statistics.ts";
import { CONTENDERS, legend, round, svg, text } from "./svg.ts";
import { digits, duration } from "./table.ts";

const PANEL_WIDTH = 420;
const PANEL_HEIGHT = 250;
const MARGIN = { left: 64, right: 28, top: 36, bottom: 44 };
const COLUMNS = 2;
const TOP = 40;

/** Whether a run has points of curves. */
export function hasCurves(results: readonly Result[]): boolean {
  return results.some(({ id }) => id.includes(":"));
}

/** Draws all curves that were measured. */
export function curvesPlot(results: readonly Result[]): string {
  const measured = CURVES.filter((curve) => pointsOf(curve, results).length > 0);
  const panels = measured.map((curve, i) => {
    const x = i % COLUMNS * PANEL_WIDTH;
    const y = TOP + Math.floor(i / COLUMNS) * PANEL_HEIGHT;
    return `<g transform="translate(${x} ${y})">\n${panel(curve, results)}\n</g>`;
  });
  const width = COLUMNS * PANEL_WIDTH;
  const height = TOP + Math.ceil(measured.length / COLUMNS) * PANEL_HEIGHT;
  const title = "Time of one operation by size (both scales logarithmic)";
  const head = [text(title, 16, 20, "title"), ...legend(width - 280, 20)];
  return svg(title, width, height, [...head, ...panels]);
}

interface Point {
  readonly size: number;
  readonly result: Result;
}

function pointsOf(curve: Curve, results: readonly Result[]): Point[] {
  return curve.points.flatMap((size) => {
    const result = results.find(({ id }) => id === pointId(curve, size));
    return result === undefined ? [] : [{ size, result }];
  });
}

interface Line {
  readonly who: string;
  readonly points: readonly (readonly [size: number, time: number])[];
}

function linesOf(curve: Curve, results: readonly Result[]): Line[] {
  const points = pointsOf(curve, results);
  return CONTENDERS.map((who) => ({
    who,
    points: points.filter(({ result }) => result.rounds[0]?.[who] !== undefined)
      .map(({ size, result }) => [size, median(valuesOf(result, who))] as const),
  })).filter(({ points }) => points.length > 0);
}

function panel(curve: Curve, results: readonly Result[]): string {
  const lines = linesOf(curve, results);
  const times = lines.flatMap(({ points }) => points.map(([, time]) => time));
  const across = scale(curve.points, MARGIN.left, PANEL_WIDTH - MARGIN.right);
  const up = scale(decades(times), PANEL_HEIGHT - MARGIN.bottom, MARGIN.top);
  return [
    text(curve.title, MARGIN.left, 22),
    ...decades(times).map((time) => gridLine(time, up(time))),
    ...curve.points.map((size) =>
      text(digits(size), across(size), PANEL_HEIGHT - MARGIN.bottom + 16, "small", "middle")
    ),
    text(curve.axis, PANEL_WIDTH / 2 + 20, PANEL_HEIGHT - 12, "small", "middle"),
    ...lines.map(({ who, points }) => {
      const places = points.map(([size, time]) => [round(across(size)), round(up(time))] as const);
      const dots = places.map(([x, y]) => `<circle class="${who}" cx="${x}" cy="${y}" r="3"/>`);
      return `<polyline class="${who}" style="fill: none" points="${places.join(" ")}"/>${
        dots.join("")
      }`;
    }),
  ].join("\n");
}

function gridLine(time: number, y: number): string {
  const ends = `x1="${MARGIN.left}" x2="${PANEL_WIDTH - MARGIN.right}"`;
  const line = `<line ${ends} y1="${round(y)}" y2="${round(y)}"/>`;
  return line + text(duration(time), MARGIN.left - 8, y + 4, "small", "end");
}

/** The powers of ten that enclose some values. */
function decades(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

function scale(values: readonly number[], from: number, to: number): (value: number) => number {
  const [low, high] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  return (value) => from + (Math.log(value) - low) / (high - low) * (to - from);
}
