/** Reads command lines: `parseArgs()` of Node splits them, and each option checks its value. */

import { parseArgs } from "node:util";
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

/** The contents of a command line. */
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
  const words = args.slice(args[0] === "--" ? 1 : 0);
  const all = new Map(
    Object.entries<Options[string]>(known)
      .map(([name, option]) => [name, option === "flag" ? FLAG : option]),
  );
  const found: Record<string, unknown> = {};
  const faults: OptionError[] = [];
  const operands: string[] = [];
  const tokens = tokensOf(words, all);
  const end = tokens.find(({ kind }) => kind === "option-terminator")?.index ?? words.length;
  for (const token of tokens) {
    if (token.kind === "positional" && token.index < end) operands.push(token.value);
    if (token.kind === "option") readOption(token, words[token.index]!, all, found, faults);
  }
  if (words.slice(0, end).some((word) => word === "--help" || word === "-h")) found.help = true;
  if (faults[0] !== undefined && !found.help) throw faults[0];
  return {
    options: found as CommandLine<O>["options"],
    operands,
    rest: words.slice(end + 1),
  };
}

const FLAG: Flag = { takes: null };

type Known = ReadonlyMap<string, Flag | Value<unknown>>;

function tokensOf(args: string[], all: Known): readonly Token[] {
  const options = Object.fromEntries(
    Array.from(all, ([name, option]) => {
      const short = name === "help" ? "h" : option.short;
      const type = option.takes === null ? "boolean" : "string";
      return [name, { type, ...short !== undefined && { short } } as const];
    }),
  );
  return parseArgs({ args, options, strict: false, tokens: true }).tokens;
}

type Token = ReturnType<
  typeof parseArgs<{ args: string[]; strict: false; tokens: true }>
>["tokens"][number];
type OptionToken = Extract<Token, { kind: "option" }>;

/** Reads an option from a word. Letters of several options in one word are not supported. */
function readOption(
  { name, rawName, value, inlineValue }: OptionToken,
  word: string,
  all: Known,
  found: Record<string, unknown>,
  faults: OptionError[],
): void {
  const option = all.get(name);
  const isJoined = !rawName.startsWith("--") && word !== rawName && !inlineValue;
  if (option === undefined || isJoined) {
    faults.push(unknownOption(isJoined ? word : rawName, all));
  } else if (option.takes === null) {
    found[name] = true;
    if (value !== undefined) faults.push(new OptionError(`--${name} takes no value`));
  } else {
    // `-n=5` is as good as `-n5`. A word that is an option is no value.
    const text = inlineValue ? value!.replace(rawName.startsWith("--") ? "" : /^=/, "") : value;
    const isValue = inlineValue || text !== undefined && !/^-\D/.test(text);
    const read = valueOf(name, option, isValue ? text! : "", faults);
    found[name] = option.many ? [...(found[name] as unknown[] | undefined) ?? [], read] : read;
  }
}

function unknownOption(given: string, all: Known): OptionError {
  // A single letter is too short for a suggestion.
  const names = given.length > 2 ? Array.from(all.keys(), (name) => `--${name}`) : [];
  return new OptionError(`${quote(given)} is not an option${didYouMean(given, names)}`);
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
