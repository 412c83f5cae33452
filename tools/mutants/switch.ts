/** What the changed source calls: whether a mutant is active, and that places with mutants are reached. */

/** The name of the environment variable with the mutant that is active. */
export const ACTIVE = "IBVERBS_MUTANT";

/** The name of the environment variable with the file that gets the mutants that are reached, a line each. */
export const REACHED = "IBVERBS_MUTANTS_REACHED";

const active = fromEnvironment(ACTIVE);
const log = fromEnvironment(REACHED);
const reached = new Set<string>();

/** Undefined in a program that may not read the environment: it has no mutants. */
function fromEnvironment(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined;
  }
}

export function stryMutAct_9fa48(id: string): boolean {
  return id === active;
}

export function stryCov_9fa48(...ids: string[]): void {
  for (const id of ids) {
    if (log === undefined || reached.has(id)) continue;
    reached.add(id);
    try {
      Deno.writeTextFileSync(log, `${id}\n`, { append: true });
    } catch {
      // A program that may not write is judged by the tests of those that may.
    }
  }
}
