/**
 * Reads the command lines of the tools. The parser of @std/cli cannot: it takes the word after an
 * unknown option, and `true` or `false` after a flag, for that option's value.
 */

import { parseArgs } from "node:util";
import { SetupError } from "./report.ts";

/** The options of a tool by name: a flag, or what reads the value. */
export type Options = Readonly<Record<string, "flag" | Value<unknown>>>;

/** An option's value. */
export interface Value<T> {
  /** Whether the option may be given several times; its values are a list. */
  readonly many?: boolean;
  /** For the message: what the option takes. */
  readonly takes: string;
  /** The value that a text stands for; undefined if it stands for none. */
  read(text: string): T | undefined;
}

/** The values of an option that may be given several times. */
export interface Values<T> extends Value<T> {
  readonly many: true;
}

/** What a command line holds. */
export interface CommandLine<O extends Options> {
  /** The options that are given. */
  readonly options: {
    readonly [K in keyof O]?: O[K] extends Values<infer T> ? readonly T[]
      : O[K] extends Value<infer T> ? T
      : true;
  };
  /** The words that are no options. */
  readonly operands: string[];
  /** The words after `--`. */
  readonly rest: string[];
}

/** Any text. */
export const text: Value<string> = { takes: "a text", read: (text) => text };

/** A whole number from 1. */
export const positive: Value<number> = {
  takes: "a whole number from 1",
  read: (text) => /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined,
};

/** An option that may be given several times. */
export function many<T>(value: Value<T>): Values<T> {
  return { ...value, many: true };
}

/** One of some words. */
export function oneOf<const T extends string>(...words: T[]): Value<T> {
  return { takes: words.join(" or "), read: (text) => words.find((word) => word === text) };
}

/**
 * Reads a command line.
 *
 * @param args A first `--` is left out: `deno task` passes it on.
 * @throws {SetupError} If an option is unknown, or its value is missing or wrong.
 */
export function readOptions<O extends Options>(
  args: readonly string[],
  known: O,
): CommandLine<O> {
  const { tokens, words } = tokensOf(args, known);
  const options: Record<string, unknown> = {};
  const operands: string[] = [];
  let rest: string[] = [];
  for (const token of tokens) {
    if (token.kind === "option-terminator") {
      rest = words.slice(token.index + 1);
      break;
    }
    if (token.kind === "positional") {
      operands.push(token.value);
    } else {
      const { name } = token;
      const value = valueOf(token, known);
      const { many } = known[name] as Partial<Value<unknown>>;
      options[name] = many ? [...(options[name] as unknown[] | undefined) ?? [], value] : value;
    }
  }
  return { options: options as CommandLine<O>["options"], operands, rest };
}

/** Reads the command line of a tool that takes options only, and throws of anything else. */
export function readOnlyOptions<O extends Options>(
  args: readonly string[],
  known: O,
): CommandLine<O>["options"] {
  const { options, operands, rest } = readOptions(args, known);
  const [extra] = [...operands, ...rest];
  if (extra === undefined) return options;
  throw new SetupError(`"${extra}" is one argument too many; see --help`);
}

/** Reads the options before a command; what follows them, options too, are the command's words. */
export function readOptionsOfCommand<O extends Options>(
  args: readonly string[],
  known: O,
): { options: CommandLine<O>["options"]; command: string[] } {
  const { tokens, words } = tokensOf(args, known);
  const start = tokens.find(({ kind }) => kind !== "option")?.index ?? words.length;
  const { options } = readOptions(words.slice(0, start), known);
  return { options, command: words.slice(words[start] === "--" ? start + 1 : start) };
}

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];

function tokensOf(args: readonly string[], known: Options): { tokens: Token[]; words: string[] } {
  const words = args.slice(args[0] === "--" ? 1 : 0);
  const options = Object.fromEntries(
    Object.entries(known).map(([name, option]) => [
      name,
      option === "flag"
        ? { type: "boolean", ...(name === "help" && { short: "h" }) } as const
        : { type: "string" } as const,
    ]),
  );
  const { tokens } = parseArgs({ args: words, options, strict: false, tokens: true });
  return { tokens, words };
}

function valueOf(token: Token & { kind: "option" }, known: Options): unknown {
  const { name, rawName, value } = token;
  const option = Object.hasOwn(known, name) ? known[name] : undefined;
  if (option === undefined) throw new SetupError(`"${rawName}" is not an option; see --help`);
  if (option === "flag") {
    if (value === undefined) return true;
    throw new SetupError(`${rawName} takes no value; see --help`);
  }
  const read = value === undefined ? undefined : option.read(value);
  if (read !== undefined) return read;
  const given = value === undefined ? "nothing" : `"${value}"`;
  throw new SetupError(`${rawName} takes ${option.takes}, not ${given}; see --help`);
}
