/**
 * Commands, their options, and their help.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { escapeControls } from "./escape.ts";
import type { Terminal } from "./terminal.ts";

/** A command ends with a message on standard error and a status. */
export class CommandError extends Error {
  /** The error's name. */
  override readonly name: string = "CommandError";
  /** The status of the process. */
  readonly status: number;

  /** Makes an error with a status. */
  constructor(message: string, status = 1, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The command line is wrong. The message refers to the help. */
export class UsageError extends CommandError {
  /** The error's name. */
  override readonly name = "UsageError";
}

/** An option of a command. `T` is the type of its value. */
export interface Option<T> {
  /** The letter of the short form. */
  readonly short?: string | undefined;
  /** What the help calls the value. It is left out for a flag, which has no value. */
  readonly value?: string;
  /** What the option does, for the help. */
  readonly text: string;
  /** Reads the value. The text is undefined if the option is not given. */
  readonly read: (text: string | undefined, name: string) => T;
}

/** An option without a value: true if it is given. */
export function flag(text: string, short?: string): Option<boolean> {
  return { short, text, read: (value) => value !== undefined };
}

/** An option whose value is any text. */
export function text(value: string, text: string, short?: string): Option<string | undefined> {
  return { short, value, text, read: (given) => given };
}

/** Settings of {@linkcode number}. */
export interface NumberInit {
  /** The letter of the short form. */
  readonly short?: string;
  /** What the help calls the value. */
  readonly value: string;
  /** What the option does, for the help. */
  readonly text: string;
  /** Smallest value. */
  readonly min: number;
  /** Largest value. */
  readonly max: number;
}

/** An option whose value is a whole number, decimal or with 0x. */
export function number({ short, value, text, min, max }: NumberInit): Option<number | undefined> {
  return {
    short,
    value,
    text,
    read: (given, name) => given === undefined ? undefined : wholeNumber(given, name, min, max),
  };
}

/** An option whose value is one of a few words. */
export function choice<const W extends string>(
  words: readonly W[],
  text: string,
): Option<W | undefined> {
  return {
    value: words.join("|"),
    text,
    read: (given, name) => {
      const word = words.find((word) => word === given);
      if (word !== undefined || given === undefined) return word;
      throw new UsageError(`${name} takes one of ${words.join(", ")}, not ${quote(given)}`);
    },
  };
}

function wholeNumber(given: string, name: string, min: number, max: number): number {
  const value = /^(\d+|0x[0-9a-f]+)$/i.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${name} takes a whole number from ${min} to ${max}, not ${quote(given)}`);
}

/** Options by their long names. */
export type Options = Readonly<Record<string, Option<unknown>>>;

/** Values of options. */
export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never;
};

/** What a command is made of. */
export interface CommandInit<O extends Options> {
  /** Its name. */
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

/** A command. */
export interface Command {
  /** Its name. */
  readonly name: string;
  /** What it does, in one line. */
  readonly summary: string;
  /** Runs it with its arguments. The result is the status of the process. */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>;
}

const COMMON = {
  json: flag("print JSON; 64-bit numbers are strings"),
  help: flag("show this text", "h"),
} as const;

/** Makes a command. */
export function command<O extends Options>(init: CommandInit<O>): Command {
  const options = { ...init.options, ...COMMON };
  return {
    name: init.name,
    summary: init.summary,
    run: async (args, terminal) => {
      const line = readArguments(args, options, init.usageStatus ?? 1);
      if (line.given.has("help")) {
        terminal.print(helpOf(init, options));
        return 0;
      }
      if (line.fault !== undefined) throw line.fault;
      if (init.operands === undefined && line.operands.length > 0) {
        throw new UsageError(`${quote(line.operands[0]!)} is one argument too many`);
      }
      const values = Object.fromEntries(
        Object.entries(options).map(([name, { read }]) => [
          name,
          read(line.given.get(name), `--${name}`),
        ]),
      );
      return await init.run(values as Values<O & typeof COMMON>, terminal, line.operands);
    },
  };
}

/** Makes a command of commands: the first argument chooses one. */
export function commandGroup(
  name: string,
  summary: string,
  members: Readonly<Record<string, Command>>,
): Command {
  const names = Object.keys(members);
  const width = Math.max(...names.map((name) => name.length));
  return {
    name,
    summary,
    run: async ([first, ...rest], terminal) => {
      if (first === "--help" || first === "-h") {
        const rows = Object.entries(members).map(([name, { summary }]) =>
          `  ${name.padEnd(width)}  ${summary}`
        );
        const usage = `  ${name} ${names.join("|")} [OPTIONS]`;
        terminal.print([summary, "", usage, "", ...rows]);
        return 0;
      }
      if (first === undefined) throw new UsageError(`it takes one of ${names.join(", ")}`);
      if (Object.hasOwn(members, first)) return await members[first]!.run(rest, terminal);
      const what = first.startsWith("-") ? "an option" : `one of ${names.join(", ")}`;
      throw new UsageError(`${quote(first)} is not ${what}`);
    },
  };
}

interface CommandLine {
  /** The options that are given, with their values; a flag has the empty text. */
  readonly given: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
  /** What is wrong with it. */
  readonly fault: UsageError | undefined;
}

function readArguments(args: readonly string[], options: Options, status: number): CommandLine {
  const names = Object.keys(options);
  const takesValue = (name: string): boolean => options[name]!.value !== undefined;
  let fault: UsageError | undefined;
  const parsed: Readonly<Record<string, unknown>> = parseArgs([...args], {
    boolean: names.filter((name) => !takesValue(name)),
    string: ["_", ...names.filter(takesValue)],
    alias: Object.fromEntries(
      names.flatMap((name) =>
        options[name]!.short === undefined ? [] : [[
          options[name]!.short,
          name,
        ]]
      ),
    ),
    unknown: (argument) => {
      if (!argument.startsWith("-") || argument === "-") return true;
      fault ??= new UsageError(`${quote(argument)} is not an option`, status);
      return false;
    },
  });
  const given = new Map<string, string>();
  for (const name of names) {
    const value = parsed[name];
    if (value === undefined || value === false) continue;
    if (value === "") fault ??= new UsageError(`--${name} takes a value`, status);
    given.set(name, value === true ? "" : String(value));
  }
  return { given, operands: (parsed._ as unknown[]).map(String), fault };
}

function helpOf<O extends Options>(init: CommandInit<O>, options: Options): string[] {
  const rows = Object.entries(options).map(([name, { short, value, text }]) => {
    const long = value === undefined ? `--${name}` : `--${name}=${value}`;
    return [`  ${short === undefined ? "   " : `-${short},`} ${long}`, text] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  const usage = [
    "  " + init.name,
    "[OPTIONS]",
    ...init.operands === undefined ? [] : [init.operands],
  ];
  return [
    init.summary,
    "",
    usage.join(" "),
    "",
    ...rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`),
    ...init.details === undefined ? [] : ["", ...init.details.trim().split("\n")],
  ];
}

/** A text of the user or of a peer in a message. */
export function quote(text: string): string {
  return escapeControls(JSON.stringify(text));
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
