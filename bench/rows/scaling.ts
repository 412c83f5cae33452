/** Curves: the same work at several sizes. */

import { all, c, deno } from "./make.ts";
import { RXE_CURVES } from "./rxe.ts";
import type { Curve, Row } from "./types.ts";

/** The curves. */
export const CURVES: readonly Curve[] = [
  {
    id: "list",
    title: "changed, posted and polled, a message",
    stage: "native",
    axis: "requests of a list",
    points: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    entries: (size) => all(`changed:${size}`),
  },
  {
    id: "sge",
    title: "1 changed, posted and polled",
    stage: "native",
    axis: "scatter/gather elements",
    points: [1, 2, 4, 8, 16],
    entries: (parts) => [c(`gathered:${parts}`), deno(`gathered:${parts}`)],
  },
  {
    id: "pairs",
    title: "polled in lists of 32, a completion",
    stage: "native",
    axis: "queue pairs on one queue",
    points: [1, 3, 10, 30, 100, 300, 1000],
    entries: (pairs) => [c(`queue_pairs:${pairs}`), deno(`queue_pairs:${pairs}`)],
  },
  {
    id: "peers",
    title: "answer in lists of 32",
    stage: "native",
    axis: "known peers",
    points: [1, 10, 100, 1000, 10_000, 100_000],
    entries: (peers) => [c(`answer:${peers}`), deno(`answer:${peers}`)],
  },
  {
    id: "gids",
    title: "address of a sender, all GIDs in turn",
    stage: "native",
    axis: "GIDs of the port",
    points: [1, 4, 16, 64, 256, 1024],
    entries: (gids) => [deno(`derive_address:${gids}`)],
  },
  ...RXE_CURVES,
];

/** Rounds of a point: it has no verdict. */
const ROUNDS = 3;

/** The row of a point. */
export function pointId(curve: Curve, point: number): string {
  return `${curve.id}:${point}`;
}

/** The points of all curves as rows. */
export const POINTS: readonly Row[] = CURVES.flatMap((curve) =>
  curve.points.map((point) => ({
    id: pointId(curve, point),
    title: `${curve.title}: ${curve.axis} ${point}`,
    stage: curve.stage,
    entries: curve.entries(point),
    goals: [],
    rounds: ROUNDS,
  }))
);
