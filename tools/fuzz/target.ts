/** What is fuzzed: a property, and the inputs that are tried on it. */

// A registry of npm answers wherever Deno itself came by npx.
import fc from "npm:fast-check@4.10.2";
import { isDeepStrictEqual } from "node:util";
import { isOfEngine } from "../../tests/engine_words.ts";

export { fc };

/** How much of a target is tried: rounds, or milliseconds if these are left out. */
export interface Plan {
  /** Where the sequence of inputs starts. */
  readonly seed: number;
  readonly milliseconds: number;
  readonly rounds: number | undefined;
}

export interface Outcome {
  readonly cases: number;
  /** In some targets a round tries several inputs at once. */
  readonly rounds: number;
  readonly refused: number;
  /** The input that breaks the property, and how; undefined if there is none. */
  readonly finding: string | undefined;
}

export interface Target {
  /** The word that chooses it. */
  readonly name: string;
  readonly what: string;
  run(plan: Plan): Promise<Outcome>;
}

type Check<T> = (input: T) => void | number | Promise<void | number>;

/** A target whose inputs are tried one after the other. `check` throws if one breaks the property, or says how many it tried. */
export function target<T>(
  name: string,
  what: string,
  input: fc.Arbitrary<T>,
  check: Check<T>,
): Target {
  return { name, what, run: (plan) => explore(input, check, plan) };
}

/** Time for finding a smaller input that breaks the property, too. */
const SHRINK_MS = 30_000;
/** So many inputs are not all refused. */
const MANY = 300;

let refusals = 0;

async function explore<T>(
  input: fc.Arbitrary<T>,
  check: Check<T>,
  { seed, milliseconds, rounds }: Plan,
): Promise<Outcome> {
  let cases = 0;
  let end = rounds === undefined ? performance.now() + milliseconds : Infinity;
  let failed = false;
  refusals = 0;
  const property = fc.asyncProperty(input, async (input) => {
    // An input that is tried is tried to its end: what it leaves behind would disturb the next one.
    if (performance.now() > end) throw new fc.PreconditionFailure(true);
    try {
      cases += await check(input) ?? 1;
    } catch (error) {
      if (!failed) end = performance.now() + SHRINK_MS;
      failed = true;
      throw error;
    }
  });
  const details = await fc.check(property, {
    seed,
    numRuns: rounds ?? Number.MAX_SAFE_INTEGER,
    markInterruptAsFailure: false,
  });
  const useless = cases >= MANY && refusals >= cases ? "every input is refused" : undefined;
  const finding = details.failed
    ? `${fc.defaultReportMessage(details)}\n${Deno.inspect(details.errorInstance)}`
    : useless;
  return { cases, rounds: details.numRuns, refused: refusals, finding };
}

/** Accepts an error of the kinds that an input may lead to, in words for the caller; anything else is thrown on. */
export function expected(
  error: unknown,
  ...kinds: readonly (abstract new (...args: never[]) => Error)[]
): void {
  const isKnown = kinds.some((kind) => error instanceof kind);
  if (!isKnown || isOfEngine(error as Error) || !isHarmless(Deno.inspect(error))) {
    throw new Error("Cannot accept this outcome", { cause: error });
  }
  refusals++;
}

/** What a terminal obeys, except line feeds and tabs. */
// deno-lint-ignore no-control-regex -- they are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text in which a terminal obeys nothing. */
export function describe(text: string): string {
  return text.replaceAll(CONTROLS, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
}

/** Whether a terminal shows a text as it is. */
export function isHarmless(text: string): boolean {
  return describe(text) === text;
}

export function same(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${what}: ${Deno.inspect(actual)} is not ${Deno.inspect(expected)}`);
}

/** Throws if something takes longer than it may. */
export function within<T>(milliseconds: number, what: string, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = new Error(`${what} takes longer than ${milliseconds} ms`);
  const timer = setTimeout(reject, milliseconds, late);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
