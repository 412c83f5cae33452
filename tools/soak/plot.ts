/** The samples of a soak run as a picture. */

import { drawing, label } from "../docs/drawings/svg.ts";
import { round } from "../svg.ts";
import type { Sample, SoakRecord } from "./record.ts";
import { describeGrowth, type Flatness, flatnesses, grows } from "./verdict.ts";

const COLUMNS = 2;
const PANEL = { w: 400, h: 96 };
const STEP = { x: 470, y: 150 };
const LEFT = 40;
const TOP = 88;

/** Draws all series. */
export function plot(record: SoakRecord): string {
  const series = flatnesses(record);
  const rows = Math.ceil(series.length / COLUMNS);
  const title = `Soak run of ${Math.round(record.plan.seconds / 60)} min`;
  return drawing(title, 2 * LEFT + STEP.x + PANEL.w, TOP + rows * STEP.y - 10, [
    label(title, LEFT, 30, "title"),
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
  const kind = grows(flatness) ? "number" : "data";
  const baseline = y + PANEL.h;
  return [
    label(describeGrowth(flatness), x, y - 6, "small"),
    `<polyline class="line" points="${x},${y} ${x},${baseline} ${x + PANEL.w},${baseline}"/>`,
    `<polyline class="${kind}" style="fill:none;stroke-width:1.5" points="${points.join(" ")}"/>`,
    label(`${Math.round(end / 6) / 10} min`, x + PANEL.w, baseline + 16, "small faint", "end"),
  ].join("\n");
}
