/** How long after an event a program that sleeps is awake, and processor time of an event. See ../c/wake_up.h. */

import { CompletionQueue, type Context, WorkCompletions } from "../../mod.ts";
import type { Plan } from "./clock.ts";
import { TICKS } from "./datagrams.ts";
import { openProvider } from "./polling.ts";

interface Clocks {
  readonly noop_now: () => bigint;
  readonly noop_spent: () => bigint;
}

/** Opened for these rows only: the other devices have no such functions. */
function openClocks(): Clocks {
  return openProvider({
    noop_now: { parameters: [], result: "u64" },
    noop_spent: { parameters: [], result: "u64" },
  }).symbols;
}

/** What the second half of all events came to. */
class Stamps {
  readonly #count: number;
  readonly #clocks: Clocks = openClocks();
  readonly #waited: number[] = [];
  #spent = 0n;

  constructor({ count }: Plan) {
    this.#count = count;
  }

  /** Notes how long ago a completion was made. Returns whether more are wanted. */
  note(made: bigint): boolean {
    const length = this.#waited.push(Number(this.#clocks.noop_now() - made));
    if (length === this.#count >> 1) this.#spent = this.#clocks.noop_spent();
    return length < this.#count;
  }

  get outcome(): Record<string, number> {
    const half = this.#waited.slice(this.#count >> 1).toSorted((a, b) => a - b);
    const processor = Number(this.#clocks.noop_spent() - this.#spent) / half.length;
    return { value: half[half.length >> 1]!, processor };
  }
}

function ticking(context: Context): CompletionQueue {
  return new CompletionQueue(context, { cqe: 1, compVector: TICKS });
}

/** Asleep in `waitSync()`. */
export function wakeUpSync(context: Context, plan: Plan): Record<string, number> {
  using cq = ticking(context);
  const [stamps, batch] = [new Stamps(plan), new WorkCompletions(1)];
  do {
    cq.waitSync();
    cq.pollInto(batch);
    if (batch.status(0) !== 0) batch.at(0).check();
  } while (stamps.note(batch.wrId(0)));
  return stamps.outcome;
}

/** Asleep in `completions()`. */
export async function wakeUp(context: Context, plan: Plan): Promise<Record<string, number>> {
  const cq = ticking(context);
  const stamps = new Stamps(plan);
  for await (const wc of cq.completions()) if (!stamps.note(wc.check().wrId)) break;
  return stamps.outcome;
}
