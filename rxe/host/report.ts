/** What the tools tell their user, on standard error so that a command's own output stays clean. */

const encoder = new TextEncoder();

/**
 * The error of an expected failure, such as a missing package. Show only its message.
 *
 * @category Errors
 */
export class SetupError extends Error {
  /** The error's name. */
  override name = "SetupError";
}

/** Prints one line about what is going on. */
export function say(line: string): void {
  Deno.stderr.writeSync(encoder.encode(`${line}\n`));
}

/** Runs a tool's main function; its result, or 1 after a {@linkcode SetupError}, is the exit status. */
export async function main(body: () => Promise<number>): Promise<never> {
  try {
    Deno.exit(await body());
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`error: ${error.message}`);
    Deno.exit(1);
  }
}
