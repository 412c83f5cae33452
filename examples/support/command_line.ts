/** What the command lines of the examples have in common. */

import {
  type Flag,
  OptionError,
  readOptions,
  text as anyText,
  type Value,
  wholeNumber,
} from "../../internal/command_line.ts";

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The longest time-out in seconds: a timer counts milliseconds in 31 bits. */
export const MAX_SECONDS = 2_147_483;

/** An option. `T` is the type of its value. */
export interface Option<T> {
  readonly reader: Flag | Value<unknown>;
  readonly byDefault: T;
}

/** An option without a value: true if it is given. */
export function flag(short: string): Option<boolean> {
  return { reader: { short, takes: null }, byDefault: false };
}

/** An option whose value is any text. */
export function text<D extends string | undefined>(
  short: string,
  byDefault: D,
): Option<string | D> {
  return { reader: { ...anyText, short }, byDefault };
}

/** An option whose value is a whole number, decimal or with 0x. */
export function number<D extends number | undefined>(
  short: string,
  byDefault: D,
  min: number,
  max: number = 0x7fff_ffff,
): Option<number | D> {
  return { reader: { ...wholeNumber(min, max), short }, byDefault };
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
    const usage = error instanceof UsageError || error instanceof OptionError;
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    if (usage) console.error(`Try --help`);
    return usage ? 2 : 1;
  }
}

/** Reads the options of a command line. The result is undefined if it asks for help. */
function valuesOf<O extends Options>(args: readonly string[], options: O): Values<O> | undefined {
  const entries = Object.entries(options).map(([key, option]) =>
    [key, key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), option] as const
  );
  const known = Object.fromEntries(entries.map(([, name, { reader }]) => [name, reader]));
  const { options: given, operands, rest } = readOptions(args, { ...known, help: "flag" });
  if ("help" in given) return undefined;
  const [extra] = [...operands, ...rest];
  if (extra !== undefined) throw new UsageError(`${JSON.stringify(extra)} is not an option`);
  const values = entries.map(([key, name, { byDefault }]) => [
    key,
    (given as Readonly<Record<string, unknown>>)[name] ?? byDefault,
  ]);
  return Object.fromEntries(values);
}
