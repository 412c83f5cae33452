/** What all tools have in common: they read their command line, show their help, and end with a status. */

import { type CommandLine, OptionError, type Options, readOptions } from "./options.ts";
import { denoCommand, main, SetupError } from "./setup.ts";

/** A text whose commands are those of this user's shell. */
export function forUser(text: string): string {
  return text.replaceAll("deno task", `${denoCommand()} task`);
}

type Body<O extends Options> = (
  options: CommandLine<O>["options"],
  operands: string[],
  rest: string[],
) => Promise<number>;

/**
 * Runs a tool.
 *
 * @param help What `--help` shows.
 * @param known The other options.
 * @param body Its result is the exit status. Operands are refused if it has no parameter for them.
 */
export async function tool<O extends Options>(
  help: string,
  known: O,
  body: Body<O>,
): Promise<never> {
  return await main(async () => {
    const { options, operands, rest } = read({ ...known, help: "flag" });
    if ((options as { help?: true }).help) {
      console.log(forUser(help));
      return 0;
    }
    const [extra] = body.length > 1 ? [] : [...operands, ...rest];
    if (extra === undefined) return await body(options, operands, rest);
    throw new SetupError(`"${extra}" is one argument too many; see --help`);
  });
}

function read<O extends Options>(known: O): CommandLine<O> {
  try {
    return readOptions(Deno.args, known);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new SetupError(`${error.message}; see --help`);
  }
}
