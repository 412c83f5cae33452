/** Reads command lines: `parseArgs()` of @std/cli splits them, and each option checks its value. */

import { parseArgs } from "@std/cli/parse-args";
import { didYouMean } from "./suggest.ts";
import { quote } from "./text.ts";

/** The command line is wrong. */
export class OptionError extends Error {
  override name = "OptionError";
  /** Whether a value is given, which is wrong. */
  readonly isValue: boolean;

  constructor(message: string, isValue = false) {
    super(message);
    this.isValue = isValue;
  }
}

/** An option's value. */
export interface Value<T> {
  /** Whether the option may be given several times; its values are a list. */
  readonly many?: boolean;
  /** The letter of the short form. */
  readonly short?: string | undefined;
  /** For the message: what the option takes. */
  readonly takes: string;
  /** The value that a text stands for; undefined if it stands for none. */
  read(text: string): T | undefined;
}

/** An option without a value, with what a command's help needs. */
export interface Flag {
  readonly takes: null;
  readonly short?: string | undefined;
}

export type Options = Readonly<Record<string, "flag" | Flag | Value<unknown>>>;

/** What a command line holds. */
export interface CommandLine<O extends Options> {
  readonly options: {
    readonly [K in keyof O]?: O[K] extends Value<infer T> & { readonly many: true } ? readonly T[]
      : O[K] extends Value<infer T> ? T
      : true;
  };
  /** The words that are no options. */
  readonly operands: string[];
  /** The words after `--`. */
  readonly rest: string[];
}

export const text: Value<string> = { takes: "a text", read: (text) => text || undefined };

/** A whole number, decimal or with 0x. */
export function wholeNumber(min: number, max: number): Value<number> {
  const read = (text: string): number | undefined => {
    const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
  return { takes: `a whole number from ${min} to ${max}`, read };
}

/**
 * Reads a command line. A first `--` is left out: `deno task` passes it on. With `--help` nothing is wrong.
 *
 * @throws {OptionError} If an option is unknown, or its value is missing or wrong.
 */
export function readOptions<O extends Options>(
  args: readonly string[],
  known: O,
): CommandLine<O> {
  const all = Object.entries<Options[string]>(known)
    .map(([name, option]) => [name, option === "flag" ? FLAG : option] as const);
  const words = args.slice(args[0] === "--" ? 1 : 0);
  const faults: OptionError[] = [];
  const isOption = (word: string, key?: string): boolean => {
    if (key !== undefined) {
      const given = word.replace(/=.*/s, "");
      // A letter may stand for anything.
      const like = didYouMean(given, given.length > 2 ? all.map(([name]) => `--${name}`) : []);
      faults.push(new OptionError(`${quote(given)} is not an option${like}`));
    }
    return key === undefined;
  };
  const named = (isFlag: boolean): string[] =>
    all.filter(([, { takes }]) => (takes === null) === isFlag).map(([name]) => name);
  const line: Record<string, unknown> = parseArgs(spelledOut(words, all, faults), {
    boolean: named(true),
    string: [...named(false), "_"],
    collect: named(false),
    alias: Object.fromEntries(all.map(([name, option]) => [name, shortOf(name, option) ?? []])),
    unknown: isOption,
    "--": true,
  });
  const options = all.flatMap(([name, option]): [string, unknown][] => {
    if (option.takes === null) return line[name] ? [[name, true]] : [];
    const given = [line[name] ?? []].flat() as string[];
    const values = given.map((text) => valueOf(name, option, text, faults));
    return values.length === 0 ? [] : [[name, option.many ? values : values.at(-1)]];
  });
  if (faults[0] !== undefined && !line.help) throw faults[0];
  return {
    options: Object.fromEntries(options) as CommandLine<O>["options"],
    operands: line._ as string[],
    rest: line["--"] as string[],
  };
}

const FLAG: Flag = { takes: null };

function shortOf(name: string, { short }: Flag | Value<unknown>): string | undefined {
  return name === "help" ? "h" : short;
}

/**
 * Writes out what `parseArgs()` takes otherwise: after a flag it takes a word `true` for its value, and any `--flag=VALUE`
 * for true. It does not know `-dVALUE`.
 */
function spelledOut(
  words: readonly string[],
  all: readonly (readonly [name: string, option: Flag | Value<unknown>])[],
  faults: OptionError[],
): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const spell = (word: string): string => {
    for (const [name, option] of all) {
      const short = `-${shortOf(name, option)}`;
      if (option.takes === null) {
        if (word === `--${name}` || word === short) return `--${name}=true`;
        if (!word.startsWith(`--${name}=`)) continue;
        faults.push(new OptionError(`--${name} takes no value`));
      } else if (word.startsWith(short) && word !== short) return `--${name}=${word.slice(2)}`;
    }
    return word;
  };
  return [...words.slice(0, end).map(spell), ...words.slice(end)];
}

function valueOf(
  name: string,
  { takes, read }: Value<unknown>,
  text: string,
  faults: OptionError[],
): unknown {
  const value = text === "" ? undefined : read(text);
  const given = text === "" ? "nothing" : quote(text);
  if (value === undefined) {
    faults.push(new OptionError(`--${name} takes ${takes}, not ${given}`, text !== ""));
  }
  return value;
}
