/** Options that are read by a table of rules. */

import { integer, snapshot } from "./checks.ts";

/** Checks one option, or gives its default. */
export type Rule<T> = (value: unknown, what: string) => T;

/** The rules of all options. */
export type Rules<S> = { readonly [K in keyof S]-?: Rule<S[K]> };

/** The rule of an option that may be left out. */
export function option<T, D>(
  check: (value: never, what: string) => T,
  byDefault: D,
): Rule<T | D> {
  return (value, what) => value === undefined ? byDefault : check(value as never, what);
}

/** The check of an integer that has a range. */
export function within(min: number, max: number): (value: number, what: string) => number {
  return (value, what) => integer(value, what, min, max);
}

/**
 * Reads and checks options, each once.
 *
 * @throws {TypeError} If they are not an object, or there is one without a rule.
 */
export function readOptions<S extends object>(options: object, rules: Rules<S>): S {
  const names = Object.keys(rules) as (keyof S & string)[];
  const given: Partial<S> = snapshot<Partial<S>>(options, "options", names);
  return Object.fromEntries(names.map((name) => [name, rules[name](given[name], name)])) as S;
}
