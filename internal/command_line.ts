import { parseArgs } from "node:util";

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

type Option = "flag" | Flag | Value<unknown>;

export type Options = Readonly<Record<string, Option>>;

export interface Values<T> extends Value<T> {
  readonly many: true;
}

/** What a command line holds. */
export interface CommandLine<O extends Options> {
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

export const text: Value<string> = { takes: "a text", read: (text) => text || undefined };

/** A whole number, decimal or with 0x. */
export function wholeNumber(min: number, max: number): Value<number> {
  const read = (text: string): number | undefined => {
    const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
  return { takes: `a whole number from ${min} to ${max}`, read };
}

export const positive: Value<number> = {
  ...wholeNumber(1, 999_999_999),
  takes: "a whole number from 1",
};

export function many<T>(value: Value<T>): Values<T> {
  return { ...value, many: true };
}

/** One of some words. */
export function oneOf<const T extends string>(...words: T[]): Value<T> {
  return { takes: words.join(" or "), read: (text) => words.find((word) => word === text) };
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
  const { tokens, words } = tokensOf(args, known);
  const end = tokens.find(({ kind }) => kind === "option-terminator")?.index ?? words.length;
  const options: Record<string, unknown> = {};
  const operands: string[] = [];
  const faults: OptionError[] = [];
  for (const token of tokens) {
    if (token.index >= end) break;
    if (token.kind === "positional") operands.push(token.value);
    if (token.kind !== "option") continue;
    const value = valueOf(token, known);
    const option = known[token.name];
    if (value instanceof OptionError) faults.push(value);
    else if (typeof option !== "object" || option.takes === null || !option.many) {
      options[token.name] = value;
    } else options[token.name] = [...(options[token.name] as unknown[] | undefined) ?? [], value];
  }
  if (faults[0] !== undefined && !options.help) throw faults[0];
  return { options: options as CommandLine<O>["options"], operands, rest: words.slice(end + 1) };
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
    Object.entries(known).map(([name, option]) => {
      const { takes, short } = option === "flag" ? { takes: null } : option;
      const letter = name === "help" ? "h" : short;
      const type = takes === null ? "boolean" : "string";
      return [name, { type, ...letter !== undefined && { short: letter } } as const];
    }),
  );
  const { tokens } = parseArgs({ args: words, options, strict: false, tokens: true });
  return { tokens, words };
}

function valueOf(token: Token & { kind: "option" }, known: Options): unknown {
  const { name, rawName, value } = token;
  const option = Object.hasOwn(known, name) ? known[name] : undefined;
  if (option === undefined) return new OptionError(`${JSON.stringify(rawName)} is not an option`);
  if (option === "flag" || option.takes === null) {
    return value === undefined || new OptionError(`--${name} takes no value`);
  }
  const read = value === undefined ? undefined : option.read(value);
  const given = value === undefined ? "nothing" : JSON.stringify(value);
  return read ?? new OptionError(`--${name} takes ${option.takes}, not ${given}`, !!value);
}
