import type { Complete, Optional } from "./optional.ts";
import { integer, show, snapshot } from "./checks.ts";

/** Checks one option, and gives its value. */
export type Rule<T> = (value: never, what: string) => T;

export type Rules<S> = { readonly [K in keyof S]-?: Rule<S[K]> };

/** Options with their defaults; some have none. */
export type Settings<O, K extends keyof O> =
  & Complete<Omit<O, K>>
  & { readonly [P in K]: O[P] | undefined };

/** The rule of an option that may be left out. */
export function option<T, D>(check: Rule<T>, byDefault: D): Rule<T | D> {
  return (value, what) => value === undefined ? byDefault : check(value, what);
}

/** The check of an integer that has a range; `unit` reads " ms". */
export function within(
  min: number,
  max: number,
  unit?: string,
): (value: number, what: string) => number {
  return (value, what) => integer(value, what, min, max, unit);
}

/** The check of a time in milliseconds, where 0 means that there is none. */
export const millisecondsOrZero: (value: number, what: string) => number = within(
  0,
  0x7fff_ffff,
  " ms",
);

/** The check of a text that must be one of several. */
export function oneOf<T extends string>(...texts: readonly T[]): (value: T, what: string) => T {
  return (value, what) => {
    if (texts.includes(value)) return value;
    const all = texts.map((text) => `"${text}"`).join(" or ");
    throw new TypeError(`Cannot use ${what} ${show(value)}: it is not ${all}`);
  };
}

/**
 * Reads and checks options, each once.
 *
 * @throws {TypeError} If they are not an object, or there is one without a rule.
 */
export function readOptions<S extends object>(
  options: object,
  rules: Rules<S>,
  what: string = "options",
): S {
  const names = Object.keys(rules) as (keyof S & string)[];
  const given = snapshot<Optional<S>>(options, what, names);
  const read = (name: keyof S & string): unknown => rules[name](given[name] as never, name);
  return Object.fromEntries(names.map((name) => [name, read(name)])) as S;
}

/** Warns of an error that the program does not handle itself. */
export function warn({ message }: Error): void {
  console.warn(message);
}
