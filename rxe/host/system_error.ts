/** Errors of the operating system, such as a full disk. */

import { reasonOf, SetupError } from "./report.ts";

/** The error of something that the system has refused, which the user can change. */
class RefusedError extends SetupError {}

/** What programs say of a folder that takes no more. */
const FULL = /No space left on device|Disk quota exceeded|Read-only file system/;

/**
 * Does something that the system may refuse.
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

/** What a program has said of the system; undefined if it is said already what the user can do. */
function reasonOfProgram(error: unknown): string | undefined {
  if (!(error instanceof SetupError) || error instanceof RefusedError) return undefined;
  return error.message.match(FULL)?.[0];
}
