/** The package as it is published: import maps by which the programs of the rows use it in place of the sources. */

import { inProject, out } from "../tools/host/paths.ts";
import { buildPackages } from "../tools/package/build.ts";
import type { Programs } from "./row.ts";

/** Writes an import map by which programs of the project import the bundles of a package. */
async function importMapOf(folder: string, path: string): Promise<string> {
  const { exports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  const sources = { ".": "mod.ts", "./net": "net/mod.ts", "./cm": "cm.ts" };
  const imports = Object.fromEntries(
    Object.entries(sources).map(([name, source]) => [
      `file://${inProject(source)}`,
      `file://${folder}/${exports[name]}`,
    ]),
  );
  await Deno.writeTextFile(path, JSON.stringify({ imports }));
  return path;
}

export async function builtPackage(): Promise<Programs> {
  const folder = `${out}/bench-package`;
  await buildPackages(folder);
  const { exports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  const importMap = await importMapOf(folder, `${out}/bench-import-map.json`);
  return { module: `${folder}/${exports["."]}`, importMap };
}

/** A package that was built before. */
export async function oldPackage(folder: string): Promise<Programs> {
  const path = `${out}/bench-import-map-old.json`;
  return { oldImportMap: await importMapOf(await Deno.realPath(folder), path) };
}
