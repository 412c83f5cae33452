/** Folders for the time of one run. */

import { attempt } from "./system_error.ts";

/** A folder in that of temporary files, removed with all in it when this is disposed. */
export class TemporaryFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * Makes a folder.
   *
   * @param prefix With what its name begins.
   * @throws {SetupError} If there cannot be one.
   */
  static async make(prefix: string): Promise<TemporaryFolder> {
    return await inTemporary(async () =>
      new TemporaryFolder(await Deno.makeTempDir({ dir: temporary(), prefix }))
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/**
 * Does something with files in such a folder.
 *
 * @throws {SetupError} That tells a remedy, if the system refuses it.
 */
export function inTemporary<T>(action: () => T | Promise<T>): Promise<T> {
  const remedy = "make room there, or set TMPDIR to another folder";
  return attempt(`use the temporary folder ${temporary()}`, remedy, action);
}

function temporary(): string {
  return Deno.env.get("TMPDIR") || "/tmp";
}
