/**
 * Stands in for @std/cli/parse-args where JSR cannot be reached: an adapter over `node:util`. What
 * differs is listed in assert.ts.
 */

import { parseArgs as parse } from "node:util";

/** The options of `parseArgs()` that are used here. */
export interface ParseOptions<B extends string, S extends string, D> {
  /** Other names of an option. */
  alias?: Record<string, string | readonly string[]>;
  /** Options without a value. */
  boolean?: readonly B[];
  /** Values of options that are not given. */
  default?: D;
  /** Options with a value. */
  string?: readonly S[];
  /** Called with each argument that belongs to no option; false leaves it out. */
  unknown?: (argument: string) => unknown;
}

/** What `parseArgs()` gives. */
export type Args<B extends string, S extends string, D> =
  & { [K in Exclude<S, keyof D | "_">]?: string }
  & { [K in Exclude<B, keyof D>]: boolean }
  & { [K in keyof D]: D[K] | (K extends B ? boolean : string) }
  & { _: (string | number)[] };

/** Reads command line arguments: a property for each option, and the operands in `_`. */
export function parseArgs<
  const B extends string = never,
  const S extends string = never,
  const D extends Record<string, unknown> = Record<never, never>,
>(args: readonly string[], given: ParseOptions<B, S, D> = {}): Args<B, S, D> {
  const { boolean = [], string = [], unknown = () => true } = given;
  const names = new Map<string, string>();
  for (const name of [...boolean, ...string]) names.set(name, name);
  for (const [one, others] of Object.entries(given.alias ?? {})) {
    const group = [one, ...[others].flat()];
    const declared = group.find((name) => names.has(name));
    for (const name of group) if (declared !== undefined) names.set(name, declared);
  }
  const takesValue = (name: string): boolean => string.includes(names.get(name) as S);
  const options = Object.fromEntries(
    [...names.keys()].map((name) => [
      name,
      {
        type: takesValue(name) ? "string" : "boolean",
        ...(name.length === 1 && { short: name }),
      } as const,
    ]),
  );
  const found: Record<string, unknown> = {
    ...Object.fromEntries(boolean.map((name) => [name, false])),
    ...given.default,
  };
  const operands: string[] = [];
  const explicit = args.map((arg, i) => withValue(arg, args[i + 1], takesValue));
  for (const token of parse({ args: explicit, options, strict: false, tokens: true }).tokens) {
    if (token.kind === "positional" && unknown(token.value) !== false) operands.push(token.value);
    if (token.kind !== "option") continue;
    const name = names.get(token.name);
    if (name === undefined) unknown(args[token.index]!);
    else found[name] = takesValue(name) ? token.value ?? "" : token.value !== "false";
  }
  return { ...found, _: operands } as Args<B, S, D>;
}

/** `node:util` takes an option after an option for its value. */
function withValue(
  arg: string,
  next: string | undefined,
  takesValue: (name: string) => boolean,
): string {
  const name = /^--?([^=]+)$/.exec(arg)?.[1];
  if (name === undefined || !takesValue(name) || !/^-./.test(next ?? "-x")) return arg;
  return `--${name}=`;
}
