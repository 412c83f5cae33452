/** Where the tools find and keep things, all of it below the project's folder. */

import { fileURLToPath } from "node:url";
import { demand, exists } from "./setup.ts";

/** The path of something in the project. */
export function inProject(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url)).replace(/\/$/, "");
}

/** The project's folder, without a slash at its end. */
export const project: string = inProject("");

/** The folder that the guest shares with the host both ways; ignored by git. */
export const out: string = inProject("out");

/** Options for Deno that pin packages of npm, and those that they depend on, by their sums. */
export const LOCK: readonly string[] = [`--lock=${inProject("tools/deno.lock")}`, "--frozen"];

/** The TypeScript files in a folder and in those below it, as paths from the project's folder, in order. */
export function sourcesIn(folder: string, root: string = project): string[] {
  return [...Deno.readDirSync(`${root}/${folder}`)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return sourcesIn(path, root);
    return name.endsWith(".ts") ? [path] : [];
  }).sort();
}

/** The same, without the tests of a package. */
export function codeIn(folder: string): string[] {
  return sourcesIn(folder).filter((file) => !/^\w+\/tests\//.test(file));
}

/** The project's files that git knows, or would if they were added. */
export async function projectFiles(): Promise<string[]> {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const files = (await demand("git", "-C", project, ...list)).split("\0");
  return [...new Set(files)].filter((file) => file !== "" && exists(inProject(file)));
}

/** Copies files of the project into a folder. */
export async function copyFiles(files: readonly string[], folder: string): Promise<void> {
  for (const file of files) {
    await Deno.mkdir(`${folder}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.copyFile(inProject(file), `${folder}/${file}`);
  }
}
