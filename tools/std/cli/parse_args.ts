/**
 * Stands in for @std/cli/parse-args where JSR cannot be reached. What differs; programs must not depend on it:
 * - `boolean` and `string` are lists of names, and an alias is one other name.
 * - There are no defaults, no negatable options, and no dots in names.
 * - Letters of options without a value cannot be joined (`-ab`), and `-n5` is no value.
 */

/** What the real one takes, as far as it is used here. */
export interface ParseOptions<
  B extends string = string,
  S extends string = string,
  C extends string = string,
> {
  boolean?: readonly B[];
  string?: readonly S[];
  collect?: readonly C[];
  alias?: Readonly<Record<string, string | readonly string[]>>;
  stopEarly?: boolean;
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
  "--"?: boolean;
}

type Args<B extends string, S extends string, C extends string> =
  & { [K in B]: boolean }
  & { [K in Exclude<S, C | "_">]?: string }
  & { [K in Extract<S, C>]: string[] }
  & { _: (string | number)[]; "--": string[]; [name: string]: unknown };

/** Splits a command line into options and other words. */
export function parseArgs<
  const B extends string = never,
  const S extends string = never,
  const C extends string = never,
>(args: string[], options: ParseOptions<B, S, C> = {}): Args<B, S, C> {
  const { boolean = [], string = [], collect = [], alias = {}, stopEarly = false } = options;
  const isOneOf = (names: readonly string[], key: string): boolean => names.includes(key);
  const longNames = new Map(
    Object.entries(alias).flatMap(([name, other]) => [other].flat().map((key) => [key, name])),
  );
  const found: Record<string, unknown> = { _: [] };
  const words = found._ as unknown[];
  for (const name of boolean) found[name] = false;
  for (const name of collect) found[name] = [];
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  for (let i = 0; i < end; i++) {
    const [word, next] = [args[i]!, i + 1 < end ? args[i + 1] : undefined];
    const [, given, inline] = /^--?([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (given === undefined) {
      if (options.unknown?.(word) !== false) words.push(wordOf(word, isOneOf(string, "_")));
      if (!stopEarly) continue;
      words.push(...args.slice(i + 1, end));
      break;
    }
    const key = longNames.get(given) ?? given;
    const isFlag = isOneOf(boolean, key);
    const follows = inline === undefined && next !== undefined &&
      (isFlag ? /^(true|false)$/.test(next) : !/^-./.test(next));
    const text = inline ?? (follows ? next : isOneOf(string, key) ? "" : undefined);
    if (follows) i++;
    const value = isFlag ? text !== "false" : text ?? true;
    const isKnown = isFlag || isOneOf(string, key);
    if (!isKnown && options.unknown?.(word, given, value) === false) continue;
    if (isOneOf(collect, key)) (found[key] as unknown[]).push(value);
    else found[key] = isKnown ? value : wordOf(value, false);
  }
  const rest = args.slice(end + 1);
  if (options["--"]) found["--"] = rest;
  else words.push(...rest);
  return found as Args<B, S, C>;
}

/** Words that look like numbers are numbers, unless they are texts. */
function wordOf(word: unknown, isText: boolean): unknown {
  const isNumber = typeof word === "string" && word.trim() !== "" && Number.isFinite(Number(word));
  return isNumber && !isText ? Number(word) : word;
}
