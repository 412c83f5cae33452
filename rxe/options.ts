/** Reads the options before a command. */

import { parseArgs } from "node:util";
import { SetupError } from "./host/report.ts";

/** An option's value. */
export interface Value<T> {
  /** Whether the option may be given several times; its values are a list. */
  readonly many?: boolean;
  /** For the message: what the option takes. */
  readonly takes: string;
  /** The value that a text stands for; undefined if it stands for none. */
  read(text: string): T | undefined;
}

export interface Values<T> extends Value<T> {
  readonly many: true;
}

type Options = Readonly<Record<string, "flag" | Value<unknown>>>;

/** The values of options that are given. */
type Given<O extends Options> = {
  readonly [K in keyof O]?: O[K] extends Values<infer T> ? readonly T[]
    : O[K] extends Value<infer T> ? T
    : true;
};

export const text: Value<string> = { takes: "a text", read: (text) => text || undefined };

export const positive: Value<number> = {
  takes: "a whole number from 1",
  read: (text) => /^0*[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined,
};

export function many<T>(value: Value<T>): Values<T> {
  return { ...value, many: true };
}

/** One of some words. */
export function oneOf<const T extends string>(...words: T[]): Value<T> {
  return { takes: words.join(" or "), read: (text) => words.find((word) => word === text) };
}

/** The error of a wrong command line. */
export function usageError(message: string): SetupError {
  return new SetupError(`${message}; see --help`);
}

/**
 * Reads the options before a command; what follows them belongs to the command, even if it looks like an option. A
 * first `--` is left out: `deno task` passes it on. With `--help` nothing is wrong.
 *
 * @throws {SetupError} If an option is unknown, or its value is missing or wrong.
 */
export function readOptionsOfCommand<O extends Options>(
  args: readonly string[],
  known: O,
): { options: Given<O>; command: string[] } {
  const words = args.slice(args[0] === "--" ? 1 : 0);
  const options = Object.fromEntries(
    Object.entries(known).map(([name, option]) => {
      const type = option === "flag" ? "boolean" : "string";
      return [name, { type, ...name === "help" && { short: "h" } } as const];
    }),
  );
  const { tokens } = parseArgs({ args: words, options, strict: false, tokens: true });
  const start = tokens.find(({ kind }) => kind !== "option")?.index ?? words.length;
  const given: Record<string, unknown> = {};
  const faults: SetupError[] = [];
  for (const token of tokens) {
    if (token.kind !== "option" || token.index >= start) break;
    const { name } = token;
    const value = valueOf(token, known);
    if (value instanceof SetupError) faults.push(value);
    else if (isMany(known[name]!)) {
      given[name] = [...(given[name] as unknown[] | undefined) ?? [], value];
    } else given[name] = value;
  }
  if (faults[0] !== undefined && !given.help) throw faults[0];
  const command = words.slice(words[start] === "--" ? start + 1 : start);
  return { options: given as Given<O>, command };
}

function isMany(option: "flag" | Value<unknown>): boolean {
  return option !== "flag" && option.many === true;
}

function valueOf(
  { name, rawName, value }: { name: string; rawName: string; value?: string | undefined },
  known: Options,
): unknown {
  const option = Object.hasOwn(known, name) ? known[name]! : undefined;
  if (option === undefined) return usageError(`${JSON.stringify(rawName)} is not an option`);
  if (option === "flag") return value === undefined || usageError(`--${name} takes no value`);
  const read = value === undefined ? undefined : option.read(value);
  const given = value === undefined ? "nothing" : JSON.stringify(value);
  return read ?? usageError(`--${name} takes ${option.takes}, not ${given}`);
}
