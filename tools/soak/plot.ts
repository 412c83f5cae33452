/** The samples of a soak run as a picture. */

import { drawing, label } from "../docs/drawings/svg.ts";
import { round } from "../svg.ts";
import type { Sample, SoakRecord } from "./record.ts";
import { amountOf, type Flatness, flatnesses } from "./verdict.ts";

const COLUMNS = 2;
const PANEL = { w: 400, h: 96 };
const STEP = { x: 470, y: 170 };
const LEFT = 40;
const TOP = 108;

/** Draws all series. */
export function plot(record: SoakRecord): string {
  const series = flatnesses(record);
  const rows = Math.ceil(series.length / COLUMNS);
  const title = `Soak run of ${record.minutes} min`;
  return drawing(title, 2 * LEFT + STEP.x + PANEL.w, TOP + rows * STEP.y - 10, [
    label(title, LEFT, 30, "title"),
    label(summary(record), LEFT, 52, "small"),
    ...series.map((flatness, i) =>
      panel(
        flatness,
        record,
        LEFT + i % COLUMNS * STEP.x,
        TOP + Math.floor(i / COLUMNS) * STEP.y,
      )
    ),
  ]);
}

function summary({ outcome }: SoakRecord): string {
  const { messages, counts } = outcome;
  const figure = (value: number | undefined): string => (value ?? 0).toLocaleString("en");
  return `${figure(messages.sent)} messages, ${figure(messages.lost)} lost, ` +
    `${figure(messages.twice)} twice; ${figure(counts.ahs)} address handles, ` +
    `${figure(counts.tables)} tables, ${figure(counts.queuePairs)} queue pairs, ` +
    `${figure(counts.workers)} Workers`;
}

function panel(
  { limit, first, last, flat }: Flatness,
  { samples }: SoakRecord,
  x: number,
  y: number,
): string {
  const top = Math.max(...samples.map((sample) => sample[limit.name])) * 1.1 || 1;
  const end = samples.at(-1)!.seconds;
  const place = (sample: Sample): string =>
    `${round(x + sample.seconds / end * PANEL.w)},${
      round(y + PANEL.h * (1 - sample[limit.name] / top))
    }`;
  const amount = (value: number): string => amountOf(value, limit.unit);
  const verdict = `${amount(first)} in the first quarter, ${amount(last)} in the last: ` +
    `${flat === undefined ? "not judged" : flat ? "flat" : "grows"} (limit +${
      amount(limit.growth)
    })`;
  const baseline = y + PANEL.h;
  return [
    label(limit.title, x, y - 22, "title"),
    label(verdict, x, y - 6, "small faint"),
    `<polyline class="line" points="${x},${y} ${x},${baseline} ${x + PANEL.w},${baseline}"/>`,
    `<polyline class="${
      flat === false ? "number" : "data"
    }" style="fill:none;stroke-width:1.5" points="${samples.map(place).join(" ")}"/>`,
    label("0", x, baseline + 16, "small faint"),
    label(`${Math.round(end / 6) / 10} min`, x + PANEL.w, baseline + 16, "small faint", "end"),
  ].join("\n");
}
