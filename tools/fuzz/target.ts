/** What is fuzzed: a property, and the inputs that are tried on it. */

// A registry of npm answers wherever Deno itself came by npx.
import fc from "npm:fast-check@4.10.2";
import { isDeepStrictEqual } from "node:util";
import { isOfEngine } from "../../tests/engine_words.ts";

export { fc };

/** How much of a target is tried. */
export interface Plan {
  /** Where the sequence of inputs starts. */
  readonly seed: number;
  readonly milliseconds: number;
  /** The number of rounds, in place of the time. */
  readonly rounds: number | undefined;
}

export interface Outcome {
  readonly cases: number;
  /** How many rounds they took: in some targets a round tries several inputs at once. */
  readonly rounds: number;
  /** How many of them were refused, in at least one of the ways in which they were tried. */
  readonly refused: number;
  /** The input that breaks the property, and how. It is undefined if there is none. */
  readonly finding: string | undefined;
}

/** Between two numbers of percent. */
export type Share = readonly [low: number, high: number];

/** Every input is valid. */
export const NONE: Share = [0, 0];
/** No input is valid. */
export const ALL: Share = [100, 100];

export interface Target {
  /** The word that chooses it. */
  readonly name: string;
  readonly what: string;
  /** How much more time it gets than others; 1 if left out. */
  readonly weight?: number;
  /**
   * The share of the inputs that is refused, at least and at most, in percent: ten points around what long runs have shown.
   * {@linkcode NONE} and {@linkcode ALL} are exact.
   */
  readonly refused: Share;
  /** Whether it needs a guest. It is then tried only if it is chosen. */
  readonly inGuest?: boolean;
  run(plan: Plan): Promise<Outcome>;
}

type Arbitraries<T extends unknown[]> = { readonly [K in keyof T]: fc.Arbitrary<T[K]> };

/** Tries an input, or several at once: then it returns how many. */
type Check<T extends unknown[]> = (...inputs: T) => void | number | Promise<void | number>;

/** A target whose inputs are tried one after the other. `check` throws if an input breaks the property. */
export function target<T extends [unknown, ...unknown[]]>(
  name: string,
  refused: Share,
  what: string,
  arbitraries: Arbitraries<T>,
  check: Check<T>,
  weight = 1,
): Target {
  const run = (plan: Plan): Promise<Outcome> => explore(arbitraries, check, plan);
  return { name, what, weight, refused, run };
}

/** So many inputs do not all have the same end by chance, if a twentieth of them has another one. */
const MANY = 300;

/** What is wrong with the share of the refused inputs. Of few inputs it may be another one by chance. */
export function wrongShare(
  { refused: [low, high] }: Target,
  { cases, refused }: Outcome,
): string | undefined {
  const share = 100 * refused / cases;
  const chance = low === high ? 0 : 200 / Math.sqrt(cases);
  const isOne = low !== high && cases >= MANY &&
    ((refused === 0 && low > 0) || (refused === cases && high < 100));
  if (!isOne && share >= low - chance && share <= high + chance) return undefined;
  return `${share.toFixed(1)} % of ${cases} inputs are refused, not ${low} to ${high} %`;
}

/** The time for finding a smaller input that breaks the property, too. */
const SHRINK_MS = 30_000;

async function explore<T extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<T>,
  check: Check<T>,
  { seed, milliseconds, rounds }: Plan,
): Promise<Outcome> {
  let cases = 0;
  let refused = 0;
  let end = rounds === undefined ? performance.now() + milliseconds : Infinity;
  let failed = false;
  const property = fc.asyncProperty(...arbitraries, async (...inputs: T) => {
    // An input that is tried is tried to its end: what it leaves behind would disturb the next one.
    if (performance.now() > end) throw new fc.PreconditionFailure(true);
    try {
      const [before, tried] = [refusals, await check(...inputs) ?? 1];
      cases += tried;
      refused += Math.min(refusals - before, tried);
    } catch (error) {
      if (!failed) end = performance.now() + SHRINK_MS;
      failed = true;
      throw error;
    }
  });
  const details = await fc.check(property as fc.IAsyncProperty<T>, {
    seed,
    numRuns: rounds ?? Number.MAX_SAFE_INTEGER,
    markInterruptAsFailure: false,
  });
  const finding = details.failed
    ? `${fc.defaultReportMessage(details)}\n${Deno.inspect(details.errorInstance)}`
    : undefined;
  return { cases: cases + Number(failed), rounds: details.numRuns, refused, finding };
}

let refusals = 0;

/** Notes that an input was refused where no error says so. */
export function refuse(count = 1): void {
  refusals += count;
}

/** An error of the kinds that an input may lead to, in words for the caller; anything else is thrown on. */
export function expected(
  error: unknown,
  ...kinds: readonly (abstract new (...args: never[]) => Error)[]
): Error {
  const found = kinds.find((kind) => error instanceof kind);
  if (found !== undefined && !isOfEngine(error as Error) && isHarmless(Deno.inspect(error))) {
    refuse();
    return error as Error;
  }
  throw new Error("Cannot accept this outcome", { cause: error });
}

/** What a terminal obeys, except line feeds and tabs. */
// deno-lint-ignore no-control-regex -- they are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/u;

/** A text in which a terminal obeys nothing. */
export function describe(text: string): string {
  const escaped = (one: string): string => `\\u{${one.codePointAt(0)!.toString(16)}}`;
  return text.replaceAll(new RegExp(CONTROLS, "gu"), escaped);
}

/** Whether a terminal shows a text as it is. */
export function isHarmless(text: string): boolean {
  return !CONTROLS.test(text);
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
