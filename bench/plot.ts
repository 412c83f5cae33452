/** Rows of the README as bars: time of one operation, on a logarithmic scale. */

import { type Result, valuesOf } from "./measurement.ts";
import { ROWS, SUMMARY } from "./rows.ts";
import { median } from "./statistics.ts";
import { duration } from "./table.ts";

/** The contenders that are drawn, each with a style of its name. */
const CONTENDERS = ["C", "Deno", "pyverbs"] as const;

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #6b7785 }
line { stroke: #8c959f; stroke-opacity: 0.35 }
.C { fill: #8c959f }
.Deno { fill: #1f883d }
.pyverbs { fill: #bf8700 }
@media (prefers-color-scheme: dark) { text { fill: #b1bac4 } .Deno { fill: #3fb950 } }`;

const WIDTH = 960;
const LEFT = 370;
const BAR = 12;
const STEP = 15;
const TOP = 64;
/** The scale's ends, as powers of ten of nanoseconds. */
const [FIRST, LAST] = [-1, 8.2];

/** Draws the rows of the README that were measured. */
export function plot(results: readonly Result[]): string {
  const heading = "Time of one operation (shorter is better, logarithmic scale)";
  const parts = [text(16, 20, heading)];
  for (const [i, who] of CONTENDERS.entries()) {
    parts.push(bar(who, 620 + 90 * i, 10, BAR), text(638 + 90 * i, 20, who));
  }
  let y = TOP;
  for (const { id, title } of ROWS.filter(({ id }) => SUMMARY.includes(id))) {
    const result = results.find((result) => result.id === id);
    if (result === undefined) continue;
    const bars = CONTENDERS.map((who, i) => {
      const [value, top] = [median(valuesOf(result, who)), y + i * STEP];
      const end = position(value);
      return bar(who, LEFT, top, end - LEFT) + text(end + 6, top + 10, duration(value));
    });
    parts.push(text(LEFT - 12, y + 2 * STEP - 3, title, "end") + bars.join(""));
    y += 4 * STEP;
  }
  const size = `width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    "<title>Time of one operation: C, Deno and pyverbs</title>",
    `<style>${STYLE}</style>`,
    grid(y).join(""),
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** A line for each power of ten. */
function grid(bottom: number): string[] {
  return Array.from({ length: Math.floor(LAST) - FIRST + 1 }, (_, i) => {
    const [x, label] = [position(10 ** (FIRST + i)), duration(10 ** (FIRST + i))];
    const line = `<line x1="${x}" x2="${x}" y1="${TOP - 8}" y2="${bottom - 6}"/>`;
    return line + text(x, TOP - 14, label, "middle");
  });
}

function position(nanoseconds: number): number {
  const share = (Math.log10(nanoseconds) - FIRST) / (LAST - FIRST);
  return Math.round(LEFT + Math.min(Math.max(share, 0.002), 1) * (WIDTH - LEFT - 90));
}

function bar(who: string, x: number, y: number, width: number): string {
  return `<rect class="${who}" x="${x}" y="${y}" width="${width}" height="${BAR}" rx="2"/>`;
}

function text(x: number, y: number, words: string, anchor: string = "start"): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;
}
