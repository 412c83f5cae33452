/** How much of everything is measured: the same for all contenders of a stage. */

import type { Stage } from "./rows/types.ts";

export interface Method {
  readonly rounds: number;
  /** The time of a round's parts together. */
  readonly milliseconds: number;
  /** Parts of a round. The middle one counts, so an interruption does not. */
  readonly parts: number;
  /** The warm-up ends if a contender has not become 5 % faster for so many milliseconds. */
  readonly patience: number;
  /** Whether each round has new processes: no round depends on what was measured before. */
  readonly fresh: boolean;
}

// An emulated processor needs seconds to start a contender and for each step of V8's compilers.
const METHODS: Readonly<Record<Stage, Method>> = {
  native: { rounds: 9, milliseconds: 80, parts: 20, patience: 150, fresh: true },
  rxe: { rounds: 9, milliseconds: 200, parts: 50, patience: 1500, fresh: false },
  cold: { rounds: 15, milliseconds: 0, parts: 1, patience: 0, fresh: true },
};

export function methodOf(stage: Stage, rounds = METHODS[stage].rounds): Method {
  return { ...METHODS[stage], rounds };
}
