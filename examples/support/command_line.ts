/** What the command lines of the examples have in common. */

import { parseArgs } from "@std/cli/parse-args";

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The longest time-out in seconds: a timer counts milliseconds in 31 bits. */
export const MAX_SECONDS = 2_147_483;

/** An option. `T` is the type of its value. */
export interface Option<T> {
  /** The letter of the short form. */
  readonly short: string;
  /** Whether it has no value. */
  readonly isFlag: boolean;
  /** Reads the value. The text is undefined if the option is not given. */
  readonly read: (text: string | undefined, name: string) => T;
}

/** An option without a value: true if it is given. */
export function flag(short: string): Option<boolean> {
  return { short, isFlag: true, read: (text) => text !== undefined };
}

/** An option whose value is any text. */
export function text<D extends string | undefined>(
  short: string,
  byDefault: D,
): Option<string | D> {
  return { short, isFlag: false, read: (text) => text ?? byDefault };
}

/** An option whose value is a whole number. */
export function number<D extends number | undefined>(
  short: string,
  byDefault: D,
  min: number,
  max?: number,
): Option<number | D> {
  return {
    short,
    isFlag: false,
    read: (text, name) => text === undefined ? byDefault : wholeNumber(name, text, min, max),
  };
}

/**
 * Reads a whole number, decimal or with 0x.
 *
 * @throws {UsageError} If the text is not a whole number or the number is out of range.
 */
export function wholeNumber(
  option: string,
  text: string,
  min: number,
  max: number = 0x7fff_ffff,
): number {
  const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${option} takes a whole number from ${min} to ${max}, not "${text}"`);
}

/** Options by their names in camelCase: `gidIndex` is `--gid-index`. */
export type Options = Readonly<Record<string, Option<unknown>>>;

/** The values of options. */
export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never;
};

/** What an example is made of. */
export interface Program<O extends Options> {
  readonly name: string;
  readonly help: string;
  /** The options. `--help` is added. */
  readonly options: O;
  readonly run: (values: Values<O>) => Promise<void>;
}

/** Makes the main function of an example. It takes the arguments, and its result is the status of the process. */
export function program<O extends Options>(
  { name, help, options, run }: Program<O>,
): (args: readonly string[]) => Promise<number> {
  return (args) =>
    runProgram(name, async () => {
      const values = readOptions(args, options);
      if (values === undefined) console.log(help);
      else await run(values);
    });
}

/**
 * Runs an example. The result is the status of the process. An error is a message on stderr and status 2 if the command line
 * is wrong, 1 otherwise.
 */
export async function runProgram(name: string, main: () => Promise<void>): Promise<number> {
  try {
    await main();
    return 0;
  } catch (error) {
    const usage = error instanceof UsageError;
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    if (usage) console.error(`Try --help`);
    return usage ? 2 : 1;
  }
}

/** Reads the options of a command line. The result is undefined if it asks for help. */
function readOptions<O extends Options>(
  args: readonly string[],
  options: O,
): Values<O> | undefined {
  const entries = Object.entries(options).map(([key, option]) =>
    [key, key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), option] as const
  );
  const named = (isFlag: boolean): string[] =>
    entries.filter(([, , option]) => option.isFlag === isFlag).map(([, name]) => name);
  const given: Readonly<Record<string, unknown>> = parseArgs([...args], {
    boolean: ["help", ...named(true)],
    string: ["_", ...named(false)],
    alias: {
      h: "help",
      ...Object.fromEntries(entries.map(([, name, { short }]) => [short, name])),
    },
    unknown: (argument) => {
      throw new UsageError(`${JSON.stringify(argument)} is not an option`);
    },
  });
  if (given.help) return undefined;
  const values = entries.map(([key, name, option]) => {
    const value = given[name] || given[name] === "" ? String(given[name]) : undefined;
    if (value === "") throw new UsageError(`--${name} takes a value`);
    return [key, option.read(value, `--${name}`)];
  });
  return Object.fromEntries(values);
}
