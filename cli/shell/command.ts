/** Commands, their options, and their help. */

import { quote } from "./text.ts";
import {
  type Flag,
  OptionError,
  readOptions,
  text as anyText,
  type Value,
  wholeNumber,
} from "./options.ts";
import type { Terminal } from "./terminal.ts";
import { alignColumns } from "./text.ts";

/** A command ends with a message on standard error and a status. */
export class CommandError extends Error {
  readonly status: number;

  constructor(message: string, status = 1) {
    super(message);
    this.status = status;
  }
}

/** A command needs permissions that it does not have. */
export class ForbiddenError extends CommandError {}

/** The command line is wrong. The message refers to the help. */
export class UsageError extends CommandError {}

/** What the help says about an option. */
interface Help {
  /** What it calls the value. */
  readonly value?: string;
  readonly text: string;
}

/** An option of a command: a flag, or one with a value. */
export type Option<T> = Help & (T extends boolean ? Flag : Value<T>);

/** An option without a value: true if it is given. */
export function flag(text: string, short?: string): Option<boolean> {
  return { short, text, takes: null };
}

/** An option whose value is any text. */
export function text(value: string, text: string, short?: string): Option<string> {
  return { ...anyText, short, value, text };
}

/** An option whose value is a whole number. */
export function number(
  value: string,
  text: string,
  [min, max]: readonly [min: number, max: number],
  short?: string,
): Option<number> {
  return { ...wholeNumber(min, max), short, value, text };
}

/** An option whose value is one of a few words. */
export function choice<const W extends string>(
  words: readonly W[],
  text: string,
  short?: string,
): Help & Value<W> {
  const read = (given: string): W | undefined => words.find((word) => word === given);
  return { takes: `one of ${words.join(", ")}`, read, short, value: words.join("|"), text };
}

/** Options by their long names. */
export type Options = Readonly<Record<string, Help & (Flag | Value<unknown>)>>;

/** The values of options; an option with a value that is not given is missing. */
export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends Value<infer T> ? T | undefined : boolean;
};

/** The parts of a command. */
export interface CommandInit<O extends Options> {
  readonly name: string;
  /** What it does, in one line. */
  readonly summary: string;
  /** More about it, for the help: lines of at most 100 characters. */
  readonly details?: string;
  /** What the help calls its operands. It is left out if it takes none. */
  readonly operands?: string;
  /** Its options. `--help` and `--json` are added. */
  readonly options: O;
  /** Status if an option is unknown or lacks its value, as of the C tool. It is 1 if it is left out. */
  readonly usageStatus?: number;
  /** Runs it. The result is the status of the process. */
  readonly run: (
    values: Values<O & typeof COMMON>,
    terminal: Terminal,
    operands: readonly string[],
  ) => number | Promise<number>;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Runs it with its arguments. The result is the status of the process. */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>;
}

const COMMON = {
  json: flag("print JSON; 64-bit numbers are strings"),
  help: flag("show this text", "h"),
} as const;

export function command<O extends Options>(init: CommandInit<O>): Command {
  const options: Options = { ...init.options, ...COMMON };
  return {
    name: init.name,
    summary: init.summary,
    run: async (args, terminal) => {
      const line = readLine(args, options, init.usageStatus);
      const operands = [...line.operands, ...line.rest];
      if (line.options.help) {
        terminal.print(helpOf(init, options));
        return 0;
      }
      if (init.operands === undefined && operands.length > 0) {
        throw new UsageError(`${quote(operands[0]!)} is one argument too many`);
      }
      const flags = Object.entries(options).filter(([, { takes }]) => takes === null);
      const none = Object.fromEntries(flags.map(([name]) => [name, false]));
      const values = { ...none, ...line.options };
      return await init.run(values as Values<O & typeof COMMON>, terminal, operands);
    },
  };
}

function readLine(
  args: readonly string[],
  options: Options,
  status: number | undefined,
): ReturnType<typeof readOptions<Options>> {
  try {
    return readOptions(args, options);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new UsageError(error.message, error.isValue ? 1 : status);
  }
}

/** Names and summaries in columns. */
export function summaries(commands: readonly Pick<Command, "name" | "summary">[]): string[] {
  return alignColumns(commands.map(({ name, summary }) => [`  ${name}`, summary]));
}

function helpOf<O extends Options>(init: CommandInit<O>, options: Options): string[] {
  const rows = Object.entries(options).map(([name, { short, value, text }]) => {
    const long = value === undefined ? `--${name}` : `--${name}=${value}`;
    return [`  ${short === undefined ? "   " : `-${short},`} ${long}`, text] as const;
  });
  const operands = init.operands === undefined ? "" : ` ${init.operands}`;
  const details = init.details === undefined ? [] : ["", ...init.details.trim().split("\n")];
  return [
    init.summary,
    "",
    `  ${init.name} [OPTIONS]${operands}`,
    "",
    ...alignColumns(rows),
    ...details,
  ];
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
