/** Where the tools find and keep things, all of it below the project's folder. */

import { fileURLToPath } from "node:url";

/** The path of something in the project. */
export function inProject(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url)).replace(/\/$/, "");
}

/** The project's folder, without a slash at its end. */
export const project: string = inProject("");

/** The folder that the guest shares with the host both ways; ignored by git. */
export const out: string = inProject("out");
