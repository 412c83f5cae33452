import { errnoDescription, errnoName } from "./errno.ts";

/** A call of the C library failed. */
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
   * @param action What was attempted, such as `"watch descriptor"`.
   * @param call The C function that failed.
   * @param errno Its errno.
   */
  constructor(action: string, call: string, errno: number) {
    const code = errnoName(errno);
    super(`Cannot ${action}: ${call}() fails with ${code} (${errnoDescription(errno)})`);
    this.call = call;
    this.errno = errno;
    this.code = code;
  }
}
