/** The result of a measurement as a picture. */

import { type Bar, type Latency, roundUp } from "./histogram.ts";
import { bandwidthText, figuresOf, type Result, titleOf } from "./report.ts";

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 24;
const TOP = 76;
const BOTTOM = 108;
const GRID_LINES = 6;
const FAINT = 'fill="#666666"';
const DARK = 'fill="#1a1a1a"';
const END = 'text-anchor="end"';
const MIDDLE = 'text-anchor="middle"';
const NOTE = "microseconds; the last bar has all that are longer";

export function svgOf(result: Result & { readonly latency: Latency }): string {
  const { verb, latency, bandwidth, role } = result;
  const { bars } = latency;
  const most = Math.max(...bars.map(({ count }) => count));
  const slot = (WIDTH - LEFT - RIGHT) / bars.length;
  const height = HEIGHT - TOP - BOTTOM;
  const y = (count: number): number => TOP + height * (1 - count / most);
  const title = `${titleOf(result)}, seen by the ${role}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" \
viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
${text(LEFT, 30, title, 'font-size="17" fill="#1a1a1a"')}
${
    text(
      LEFT,
      52,
      `latency of ${latency.count} messages${verb === "read" ? "" : " (half of a round trip)"}`,
      FAINT,
    )
  }
${gridOf(most, y)}
${bars.map((bar, i) => barOf(bar, LEFT + i * slot, slot, y)).join("\n")}
${labelsOf(bars, slot)}
${text(WIDTH / 2, HEIGHT - BOTTOM + 40, NOTE, `${FAINT} ${MIDDLE}`)}
${text(LEFT, HEIGHT - 42, figuresOf(latency).map((pair) => pair.join(" ")).join(", "), DARK)}
${text(LEFT, HEIGHT - 20, `bandwidth from client to server: ${bandwidthText(bandwidth)}`, DARK)}
</svg>
`;
}

function gridOf(most: number, y: (count: number) => number): string {
  const step = Math.max(1, roundUp(most / GRID_LINES));
  const counts = Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
  return counts.map((count) => {
    const at = y(count).toFixed(1);
    const line = `<path d="M${LEFT} ${at}H${WIDTH - RIGHT}" stroke="#e2e2e2"/>`;
    const number = text(LEFT - 8, Number(at) + 4, String(count), `${FAINT} ${END}`);
    return `${line}${number}`;
  }).join("\n");
}

function barOf(
  { from, to, count }: Bar,
  x: number,
  slot: number,
  y: (n: number) => number,
): string {
  const top = y(count);
  const place = `x="${(x + 1).toFixed(1)}" y="${top.toFixed(1)}" width="${(slot - 2).toFixed(1)}"`;
  const tip = `<title>${shown(from)} to ${shown(to)} us: ${count}</title>`;
  return `<rect ${place} height="${(y(0) - top).toFixed(1)}" fill="#2f6fb2">${tip}</rect>`;
}

/** The limits between bars, as many as there is room for. The last bar is open. */
function labelsOf(bars: readonly Bar[], slot: number): string {
  const every = Math.ceil(52 / slot);
  return bars.flatMap(({ from }, i) => {
    if (i % every !== 0) return [];
    return [text(LEFT + i * slot, HEIGHT - BOTTOM + 18, shown(from), `${FAINT} ${MIDDLE}`)];
  }).join("\n");
}

function shown(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** `content` is text of this program: it has no characters that XML would interpret. */
function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${content}</text>`;
}
