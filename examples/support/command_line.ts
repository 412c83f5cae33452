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
  readonly short?: string;
  readonly byDefault: T;
  /** What it takes, for the message; nothing if it is only given or not. */
  readonly takes?: string;
  /** The value that a text stands for; undefined if it stands for none. */
  readonly read: (text: string) => T | undefined;
}

/** An option without a value: true if it is given. */
export function flag(short?: string): Option<boolean> {
  return { ...short !== undefined && { short }, byDefault: false, read: () => true };
}

/** An option whose value is any text. */
export function text<D extends string | undefined>(
  short: string,
  byDefault: D,
): Option<string | D> {
  return { short, byDefault, takes: "a text", read: (text) => text || undefined };
}

/** An option whose value is a whole number, decimal or with 0x. */
export function number<D extends number | undefined>(
  short: string,
  byDefault: D,
  min: number,
  max: number = 0x7fff_ffff,
): Option<number | D> {
  const read = (text: string): number | undefined => {
    const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
  return { short, byDefault, takes: `a whole number from ${min} to ${max}`, read };
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
      const values = valuesOf(args, options);
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

/** Reads a command line that has nothing but options. The result is undefined if it asks for help. */
function valuesOf<O extends Options>(args: readonly string[], options: O): Values<O> | undefined {
  const { values, operands: [extra] } = readArguments(args, { ...options, help: HELP });
  if (values.help) return undefined;
  if (extra !== undefined) throw new UsageError(`${JSON.stringify(extra)} is not an option`);
  return values;
}

/** The option that each example has. With it, nothing is wrong. */
export const HELP: Option<boolean> = flag("h");

/**
 * Reads a command line.
 *
 * @throws {UsageError} If an option is unknown, or its value is missing or wrong.
 */
export function readArguments<O extends Options>(
  args: readonly string[],
  options: O,
): { values: Values<O>; operands: string[] } {
  const all = Object.entries(options).map(([key, option]) => {
    return { ...option, key, name: key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) };
  });
  const faults: string[] = [];
  const namesOf = (isFlag: boolean): string[] =>
    all.filter(({ takes }) => (takes === undefined) === isFlag).map(({ name }) => name);
  const found: Record<string, unknown> = parseArgs([...args], {
    boolean: namesOf(true),
    string: [...namesOf(false), "_"],
    alias: Object.fromEntries(all.map(({ name, short }) => [name, short ?? []])),
    unknown: (word, name) => {
      if (name !== undefined) faults.push(`${JSON.stringify(word)} is not an option`);
      return name === undefined;
    },
  });
  const values = Object.fromEntries(all.map(({ key, name, byDefault, takes, read }) => {
    const given = found[name];
    if (takes === undefined || given === undefined) return [key, given ?? byDefault];
    const value = read(`${given}`);
    const what = given === "" ? "nothing" : JSON.stringify(given);
    if (value === undefined) faults.push(`--${name} takes ${takes}, not ${what}`);
    return [key, value];
  }));
  if (faults[0] !== undefined && !found.help) throw new UsageError(faults[0]);
  return { values: values as Values<O>, operands: found._ as string[] };
}
