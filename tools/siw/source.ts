/** The source of soft-iWARP, which no kernel of Debian has as a module. */

import { asset } from "../../rxe/asset.ts";
import { cachedPackages, demand, dependencyOf, fetchPackage } from "../host/setup.ts";
import { ensureModules, type Source } from "../../rxe/stub/build.ts";

/** What is built: soft-iWARP, and the checksums that it needs. */
const WANTED = ["*/drivers/infiniband/sw/siw/*.[ch]", "*/lib/libcrc32c.c"];

/** The folder of the modules, built first when the kernel has changed. */
export async function ensureSiw(): Promise<string> {
  const folder = await cachedPackages("guest/siw-source", unpackSource);
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => /\.[ch]$/.test(name)).sort();
  const objects = names.filter((name) => /^siw.*\.c$/.test(name)).map((name) =>
    name.replace(/c$/, "o")
  );
  const kbuild = `obj-m := siw.o libcrc32c.o\nsiw-y := ${objects.join(" ")}\n`;
  return await ensureModules("siw", [
    ["Kbuild", new TextEncoder().encode(kbuild)],
    ["Makefile", await asset("stub_hca/Makefile")],
    ...await Promise.all(
      names.map(async (name): Promise<Source> => [name, await Deno.readFile(`${folder}/${name}`)]),
    ),
  ]);
}

async function unpackSource(folder: string): Promise<void> {
  const name = await dependencyOf("linux-source", /linux-source-\d\S*/);
  const archive = `usr/src/${name}.tar.xz`;
  await fetchPackage(name, folder, [archive]);
  const options = ["-C", folder, "--transform=s|.*/||", "--wildcards"];
  await demand("tar", "-xJf", `${folder}/${archive}`, ...options, ...WANTED);
  await Deno.remove(`${folder}/usr`, { recursive: true });
}
