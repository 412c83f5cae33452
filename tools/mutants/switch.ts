/** What the changed source calls: whether a mutant is active, and that a place with mutants is reached. */

/** The name of the environment variable with the mutant that is active from the start. */
export const ACTIVE = "IBVERBS_MUTANT";

/** The name of the environment variable with the file to which other processes add what they reach. */
export const REACHED = "IBVERBS_MUTANTS_REACHED";

export const state = {
  active: fromEnvironment(ACTIVE),
  /** How often the active mutant was reached, and how often before it counts as an endless loop. */
  hits: 0,
  limit: Infinity,
  /** How often each mutant's place was reached. */
  reached: new Map<string, number>(),
};

const log = fromEnvironment(REACHED);

/** Undefined in a program that may not read the environment: it has no mutants. */
function fromEnvironment(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined;
  }
}

export function stryMutAct_9fa48(id: string): boolean {
  if (state.active !== id) return false;
  if (++state.hits > state.limit) throw new Error("An endless loop");
  return true;
}

/** Notes that the places of mutants are reached. */
export function stryCov_9fa48(...ids: string[]): void {
  for (const id of ids) {
    const count = (state.reached.get(id) ?? 0) + 1;
    state.reached.set(id, count);
    if (count > 1 || log === undefined) continue;
    try {
      Deno.writeTextFileSync(log, `${id}\n`, { append: true });
    } catch {
      // A program that may not write is judged by the tests of those that may.
    }
  }
}
