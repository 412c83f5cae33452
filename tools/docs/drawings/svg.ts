/**
 * What the drawings are made of. Each one has a background of its own and colours for light and dark pages, so that it is
 * readable even if a page and the system disagree about the theme.
 */

import { escape, picture, round } from "../../svg.ts";

/** What a shape stands for. The style sheet has a colour for each kind. */
export type Kind = "plain" | "header" | "number" | "data" | "empty";

/** A place and a size. */
export interface Area {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Width of a character of the fixed font in pixels, at most. */
export const CHARACTER = 7;
const LINE = 17;

const COLOURS = {
  light: {
    page: "#ffffff",
    ink: "#1f2328",
    faint: "#59636e",
    plain: ["#f6f8fa", "#8c959f"],
    header: ["#ddf4ff", "#0969da"],
    number: ["#fff8c5", "#9a6700"],
    data: ["#dafbe1", "#1a7f37"],
    empty: ["#ffffff", "#8c959f"],
  },
  dark: {
    page: "#0d1117",
    ink: "#e6edf3",
    faint: "#9198a1",
    plain: ["#1c2129", "#6e7681"],
    header: ["#0c2d4d", "#58a6ff"],
    number: ["#3b2f06", "#d29922"],
    data: ["#0f3a1e", "#3fb950"],
    empty: ["#0d1117", "#6e7681"],
  },
} as const;

/** The style sheet of a theme. */
function themeOf(theme: keyof typeof COLOURS): string {
  const { page, ink, faint, ...kinds } = COLOURS[theme];
  const shapes = Object.entries(kinds).map(([kind, [fill, stroke]]) =>
    `.${kind} { fill: ${fill}; stroke: ${stroke} }`
  );
  return [
    `.page { fill: ${page}; stroke: none }`,
    `text { fill: ${ink}; stroke: none }`,
    `.faint { fill: ${faint} }`,
    `.line { fill: none; stroke: ${faint} }`,
    `.head { fill: ${faint}; stroke: none }`,
    ...shapes,
  ].join("\n");
}

const STYLE = `
text { font: 13px system-ui, sans-serif }
.title { font-weight: 600 }
.code { font: 11.5px ui-monospace, monospace }
.small { font-size: 11px }
.line { stroke-width: 1.5 }
rect { stroke-width: 1.2 }
.empty { stroke-dasharray: 4 3 }
${themeOf("light")}
@media (prefers-color-scheme: dark) {
${themeOf("dark")}
}`;

/**
 * A drawing.
 *
 * @param title What it shows, for readers who do not see it.
 * @param parts The shapes, the lowest first.
 */
export function drawing(
  title: string,
  width: number,
  height: number,
  parts: readonly string[],
): string {
  const page = `<rect class="page" width="${width}" height="${height}" rx="8"/>`;
  return picture(title, width, height, `${STYLE}\n`, [page, ...parts]);
}

/** Words at a place. */
export function label(
  words: string,
  x: number,
  y: number,
  style = "",
  anchor: "start" | "middle" | "end" = "start",
): string {
  const name = style === "" ? "" : ` class="${style}"`;
  // Lines of the fixed font are columns: their spaces count.
  const space = style === "code" ? ' xml:space="preserve"' : "";
  return `<text${name}${space} x="${x}" y="${y}" text-anchor="${anchor}">${escape(words)}</text>`;
}

/** A box with a title, and lines in the fixed font below it. */
export function box(area: Area, kind: Kind, title: string, lines: readonly string[] = []): string {
  const { x, y, w } = area;
  return [
    rectangle(area, kind),
    label(title, x + 10, y + 20, "title"),
    ...lines.map((line, i) => label(fitting(line, w - 20), x + 10, y + 39 + i * LINE, "code")),
  ].join("\n");
}

/** The height of a {@linkcode box} with so many lines. */
export function boxHeight(lines: number): number {
  return 30 + lines * LINE + (lines > 0 ? 4 : 0);
}

/** A cell with centred words, and smaller ones below them. */
export function cell(area: Area, kind: Kind, words: string, below = ""): string {
  const { x, y, w, h } = area;
  const middle = x + w / 2;
  const first = y + h / 2 + (below === "" ? 4 : -3);
  return [
    rectangle(area, kind),
    label(words, middle, first, w < 60 ? "small" : "", "middle"),
    ...(below === "" ? [] : [label(fitting(below, w), middle, first + 17, "code", "middle")]),
  ].join("\n");
}

/** Cells side by side. Each one is a width, a kind, words and smaller words. */
export function row(
  x: number,
  y: number,
  h: number,
  cells: readonly (readonly [w: number, kind: Kind, words: string, below?: string])[],
): string {
  let left = x;
  return cells.map(([w, kind, words, below]) => {
    const drawn = cell({ x: left, y, w, h }, kind, words, below);
    left += w;
    return drawn;
  }).join("\n");
}

/** A line through points, with a head at its end. */
export function arrow(...points: readonly (readonly [x: number, y: number])[]): string {
  const [x, y] = points.at(-1)!;
  const [fromX, fromY] = points.at(-2)!;
  const length = Math.hypot(x - fromX, y - fromY);
  const [dx, dy] = [(x - fromX) / length, (y - fromY) / length];
  const corner = (side: number): string =>
    `${round(x - 9 * dx - side * 4 * dy)},${round(y - 9 * dy + side * 4 * dx)}`;
  const path = [...points.slice(0, -1), [x - 6 * dx, y - 6 * dy] as const];
  return [
    `<polyline class="line" points="${
      path.map(([x, y]) => `${round(x)},${round(y)}`).join(" ")
    }"/>`,
    `<polygon class="head" points="${x},${y} ${corner(1)} ${corner(-1)}"/>`,
  ].join("\n");
}

function rectangle({ x, y, w, h }: Area, kind: Kind): string {
  return `<rect class="${kind}" x="${x}" y="${y}" width="${w}" height="${h}" rx="3"/>`;
}

/** Words in the fixed font that fit into a width. */
function fitting(words: string, width: number): string {
  if (words.length * CHARACTER <= width) return words;
  throw new RangeError(`Cannot draw "${words}": it is wider than ${width} pixels`);
}
