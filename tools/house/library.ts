/** Which files are the library. */

import { LIBRARY } from "../../internal/caller.ts";

/** The modules that programs import. */
const EXPORTED = /^\w+\.ts$/;
const LAYERS = LIBRARY.filter((folder) => folder !== "ffi");

export function isOfLibrary(file: string): boolean {
  return EXPORTED.test(file) || isIn(LIBRARY, file);
}

/** Whether a file is between the unsafe code and the exported modules. */
export function isBetween(file: string): boolean {
  return isIn(LAYERS, file);
}

/** Whether a file has types that programs meet. */
export function isPublic(file: string): boolean {
  return EXPORTED.test(file) || isBetween(file);
}

function isIn(folders: readonly string[], file: string): boolean {
  return folders.some((folder) => file.startsWith(`${folder}/`));
}
