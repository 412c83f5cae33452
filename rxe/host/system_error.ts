/** Errors of the operating system, such as a full disk. */

import { reasonOf, SetupError } from "./report.ts";

/** The error of something that the system has refused, which the user can change. */
class RefusedError extends SetupError {}

/** Messages of programs about a folder that cannot be written to. */
const FULL = /No space left on device|Disk quota exceeded|Read-only file system/;

/**
 * Runs an action that the system may refuse.
 *
 * @param what For the message: what is done, and with which file or folder.
 * @param remedy For the message: what the user can do.
 * @throws {SetupError} In place of an error of the system.
 */
export async function attempt<T>(
  what: string,
  remedy: string,
  action: () => T | Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const reason = reasonOf(error) ?? reasonOfProgram(error);
    if (reason === undefined) throw error;
    throw new RefusedError(`Cannot ${what}: ${reason}; ${remedy}`);
  }
}

/** What a program has said about the system; undefined if the error already says what the user can do. */
function reasonOfProgram(error: unknown): string | undefined {
  if (!(error instanceof SetupError) || error instanceof RefusedError) return undefined;
  return error.message.match(FULL)?.[0];
}
