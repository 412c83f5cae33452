/** How much a round is to do. */
export interface Plan {
  /** Operations of a part. */
  readonly count: number;
  /** Parts, of which the middle one counts. */
  readonly parts: number;
}

/**
 * Takes the time of a round's parts. All parts run in one loop, `while (clock.part()) for (...) ...`: V8 compiles a loop
 * that goes on for long, but not a function that is called now and then.
 */
export class Clock {
  readonly #plan: Plan;
  readonly #taken: number[] = [];
  #start = 0;

  /** Nothing is timed before the first part. */
  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Ends a part, and says whether another one begins. */
  part(): boolean {
    const now = performance.now();
    if (this.#start > 0) this.#taken.push(now - this.#start);
    this.#start = performance.now();
    return this.#taken.length < this.#plan.parts;
  }

  /** Nanoseconds of one operation in the middle part. */
  get middle(): number {
    const sorted = this.#taken.toSorted((a, b) => a - b);
    return sorted[sorted.length >> 1]! * 1e6 / this.#plan.count;
  }
}

/** Nanoseconds of one operation where a step does `size` of them. */
export function timeOfSteps(plan: Plan, size: number, step: () => void): number {
  const clock = new Clock(plan);
  while (clock.part()) for (let done = 0; done < plan.count; done += size) step();
  return clock.middle;
}
