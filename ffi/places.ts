/** Where libraries of the system are. */

import { ARCH } from "../internal/runtime.ts";

const DIRECTORIES = [
  `/usr/lib/${ARCH}-linux-gnu`,
  `/lib/${ARCH}-linux-gnu`,
  "/usr/lib64",
  "/lib64",
  "/usr/lib",
  "/usr/local/lib",
];

/**
 * The name of a library, by which the loader finds it, and paths that it may have. With a permission broker Deno treats
 * a name as a file of the current folder.
 */
export function placesOf(soname: string): string[] {
  return [soname, ...DIRECTORIES.map((directory) => `${directory}/${soname}`)];
}
