/** Versions of Deno in the cache, from npm, which checks their hashes. */

import { cached } from "../../rxe/host/cached.ts";
import { demand } from "../../rxe/host/shell.ts";

/** Deno as npm has it for an architecture. */
function packageFor(arch: typeof Deno.build.arch): string {
  return `@deno/linux-${arch === "x86_64" ? "x64" : "arm64"}-glibc`;
}

/** The number of a version, or of the one that a name such as `latest` means now. */
export async function versionOf(name: string): Promise<string> {
  if (/^\d/.test(name)) return name;
  return (await demand(
    "npm",
    "view",
    "--silent",
    `${packageFor(Deno.build.arch)}@${name}`,
    "version",
  )).trim();
}

/** The path of a version of Deno. */
export async function fetchDeno(version: string, arch = Deno.build.arch): Promise<string> {
  const folder = await cached(`deno-${version}-${arch}`, async (folder) => {
    const name = `${packageFor(arch)}@${version}`;
    const packed = await demand("npm", "pack", "--silent", "--pack-destination", folder, name);
    const file = `${folder}/${packed.trim()}`;
    await demand("tar", "-xzf", file, "-C", folder);
    await Deno.remove(file);
  });
  return `${folder}/package/deno`;
}
