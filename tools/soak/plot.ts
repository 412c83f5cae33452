/** The samples of a soak run as a picture. */

import { svg, text } from "../../bench/svg.ts";
import { round } from "../svg.ts";
import type { Sample, SoakRecord } from "./record.ts";
import { describeGrowth, type Flatness, flatnesses, grows } from "./verdict.ts";

const COLUMNS = 2;
const PANEL = { w: 400, h: 96 };
const STEP = { x: 470, y: 150 };
const LEFT = 40;
const TOP = 88;

/** Draws all series. Those that grow too much have another colour. */
export function plot(record: SoakRecord): string {
  const series = flatnesses(record);
  const height = TOP + Math.ceil(series.length / COLUMNS) * STEP.y - 10;
  const title = `Soak run of ${Math.round(record.plan.seconds / 60)} min`;
  return svg(title, 2 * LEFT + STEP.x + PANEL.w, height, [
    text(title, LEFT, 30, "title"),
    ...series.map((flatness, i) =>
      panel(
        flatness,
        record.samples,
        LEFT + i % COLUMNS * STEP.x,
        TOP + Math.floor(i / COLUMNS) * STEP.y,
      )
    ),
  ]);
}

function panel(flatness: Flatness, samples: readonly Sample[], x: number, y: number): string {
  const { name } = flatness;
  const top = Math.max(...samples.map((sample) => sample[name])) * 1.1 || 1;
  const end = samples.at(-1)!.seconds;
  const points = samples.map((sample) => {
    const right = x + sample.seconds / end * PANEL.w;
    return `${round(right)},${round(y + PANEL.h * (1 - sample[name] / top))}`;
  });
  const baseline = y + PANEL.h;
  return [
    text(describeGrowth(flatness), x, y - 6, "small"),
    `<line x1="${x}" y1="${baseline}" x2="${x + PANEL.w}" y2="${baseline}"/>`,
    `<polyline stroke="${grows(flatness) ? "#bf8700" : "#1f883d"}" points="${points.join(" ")}"/>`,
    text(`${Math.round(end / 6) / 10} min`, x + PANEL.w, baseline + 16, "small", "end"),
  ].join("\n");
}
