import { errnoDescription, errnoName, mappedErrno } from "./errno.ts";

/**
 * The error of a C function that failed although its arguments are right, for instance because the process has no file
 * descriptor left.
 *
 * @category Errors
 */
export class SystemError extends Error {
  /** The error's name. */
  override readonly name = "SystemError";
  /** The C function that failed. */
  readonly call: string;
  /** Its errno. */
  readonly errno: number;
  /** The name of the errno value, such as `"EMFILE"`. */
  readonly code: string;

  /**
   * Describes a failure.
   *
   * @param message What was attempted, and what prevents it.
   * @param call The C function that failed.
   * @param errno Its errno.
   */
  constructor(message: string, call: string, errno: number) {
    super(message);
    this.call = call;
    this.errno = errno;
    this.code = errnoName(errno);
  }
}

/** The error of a C function that set errno: `Cannot watch descriptor: eventfd() fails with EMFILE (...)`. */
export function systemError(action: string, call: string, errno: number): SystemError {
  const reason = `${call}() fails with ${errnoName(errno)} (${errnoDescription(errno)})`;
  return new SystemError(`Cannot ${action}: ${reason}`, call, errno);
}

/** The result of a C function, or the error of one that has just set errno: nothing runs between the call and this check. */
export function checkedCall(action: string, call: string, result: number): number {
  if (result < 0) throw systemError(action, call, mappedErrno()[0]!);
  return result;
}
