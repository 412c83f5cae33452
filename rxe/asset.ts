/** Files of this package that are no modules: scripts for the guest, and the sources of the stub HCA. */

import { SetupError } from "./host/report.ts";

/**
 * The contents of a file, from where the package is: a folder, or the registry.
 *
 * @param name its path from the folder of this module.
 * @throws {SetupError} when it cannot be read.
 */
export async function asset(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const url = new URL(name, import.meta.url);
  try {
    const response = await fetch(url);
    if (response.ok) return new Uint8Array(await response.arrayBuffer());
    throw new Error(`${response.status} ${response.statusText}`);
  } catch (error) {
    throw new SetupError(`Cannot read ${url}: ${error instanceof Error ? error.message : error}`);
  }
}
