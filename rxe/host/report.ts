/** Messages of the tools to the user, on standard error so that a command's own output stays clean. */

const encoder = new TextEncoder();

const IS_DENO = "Deno" in globalThis;
const NEEDS_DENO = "@rdma/rxe runs on Deno only: https://deno.com. Run it by " +
  '"deno run -A jsr:@rdma/rxe -- COMMAND"';

/**
 * The error of an expected failure, such as a missing package. Show only its message.
 *
 * @category Errors
 */
export class SetupError extends Error {
  /** The error's name. */
  override name = "SetupError";
}

/**
 * Checks that this is Deno. Other runtimes can import the package.
 *
 * @throws {SetupError} Elsewhere.
 */
export function requireDeno(): void {
  if (!IS_DENO) throw new SetupError(NEEDS_DENO);
}

/** Prints one line about what is going on. */
export function say(line: string): void {
  Deno.stderr.writeSync(encoder.encode(`${line}\n`));
}

/** What the system says, such as `Permission denied: mkdir '/a'`; undefined for any other error. */
export function reasonOf(error: unknown): string | undefined {
  // Node's own codes have an underscore.
  const isOfSystem = error instanceof Error && "code" in error &&
    /^E[A-Z\d]+$/.test(String(error.code));
  return isOfSystem ? error.message.replace(/ \(os error \d+\)/, "") : undefined;
}

/**
 * Runs a tool's main function. The exit status is its result, or 1 after a `SetupError` or an error of the
 * system.
 */
export async function main(body: () => Promise<number>): Promise<never> {
  if (!IS_DENO) {
    console.error(`error: ${NEEDS_DENO}`);
    globalThis.process.exit(1);
  }
  try {
    Deno.exit(await body());
  } catch (error) {
    const message = error instanceof SetupError ? error.message : reasonOf(error);
    if (message === undefined) throw error;
    say(`error: ${message}`);
    Deno.exit(1);
  }
}
