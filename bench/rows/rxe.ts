/** Rows of work on soft-RoCE, in the guest. */

import type { Need } from "../../rxe/host/packages.ts";
import { playPingPong } from "../ping_pong.ts";
import { all, atMost, c, deno, fasterThan } from "./make.ts";
import type { Curve, FunctionEntry, Program, Row } from "./types.ts";

/** Packages that these rows need beside those of ../main.ts. */
export const RXE_NEEDS: readonly Need[] = [];

/** Programs that are compiled for these rows, by the name that {@linkcode Task.programs} gives them. */
export const RXE_PROGRAMS: Readonly<Record<string, Program>> = {};

/** The curves of the guest. */
export const RXE_CURVES: readonly Curve[] = [];

function pingPong(who: string, program: string): FunctionEntry {
  return {
    who,
    measure: async ({ count }) => ({ value: await playPingPong(program, count) }),
  };
}

/** The rows of the guest. */
export const RXE: readonly Row[] = [
  {
    id: "ud_round",
    title: "UD round: post both, 2 completions",
    stage: "rxe",
    entries: all("ud_round"),
    goals: [atMost(1.1, "C"), fasterThan(2.5, "pyverbs")],
  },
  {
    id: "ud_messages",
    title: "UD in lists of 32, a message",
    stage: "rxe",
    entries: all("ud_messages"),
    goals: [atMost(1.1, "C")],
  },
  {
    id: "ud_pingpong",
    title: "ud_pingpong, 1024 bytes, an iteration",
    stage: "rxe",
    entries: [pingPong("C", "c"), pingPong("Deno", "deno")],
    goals: [atMost(1.2, "C")],
    count: (quick) => quick ? 2_000 : 4_000,
    note: "the same program at both ends",
  },
  {
    id: "reply_10",
    title: "reply to one of 10 known peers",
    stage: "rxe",
    entries: [c("reply_10"), deno("reply_10")],
    goals: [fasterThan(50, "C")],
    note: "C: ibv_create_ah_from_wc and ibv_destroy_ah; Deno: ReplyPath",
  },
  {
    id: "reply_10000",
    title: "reply to one of 10 000 known peers",
    stage: "rxe",
    entries: [c("reply_10000"), deno("reply_10000"), deno("reply_10", "Deno, 10 peers")],
    goals: [fasterThan(50, "C"), atMost(1.5, "Deno, 10 peers")],
  },
  {
    id: "attributes_first",
    title: "reply attributes, 1 GID in the table",
    stage: "rxe",
    entries: [c("attributes_first"), deno("attributes_first")],
    goals: [fasterThan(10, "C")],
    prepare: "oneGid",
    note: "C: ibv_init_ah_from_wc; Deno: ReplyPath",
  },
  {
    id: "attributes_last",
    title: "reply attributes, the last of 200 GIDs",
    stage: "rxe",
    entries: [
      c("attributes_last"),
      deno("attributes_last"),
      deno("attributes_first", "Deno, first GID"),
    ],
    goals: [fasterThan(10, "C"), atMost(1.5, "Deno, first GID")],
    prepare: "manyGids",
  },
];
