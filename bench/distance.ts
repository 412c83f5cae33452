/** How far the processors of the two ends are from each other, which a virtual machine can change at any time. */

import { linesOf } from "./contender.ts";
import type { Round } from "./measurement.ts";
import type { Programs } from "./row.ts";

/** Nanoseconds in which a line of cache goes to the other processor and back. */
async function distance(programs: Programs): Promise<number> {
  const child = new Deno.Command(programs["distance"]!, { stdout: "piped" }).spawn();
  const { value } = await linesOf(child.stdout).next();
  await child.status;
  return Number(value);
}

/** What a change is: a line that takes longer by half. */
const CHANGE = 1.5;
const ATTEMPTS = 3;

/** Measures rounds, each of them again if the distance has changed meanwhile. */
export class Distances {
  readonly #seen: number[] = [];

  async round(programs: Programs, measure: () => Promise<Round>): Promise<Round> {
    if (navigator.hardwareConcurrency === 1) return await measure();
    for (let attempt = 1;; attempt++) {
      const before = await distance(programs);
      const round = await measure();
      const after = await distance(programs);
      this.#seen.push(before, after);
      const isSteady = Math.max(before, after) < CHANGE * Math.min(before, after);
      if (isSteady || attempt === ATTEMPTS) return round;
    }
  }

  /** The range in words; nothing if no round was measured. */
  toString(): string {
    if (this.#seen.length === 0) return "";
    const [least, most] = [Math.min(...this.#seen), Math.max(...this.#seen)];
    return `, a line of cache goes to the other processor and back in ${least} to ${most} ns`;
  }
}
