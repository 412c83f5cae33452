/** Rows of the README as bars: time of one operation, on a logarithmic scale. */

import { type Result, valuesOf } from "./measurement.ts";
import { ROWS } from "./rows/all.ts";
import type { Row } from "./rows/types.ts";
import { median } from "./statistics.ts";
import { duration } from "./table.ts";

/** The contenders that are drawn, each with a style of its name. */
const CONTENDERS = ["C", "Deno", "pyverbs"] as const;

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #6b7785 }
.title { font-weight: 600; font-size: 14px }
.small { font-size: 11px }
line { stroke: #8c959f; stroke-opacity: 0.35 }
.C { fill: #8c959f; stroke: #8c959f }
.Deno { fill: #1f883d; stroke: #1f883d }
.pyverbs { fill: #bf8700; stroke: #bf8700 }
rect { stroke: none !important }
@media (prefers-color-scheme: dark) { text { fill: #b1bac4 } .Deno { fill: #3fb950; stroke: #3fb950 } }`;

const WIDTH = 960;
const LEFT = 370;
const RIGHT = 90;
const BAR = 12;
const GAP = 3;
const GROUP_GAP = 14;
const TOP = 64;
/** The scale's ends, as powers of ten of nanoseconds. */
const FIRST = -1;
const LAST = 8.2;
const TICKS = [
  "0.1 ns",
  "1 ns",
  "10 ns",
  "100 ns",
  "1 us",
  "10 us",
  "100 us",
  "1 ms",
  "10 ms",
  "100 ms",
];

const STAGES = [
  ["native", "With a provider that does nothing"],
  ["rxe", "On soft-RoCE, in the guest"],
  ["cold", "From the start of the process"],
] as const;

/** The rows of the README: from one call to a whole program, where the library is near to C and where it is not. */
export const SUMMARY: readonly string[] = [
  ...["poll_empty", "post_send", "changed", "answer_32"],
  ...["ud_round", "rc_send_lat", "wake_up"],
  "first_reply",
];

/** Draws these rows. */
export function plot(results: readonly Result[]): string {
  const parts: string[] = [];
  let y = TOP;
  for (const [stage, title] of STAGES) {
    parts.push(text(title, 16, y + BAR, "title"));
    y += BAR + GROUP_GAP;
    for (const row of ROWS.filter((row) => row.stage === stage && SUMMARY.includes(row.id))) {
      const result = results.find(({ id }) => id === row.id);
      const bars = CONTENDERS.filter((who) => row.entries.some((entry) => entry.who === who));
      if (result === undefined) continue;
      parts.push(group(row, result, bars, y));
      y += bars.length * (BAR + GAP) + GROUP_GAP;
    }
  }
  const title = "Time of one operation: C, Deno and pyverbs";
  const heading = "Time of one operation (shorter is better, logarithmic scale)";
  const head = [text(heading, 16, 20, "title"), ...legend(WIDTH - RIGHT - 250, 20)];
  const size = `width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<title>${title}</title>`,
    `<style>${STYLE}</style>`,
    [...grid(y), ...head].join(""),
    ...parts,
    "</svg>\n",
  ].join("\n");
}

function group(row: Row, result: Result, bars: readonly string[], y: number): string {
  const middle = y + (bars.length * (BAR + GAP) - GAP) / 2 + 4;
  const parts = [text(row.title, LEFT - 12, middle, "", "end")];
  for (const [i, who] of bars.entries()) {
    const value = median(valuesOf(result, who));
    const top = y + i * (BAR + GAP);
    const end = position(value);
    parts.push(
      `<rect class="${who}" x="${LEFT}" y="${top}" width="${
        round(end - LEFT)
      }" height="${BAR}" rx="2"/>`,
      text(duration(value), end + 6, top + BAR - 2, "small"),
    );
  }
  return parts.join("");
}

function position(nanoseconds: number): number {
  const share = (Math.log10(nanoseconds) - FIRST) / (LAST - FIRST);
  return LEFT + Math.min(Math.max(share, 0.002), 1) * (WIDTH - LEFT - RIGHT);
}

function grid(bottom: number): string[] {
  return TICKS.flatMap((label, i) => {
    const x = round(position(10 ** (FIRST + i)));
    return [
      `<line x1="${x}" x2="${x}" y1="${TOP - 8}" y2="${bottom - 6}"/>`,
      text(label, x, TOP - 14, "small", "middle"),
    ];
  });
}

/** Which colour is whose. */
function legend(x: number, y: number): string[] {
  return CONTENDERS.flatMap((who, i) => {
    const left = x + i * 90;
    return [
      `<rect class="${who}" x="${left}" y="${y - 10}" width="12" height="12" rx="2"/>`,
      text(who, left + 18, y),
    ];
  });
}

/** Coordinates need no more digits. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Words as the content of an element. */
function escape(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function text(words: string, x: number, y: number, kind = "", anchor = "start"): string {
  const name = kind === "" ? "" : ` class="${kind}"`;
  const place = `x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"`;
  return `<text${name} ${place}>${escape(words)}</text>`;
}
