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
  #started = 0;

  /** Nothing is timed before the first part. */
  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Ends a part, and says whether another one begins. */
  part(): boolean {
    const now = performance.now();
    if (this.#started > 0) this.#taken.push(now - this.#start);
    this.#start = performance.now();
    return this.#started++ < this.#plan.parts;
  }

  /** Nanoseconds of one operation in the middle part. */
  get middle(): number {
    const sorted = this.#taken.toSorted((a, b) => a - b);
    return sorted[sorted.length >> 1]! * 1e6 / this.#plan.count;
  }
}

/** A plan for lists of `size`: the count is a multiple of it. */
export function wholeLists({ count, parts }: Plan, size: number): Plan {
  return { count: Math.ceil(count / size) * size, parts };
}

/** Nanoseconds of one operation in the middle part, by work that has a loop of its own. */
export async function middlePart(
  plan: Plan,
  work: (count: number) => void | Promise<void>,
): Promise<number> {
  const clock = new Clock(plan);
  while (clock.part()) await work(plan.count);
  return clock.middle;
}

/** Nanoseconds of one operation where a step does `size` of them. What a step returns is used. */
export function timeOfSteps(plan: Plan, size: number, step: () => number): number {
  const whole = wholeLists(plan, size);
  const clock = new Clock(whole);
  let sum = 0;
  while (clock.part()) {
    for (let done = 0; done < whole.count; done += size) sum = (sum + step()) | 0;
  }
  consume(sum);
  return clock.middle;
}

let consumed = 0;

/** Uses a result, so that V8 cannot leave out the reading of it: it does not know who else reads the variable. */
export function consume(result: number | bigint): void {
  consumed = (consumed + Number(result)) | 0;
}
