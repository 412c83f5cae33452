/** Rows of call overhead, on the host with a provider that does nothing. */

import { all, atMost, atMostValue, c, deno, fasterThan, pyverbs } from "./make.ts";
import { figureOf } from "../measurement.ts";
import type { Row } from "./types.ts";

/** The rows of the host. */
export const NATIVE: readonly Row[] = [
  {
    id: "poll_empty",
    title: "ibv_poll_cq, empty queue",
    stage: "native",
    entries: [...all("poll_empty"), deno("poll_empty_slow", "no thunks")],
    goals: [fasterThan(50, "no thunks")],
  },
  {
    id: "post_send",
    title: "ibv_post_send, one prepared request",
    stage: "native",
    entries: all("post_send"),
    goals: [],
  },
  {
    id: "post_poll",
    title: "32 posted and polled, a message",
    stage: "native",
    entries: [
      c("post_poll"),
      deno("post_poll_low"),
      deno("post_poll", "Deno, BigInt"),
      pyverbs("post_poll"),
    ],
    goals: [atMost(5, "C")],
    note: "status and wr_id read: its lower half, or all of it as a bigint",
  },
  {
    id: "heap",
    title: "heap growth, 1 000 000 messages",
    stage: "native",
    entries: [deno("heap")],
    goals: [atMostValue(1, "MB", (round) => figureOf(round, "Deno") / 1e6)],
    count: () => 1_000_000,
    unit: "bytes",
  },
  {
    id: "prediction",
    title: "RSS queue of a flow predicted",
    stage: "native",
    entries: [deno("prediction")],
    goals: [atMostValue(1000, "ns", (round) => figureOf(round, "Deno"))],
  },
];
