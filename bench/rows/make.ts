/** Short forms for contenders and goals. */

import { figureOf, type Round } from "../measurement.ts";
import type { Goal, ProcessEntry } from "./types.ts";

export function c(round: string, who: string = "C"): ProcessEntry {
  return { who, process: "c", round };
}

export function deno(round: string, who: string = "Deno"): ProcessEntry {
  return { who, process: "deno", round };
}

export function pyverbs(round: string, who: string = "pyverbs"): ProcessEntry {
  return { who, process: "python", round };
}

/** All three. */
export function all(round: string): ProcessEntry[] {
  return [c(round), deno(round), pyverbs(round)];
}

/** Which figure of which contender is compared. */
export interface Compared {
  /** The contender: "Deno" if left out. */
  readonly who?: string;
  /** The figure: the value of the row if left out. */
  readonly figure?: string;
}

/** `who` takes at most `limit` times as much as `other`. */
export function atMost(limit: number, other: string, compared: Compared = {}): Goal {
  const { who = "Deno", figure } = compared;
  return {
    text: `${subject(compared)}at most ${limit} x ${other}`,
    contenders: [who, other],
    value: (round) => figureOf(round, who, figure) / figureOf(round, other, figure),
    limit,
    atLeast: false,
    unit: "x",
  };
}

/** `who` is at least `limit` times as fast as `other`. */
export function fasterThan(limit: number, other: string, compared: Compared = {}): Goal {
  const { who = "Deno", figure } = compared;
  return {
    text: `${subject(compared)}${limit} x faster than ${other}`,
    contenders: [who, other],
    value: (round) => figureOf(round, other, figure) / figureOf(round, who, figure),
    limit,
    atLeast: true,
    unit: "x",
  };
}

/** A goal that was missed with two designs: what it would be judged by is shown, with the reason. */
export function missed(goal: Goal, reason: string): Goal {
  return { ...goal, reason };
}

/** A value of its own, with no other contender to compare it with. */
export function atMostValue(
  limit: number,
  unit: string,
  value: (round: Round) => number,
  compared: Compared = {},
): Goal {
  const text = `${subject(compared)}at most ${limit} ${unit}`;
  return { text, contenders: [], value, limit, atLeast: false, unit };
}

function subject({ who = "Deno", figure }: Compared): string {
  const words = [...who === "Deno" ? [] : [who], ...figure === undefined ? [] : [figure]];
  return words.length === 0 ? "" : `${words.join(" ")}: `;
}
