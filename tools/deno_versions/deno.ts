/** Versions of Deno in the cache, from npm, which checks their hashes. */

import { cached } from "../../rxe/host/cached.ts";
import { demand } from "../../rxe/host/shell.ts";

/** Deno as npm has it for this architecture. */
const PACKAGE = `@deno/linux-${Deno.build.arch === "x86_64" ? "x64" : "arm64"}-glibc`;

/** The number of a version, or of the one that a name such as `latest` means now. */
export async function versionOf(name: string): Promise<string> {
  if (/^\d/.test(name)) return name;
  return (await demand("npm", "view", "--silent", `${PACKAGE}@${name}`, "version")).trim();
}

/** The path of a version of Deno. */
export async function fetchDeno(version: string): Promise<string> {
  const folder = await cached(`deno-${version}`, async (folder) => {
    const file = `${folder}/${(await pack(version, folder)).trim()}`;
    await demand("tar", "-xzf", file, "-C", folder);
    await Deno.remove(file);
  });
  return `${folder}/package/deno`;
}

function pack(version: string, folder: string): Promise<string> {
  const name = `${PACKAGE}@${version}`;
  return demand("npm", "pack", "--silent", "--pack-destination", folder, name);
}
