/** How the user runs Deno. */

import { exists } from "./shell.ts";

/**
 * The words that run Deno in the user's shell: `deno`, or `npx -y deno` where it is not installed
 * and npx has started this process.
 */
export function denoCommand(path: string = Deno.env.get("PATH") ?? ""): string {
  // npx puts a folder of its own in front, which the user's shell does not have.
  const folders = path.split(":").filter((folder) => !/\/(_npx|node_modules)\//.test(folder));
  return folders.some((folder) => exists(`${folder}/deno`)) ? "deno" : "npx -y deno";
}
