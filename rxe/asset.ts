/** Files of this package that are not modules: scripts for the guest, and the sources of the stub HCA. */

import { FILES } from "./files.ts";
import { SetupError } from "./host/report.ts";

/**
 * The contents of a file.
 *
 * @param name its path from the folder of this module.
 * @throws {SetupError} when it cannot be read.
 */
export async function asset(
  name: string,
  files: typeof FILES = FILES,
): Promise<Uint8Array<ArrayBuffer>> {
  if (files[name] !== undefined) return new TextEncoder().encode(files[name]);
  const url = new URL(name, import.meta.url);
  try {
    return await Deno.readFile(url);
  } catch (error) {
    throw new SetupError(`Cannot read ${url}: ${error instanceof Error ? error.message : error}`);
  }
}
