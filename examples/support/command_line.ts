/** What the command lines of the examples have in common. */

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The longest time-out in seconds: a timer counts milliseconds in 31 bits. */
export const MAX_SECONDS = 2_147_483;

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

/** Runs an example. An error ends it with a message on stderr, status 2 if the command line is wrong, 1 otherwise. */
export async function run(name: string, main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    const usage = error instanceof UsageError;
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    if (usage) console.error(`Try --help`);
    Deno.exitCode = usage ? 2 : 1;
  }
}
