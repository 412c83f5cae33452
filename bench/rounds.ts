/** Rounds: who measures when, how long, and after what warm-up. */

import type { Round, Sample } from "./measurement.ts";
import type { Method } from "./method.ts";
import type { Contender } from "./process.ts";
import type { Entry, ProcessEntry, Row, Task } from "./rows/types.ts";

export type Start = (process: ProcessEntry["process"]) => Contender;

/** A round's extent. */
export interface Plan {
  /** Operations of a part. */
  readonly count: number;
  readonly parts: number;
}

/**
 * The order of a round. It starts with another contender each time, and goes backwards every second time, so that nobody
 * always follows the same one.
 */
export function orderOf<T>(entries: readonly T[], round: number): T[] {
  const start = round % entries.length;
  const turned = [...entries.slice(start), ...entries.slice(0, start)];
  return round % 2 === 0 ? turned : turned.toReversed();
}

export class Rounds implements AsyncDisposable {
  readonly #method: Method;
  readonly #start: Start;
  readonly #programs: Task["programs"];
  readonly #processes = new Map<string, Contender>();
  readonly #plans = new Map<Entry, Plan>();

  constructor(method: Method, start: Start, programs: Task["programs"]) {
    this.#method = method;
    this.#start = start;
    this.#programs = programs;
  }

  async measure(row: Row): Promise<Round[]> {
    const rounds: Round[] = [];
    for (let round = 0; round < this.#method.rounds; round++) {
      const samples: Record<string, Sample> = {};
      for (const entry of orderOf(row.entries, round)) {
        samples[entry.who] = await this.#sample(row, entry);
      }
      // in the order of the table, whatever the order of measuring
      rounds.push(Object.fromEntries(row.entries.map(({ who }) => [who, samples[who]!])));
    }
    return rounds;
  }

  async #sample(row: Row, entry: Entry): Promise<Sample> {
    if ("measure" in entry) {
      const { count = 1 } = row;
      return checked(entry.who, await entry.measure({ count, programs: this.#programs }));
    }
    if (!this.#method.fresh) return await this.#ask(this.#process(entry), row, entry);
    await using process = this.#start(entry.process);
    return await this.#ask(process, row, entry);
  }

  #process({ process }: ProcessEntry): Contender {
    const known = this.#processes.get(process);
    if (known !== undefined) return known;
    const started = this.#start(process);
    this.#processes.set(process, started);
    return started;
  }

  async #ask(process: Contender, row: Row, entry: ProcessEntry): Promise<Sample> {
    const known = this.#method.fresh ? undefined : this.#plans.get(entry);
    const plan = known ?? await this.#plan(process, row, entry.round);
    this.#plans.set(entry, plan);
    return checked(entry.who, await process.ask(entry.round, plan.count, plan.parts));
  }

  async #plan(process: Contender, row: Row, round: string): Promise<Plan> {
    if (row.count !== undefined) return { count: row.count, parts: 1 };
    await this.#warmUp(process, round);
    return await this.#calibrate(process, round);
  }

  /** Goes on as long as it gets faster: V8 compiles in several steps. */
  async #warmUp(process: Contender, round: string): Promise<void> {
    let plan = await this.#calibrate(process, round);
    let best = Infinity;
    let last = performance.now();
    while (performance.now() - last < this.#method.patience) {
      const parts = Math.max(1, plan.parts >> 2);
      const { value } = await process.ask(round, plan.count, parts);
      if (value > 0.95 * best) continue;
      if (value < 0.5 * best && best < Infinity) plan = await this.#calibrate(process, round);
      best = value;
      last = performance.now();
    }
  }

  /** Finds how many operations fill a part. */
  async #calibrate(process: Contender, round: string): Promise<Plan> {
    const { milliseconds, parts } = this.#method;
    const wanted = milliseconds * 1e6 / parts;
    let count = 1;
    let share: number;
    while ((share = wanted / await nanosecondsOf(process, round, count)) >= 2) {
      count = Math.ceil(count * Math.min(share, 10));
    }
    return { count: Math.max(1, Math.ceil(count * share)), parts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#processes.values()) await process[Symbol.asyncDispose]();
  }
}

async function nanosecondsOf(process: Contender, round: string, count: number): Promise<number> {
  const { value } = await process.ask(round, count, 1);
  return Math.max(1, value * count);
}

function checked(who: string, sample: Sample): Sample {
  for (const [figure, value] of Object.entries(sample)) {
    if (Number.isFinite(value) && value >= 0) continue;
    throw new Error(`Cannot measure: ${figure} of ${who} came to ${value}`);
  }
  return sample;
}
