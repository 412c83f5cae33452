/**
 * Thrown where thunks cannot run: another architecture, a memfd that the system refuses or does not let execute, or an
 * `--allow-ffi` narrowed to paths. `cause` tells which.
 */
export class ThunksUnavailable extends Error {
  /** The error's name. */
  override readonly name = "ThunksUnavailable";
}
